"""
A streaming classifier behind a streaming PCA
=============================================

Digits of 64 pixels arrive among 400 channels that carry nothing but noise. A linear classifier learns from each batch
after it has been judged by it: once from all 464 inputs, once from the scores of a model that learns along.

The point: **the parts fit together although the rank changes**, because ``transform`` always returns ``max_components_``
columns, zero beyond the rank. And the classifier needs fewer rows, since it does not have to find out by itself what
is noise.
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
rows = np.hstack((images, 0.25 * rng.standard_normal((len(images), NOISY))))
classes = np.arange(10)
