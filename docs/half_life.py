"""Draw docs/half_life.png: the same stream, followed with three half-lives."""

from pathlib import Path

import numpy as np

from eigenstream import OnlineAdaptivePCA, compare_half_lives, streams
from eigenstream.plotting import BLUE, GREEN, ORANGE, panels

ROWS, CHANGES = 6000, {0: 3, 2000: 5, 4000: 2}
HALF_LIVES = {20: ORANGE, 200: BLUE, 2000: GREEN}


def main() -> None:
    X = np.vstack(list(streams.changing_rank(ROWS, ranks=CHANGES, random_state=0)))
    figure, (ranks, surprises) = panels(1, 2, 10, 3.4)
    starts = [*CHANGES, ROWS]
    ranks.stairs(list(CHANGES.values()), starts, color="0.8", linewidth=5, label="components there are")
    for half_life, colour in HALF_LIVES.items():
        changes = OnlineAdaptivePCA(half_life=half_life).fit(X).rank_history_
        samples = [0, *(change.sample for change in changes), ROWS]
        found = [0, *(change.after for change in changes)]
        ranks.stairs(found, samples, color=colour, baseline=None, label=f"half-life {half_life}")
    ranks.set_xlabel("sample")
    ranks.set_ylabel("rank")
    ranks.legend(frameon=False, fontsize=8)
    tried = compare_half_lives(X, (10, 20, 50, 100, 200, 500, 1000, 2000, 5000))
    excess = [one.surprise - tried.best.surprise for one in tried]
    surprises.plot([one.half_life for one in tried], excess, "ko-")
    surprises.set_xscale("log")
    surprises.set_xlabel("half-life, samples")
    surprises.set_ylabel("surprise, nats over the best")
    figure.savefig(Path(__file__).with_name("half_life.png"), metadata={"Software": None})


if __name__ == "__main__":
    main()
