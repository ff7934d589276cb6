"""The obvious versions: what the compiled kernels must agree with."""

import numpy as np

from eigenstream.network import HebbianNetwork


class DirectNetwork(HebbianNetwork):
    """The paper's network, settled exactly instead of to the Jacobi tolerance."""

    def respond(self, x):
        return np.linalg.solve(np.eye(len(self.mu)) + self.W_yy, self.W_yx @ np.asarray(x))


def accumulate(X, N, S, theta0, rule, weights=None):
    """The accumulator form of MATH as it is written down: center, respond, adapt, one row at a time.

    Returns the outputs and the final N, S, theta, mean.
    """
    n = X.shape[1]
    N, S, m, w, tau = N.copy(), S.copy(), np.zeros(n), 0.0, 0.0
    outputs = []
    for x, s in zip(X, np.ones(len(X)) if weights is None else weights, strict=True):
        if rule.center:
            w = rule.beta2 * w + s
            delta = x - m
            m = m + s * delta / w
            x = np.sqrt(1 - s / w) * delta
        theta = rule.alpha * tau + theta0
        y = np.linalg.solve(S + theta * np.eye(len(S)), N @ x)
        outputs.append(y)
        N = rule.beta2 * N + s * np.outer(y, x)
        S = rule.beta2 * S + s * np.outer(y, y)
        tau = rule.beta2 * tau + s * (rule.r0 + rule.r1 * x @ x + rule.r2 * y @ y)
        theta0 = rule.beta2 * theta0
    return np.array(outputs), N, S, rule.alpha * tau + theta0, m


def centered_scatter(X, beta2=1.0, weights=None):
    """Discounted weighted scatter around the discounted weighted mean, and that mean."""
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    w = w * beta2 ** np.arange(len(X) - 1, -1, -1.0)
    mean = w @ X / w.sum()
    return (X - mean).T @ (w[:, None] * (X - mean)), mean
