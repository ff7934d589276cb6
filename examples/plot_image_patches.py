"""
Image patches as a stream
=========================

The question: *what do small patches of a photograph have in common?*

Patches of 12 x 12 pixels are taken from all over a photograph, one after the other, as a moving eye would.
A model learns from them in one pass and keeps what stands out. Components have as many numbers as a patch
has pixels, so they can be looked at as images.

The answer: **components of a stream are things to look at, and few of them say most.** They come out as the
waves that image formats such as JPEG use, learnt from one photograph.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from eigenstream import OnlineAdaptivePCA
from eigenstream.plotting import plot_components, plot_spectrum

SIDE = 12

# %%
# The patches: every fourth place in each direction, in random order; grey values between 0 and 1.

photograph = load_sample_image("china.jpg").mean(axis=2) / 255
places = np.lib.stride_tricks.sliding_window_view(photograph, (SIDE, SIDE))[::4, ::4]
patches = np.random.default_rng(0).permutation(places.reshape(-1, SIDE * SIDE))

# %%
# One pass, a hundred patches at a time. Scores are plain projections, as in PCA, since images are made of
# them below.

model = OnlineAdaptivePCA(scores="projected")
for start in range(0, len(patches), 100):
    model.partial_fit(patches[start : start + 100])
share = model.explained_variance_ratio_.sum()
print(f"{model.n_components_} of {SIDE * SIDE} components stand out; they hold {share:.1%} of the variance")

# %%
# The components as images: blue is positive, red negative.

axis = plot_components(model, shape=(SIDE, SIDE))
axis.figure.suptitle("what patches of a photograph are made of")

# %%
# The spectrum, the threshold that was found, and what patches look like that are made of the components
# alone.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
plot_spectrum(model, left)
corner = np.s_[120:312, 200:392]
tiles = photograph[corner].reshape(16, SIDE, 16, SIDE).swapaxes(1, 2).reshape(-1, SIDE * SIDE)
made = model.inverse_transform(model.transform(tiles))
image = made.reshape(16, 16, SIDE, SIDE).swapaxes(1, 2).reshape(16 * SIDE, 16 * SIDE)
for axis, shown, title in (
    (middle, photograph[corner], "a part of the photograph"),
    (right, image, f"made of {model.n_components_} components"),
):
    axis.imshow(shown, cmap="gray", vmin=0, vmax=1)
    axis.set(title=title, xticks=[], yticks=[])
plt.show()
