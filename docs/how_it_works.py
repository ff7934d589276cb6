"""Draw the pictures of docs/how_it_works.md: how_threshold, how_scale, how_edge and how_network."""

from itertools import pairwise
from pathlib import Path

import numpy as np

from eigenstream import AdaptivePCA, HebbianNetwork, offline, streams
from eigenstream.plotting import BLUE, GREEN, ORANGE, RED, panels
from eigenstream.regularizers import InputOutput, ScaleDependent, SquaredOutput

OUT = Path(__file__).parent
SIGNAL = 4
"""Components of the paper's stream: variances 6, 5, 4 and 2 in 64 inputs, the rest noise up to 0.2."""


def save(figure, name):
    figure.savefig(OUT / name, metadata={"Software": None})


def threshold(X):
    """What comes in along each direction, and what is transmitted."""
    model = AdaptivePCA().fit(X)
    number = np.arange(1, 17)
    shrunk = np.zeros(16)
    shrunk[: model.n_components_] = model.output_variance_
    figure, (before, after) = panels(1, 2, 9, 3.2, sharey=True)
    before.bar(number, model.spectrum_[:16], color=BLUE)
    before.axhline(model.threshold_, color=RED, linestyle="--", label="threshold")
    before.set(title="variance that comes in", xlabel="direction", ylabel="variance")
    before.legend(frameon=False)
    after.bar(number, shrunk, color=GREEN)
    after.set(title="variance that is transmitted", xlabel="direction")
    save(figure, "how_threshold.png")


def scale(X):
    """How many components pass when the input is multiplied, for alphas that suit the input as it is."""
    factors = np.logspace(-1, 1, 41)
    regularizers = {
        "scale-dependent: alpha": (ScaleDependent(0.5), ORANGE, "-"),
        "input-output: alpha times input variance": (InputOutput(0.5 / (X**2).sum(axis=1).mean()), BLUE, "-"),
        "squared-output: alpha times output variance": (SquaredOutput(0.035), GREEN, "--"),
    }
    figure, (axis,) = panels(1, 1, 8, 3.4)
    for name, (regularizer, colour, style) in regularizers.items():
        found = [offline.solve(factor * X, regularizer).n_components for factor in factors]
        axis.plot(factors, found, style, color=colour, linewidth=2.5, label=name)
    axis.set(
        xscale="log",
        xlabel="the input is multiplied by",
        ylabel="components that pass",
        ylim=(0, 20),
        yticks=range(0, 21, 4),
    )
    axis.legend(title="threshold", frameon=False)
    save(figure, "how_scale.png")


def edge(X):
    """Noise has a spectrum too, wider where there are fewer rows; the threshold stands above its edge."""
    figure, axes = panels(1, 3, 10, 3.2, sharey=True)
    rng = np.random.default_rng(1)
    for axis, rows in zip(axes, (100, 400, 4000), strict=True):
        noise = np.sqrt(0.1) * rng.standard_normal((rows, 64))
        signal = rng.standard_normal((rows, 3)) @ (np.eye(3, 64) * np.sqrt([3.0, 2.0, 1.5])[:, None])
        model = AdaptivePCA(max_components=32).fit(signal + noise)
        kept = model.n_components_
        axis.plot(np.arange(1, kept + 1), model.spectrum_[:kept], "o", color=BLUE, label="kept")
        rest = np.arange(kept + 1, 33)
        axis.plot(rest, model.spectrum_[kept:], "o", color="0.6", fillstyle="none", label="not kept")
        axis.axhline(model.threshold_, color=RED, linestyle="--", label="threshold")
        axis.axhline(0.1, color=GREEN, linestyle=":", label="variance of the noise")
        axis.set(title=f"{rows:,} rows: {kept} components", xlabel="direction", yscale="log")
    axes[0].set_ylabel("variance")
    axes[0].legend(frameon=False, fontsize=8)
    save(figure, "how_edge.png")


def network(X):
    """What the neurons transmit along each mode of the input, from random weights on."""
    regularizer = InputOutput(1 / (X**2).sum(axis=1).mean())
    learner = HebbianNetwork(64, 8, regularizer, random_state=0)
    solution = offline.solve(X, regularizer, 8)
    rows, transmitted = [], []
    steps = np.unique(np.logspace(0.5, np.log10(len(X)), 60).astype(int))
    for start, stop in pairwise([0, *steps]):
        learner.run(X[start:stop])
        rows.append(stop)
        transmitted.append(np.linalg.svd(learner.filter @ np.cov(X.T) @ learner.filter.T, compute_uv=False))
    figure, (axis,) = panels(1, 1, 8, 3.4)
    lines = axis.plot(rows, transmitted, color=BLUE, linewidth=1.5)
    ends = [axis.axhline(value, color=RED, linestyle="--") for value in solution.output_eigenvalues[:SIGNAL]]
    axis.set(xscale="log", xlabel="samples", ylabel="variance of the outputs")
    names = ["of the network's outputs", "the answer of the closed form"]
    axis.legend([lines[0], ends[0]], names, loc="center right", bbox_to_anchor=(1, 0.4), frameon=False)
    save(figure, "how_network.png")


if __name__ == "__main__":
    stream = np.vstack(list(streams.paper_stream(4000, random_state=0)))
    for draw in (threshold, scale, edge, network):
        draw(stream)
