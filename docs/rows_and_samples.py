"""Draw the pictures of docs/rows_and_samples.md: what chance does to slow rows, and which line tells."""

from pathlib import Path

import numpy as np

from eigenstream import AdaptivePCA
from eigenstream.plotting import BLUE, ORANGE, RED, panels
from eigenstream.rank import NoiseEdge

OUT = Path(__file__).parent
GREY = "0.5"
ROWS, INPUTS = 500, 30


def slow_inputs(rho, seed=1):
    """Independent inputs, each of which is ``rho`` times its last value and something new."""
    new = np.random.default_rng(seed).standard_normal((ROWS, INPUTS)) * np.sqrt(1 - rho**2)
    X = new / np.sqrt(1 - rho**2)
    for t in range(1, ROWS):
        X[t] = rho * X[t - 1] + new[t]
    return X


def rank_by_rows(model):
    """The rank that the rule would find if rows were independent."""
    return NoiseEdge().judge(model._evidence._replace(persistence=None)).rank()


def edge(samples):
    """The largest variance of this many independent rows, by chance."""
    return (1 + np.sqrt(INPUTS / samples)) ** 2


def chance():
    """Independent inputs, lively and slow: the largest variances grow by chance, and the edge with them."""
    figure, axes = panels(1, 3, 10, 3.6, sharey=True)
    for axis, rho in zip(axes, (0.0, 0.9, 0.99), strict=True):
        model = AdaptivePCA().fit(slow_inputs(rho))
        worth = model.n_samples_effective_
        axis.plot(range(1, INPUTS + 1), model.spectrum_, "o", color=GREY, label="variances")
        axis.axhline(edge(ROWS), color=ORANGE, linestyle=":", label=f"edge of {ROWS} rows")
        axis.axhline(edge(worth), color=RED, linestyle="--", label="edge of what they are worth")
        what = f"{rho:g} of each row is the last one" if rho else "independent rows"
        title = f"{what}: worth {worth:.0f}\nkept: {model.n_components_} (by rows {rank_by_rows(model)})"
        axis.set_title(title, fontsize=9)
        axis.set(yscale="log", xlabel="direction")
    axes[0].set_ylabel("variance")
    axes[2].legend(frameon=False, fontsize=8, loc="lower left")
    figure.savefig(OUT / "rows_chance.png", metadata={"Software": None})


def factors():
    """Lively factors in slow noise, and slow factors in white noise: what they leave decides."""
    rng = np.random.default_rng(2)
    W = np.linalg.qr(rng.standard_normal((INPUTS, 3)))[0].T * np.sqrt([[120.0], [80.0], [60.0]])
    white, slow = np.random.default_rng(3).standard_normal((ROWS, 3)), slow_inputs(0.99, 4)[:, :3]
    figure, axes = panels(1, 2, 9, 3.6, sharey=True)
    cases = {
        "lively factors in slow noise": white @ W + slow_inputs(0.97),
        "slow factors in white noise": slow @ W + slow_inputs(0.0),
    }
    for axis, (what, X) in zip(axes, cases.items(), strict=True):
        model = AdaptivePCA().fit(X)
        number = np.arange(1, INPUTS + 1)
        kept, worth = number <= model.n_components_, model.n_samples_effective_
        axis.plot(number[kept], model.spectrum_[kept], "o", color=BLUE, label="kept")
        axis.plot(number[~kept], model.spectrum_[~kept], "o", color=GREY, label="what they leave")
        axis.axhline(model.threshold_, color=RED, linestyle="--", label="threshold")
        by_rows = rank_by_rows(model)
        title = f"{what}: what is left is worth {worth:.0f} of {ROWS} rows"
        axis.set_title(f"{title}\nkept: {kept.sum()} (by rows {by_rows})", fontsize=9)
        axis.set(yscale="log", xlabel="direction")
        axis.legend(frameon=False, fontsize=8)
    axes[0].set_ylabel("variance")
    figure.savefig(OUT / "rows_factors.png", metadata={"Software": None})


if __name__ == "__main__":
    chance()
    factors()
