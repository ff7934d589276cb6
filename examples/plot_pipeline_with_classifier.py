"""
A streaming classifier behind a streaming PCA
=============================================

The question: *does a classifier learn as well from a dozen scores as from all inputs?*

Digits of 64 pixels arrive among 400 channels that carry nothing but noise. A linear classifier learns from
each batch after it has been judged by it: once from all 464 inputs, once from the scores of a model that
learns along.

The answer: **the parts fit together although the rank changes**, because ``transform`` always returns
``max_components_`` columns, zero beyond the rank. A dozen scores serve the classifier almost as well as 464
inputs. Almost: PCA knows no labels, and what it drops as noise may have helped a little.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

from eigenstream import OnlineAdaptivePCA
from eigenstream.plotting import BLUE, ORANGE

NOISY, BATCH = 400, 50

# %%
# The stream: all digits in random order.

rng = np.random.default_rng(0)
digits = load_digits()
order = rng.permutation(len(digits.data))
images, labels = digits.data[order] / 16, digits.target[order]
rows = np.hstack((images, 0.1 * rng.standard_normal((len(images), NOISY))))
classes = np.arange(10)

# %%
# Each batch is judged first and learnt afterwards, so that no row is judged by what was learnt from it.


def judged_then_learnt(prepare):
    """The share of right answers in each batch; `prepare` turns rows into what the classifier sees."""
    classifier, right = SGDClassifier(random_state=0), []
    for start in range(0, len(rows), BATCH):
        batch = np.s_[start : start + BATCH]
        X, y = prepare(rows[batch]), labels[batch]
        if start:
            right.append((classifier.predict(X) == y).mean())
        classifier.partial_fit(X, y, classes=classes)
    return right


pca = OnlineAdaptivePCA(scores="projected")
with_pca = judged_then_learnt(lambda batch: pca.partial_fit(batch).transform(batch))
without = judged_then_learnt(lambda batch: batch)
print(
    f"right with {pca.n_components_} scores: {np.mean(with_pca):.1%}, with all inputs: {np.mean(without):.1%}"
)

# %%
# For data that are all there, the same two parts are a pipeline like any other.

half = len(rows) // 2
pipeline = make_pipeline(OnlineAdaptivePCA(scores="projected"), SGDClassifier(random_state=0))
print(f"pipeline: {pipeline.fit(rows[:half], labels[:half]).score(rows[half:], labels[half:]):.1%} right")

# %%

figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
seen = BATCH * np.arange(1, len(with_pca) + 1)
for right, colour, name in ((with_pca, BLUE, "scores of the PCA"), (without, ORANGE, "all inputs")):
    axis.plot(seen, right, ".", color=colour, alpha=0.4)
    axis.plot(seen, np.cumsum(right) / np.arange(1, len(right) + 1), color=colour, linewidth=2, label=name)
axis.set(xlabel="rows seen", ylabel="right answers: batches, and so far", ylim=(0, 1))
axis.legend(title="the classifier learns from", loc="lower right")
plt.show()
