"""
Activations of a network while it trains
========================================

The question: *how many dimensions does a layer use while its network learns?*

A small PyTorch network learns to read digits. `follow` hangs on its hidden layer and learns from everything
that this layer puts out, while the network trains; nothing is stored, and nothing is computed twice.

The answer: **how many dimensions a layer uses is something you can watch.** It begins with what the input
has to offer, and changes while the network learns what is worth keeping.

Needs PyTorch (``pip install 'eigenstream[torch]'``). Where it is missing, this example is shown but not
run.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits

from eigenstream import OnlineAdaptivePCA
from eigenstream.integrations.torch import follow
from eigenstream.plotting import BLUE, ORANGE, plot_rank_history

EPOCHS, BATCH = 20, 128

# %%
# The network: 64 pixels, 48 hidden units, 10 digits.

torch.manual_seed(0)
torch.set_num_threads(1)
digits = load_digits()
images = torch.tensor(digits.data / 16, dtype=torch.float32)
labels = torch.tensor(digits.target)
train, test = slice(0, 1400), slice(1400, None)
network = torch.nn.Sequential(torch.nn.Linear(64, 48), torch.nn.Tanh(), torch.nn.Linear(48, 10))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)

# %%
# Training as always, with one more line: whatever layer ``"1"`` puts out is learnt, and forgotten with a
# half-life of one epoch.

model = OnlineAdaptivePCA(half_life=1400)
seen, accuracy = [], []
with follow(network, "1", model):
    for _ in range(EPOCHS):
        for batch in torch.randperm(1400).split(BATCH):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(network(images[train][batch]), labels[train][batch])
            loss.backward()
            optimizer.step()
        seen.append(model.n_samples_seen_)
        hidden = torch.tanh(network[0](images[test]))  # not by layer "1": test digits are not to be learnt
        accuracy.append((network[2](hidden).argmax(1) == labels[test]).float().mean().item())
print(f"{model.n_components_} of 48 dimensions stand out at the end; {accuracy[-1]:.1%} of digits are right")

# %%
# The rank of the hidden layer, and what the network has learnt.

figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
plot_rank_history(model, axis)
axis.set(xlabel="images seen", ylabel="rank of the hidden layer")
right = axis.twinx()
right.plot(seen, accuracy, color=ORANGE, linewidth=2)
right.set_ylabel("share of test digits that are right", color=ORANGE)
axis.yaxis.label.set_color(BLUE)
plt.show()

# sphinx_gallery_thumbnail_path = 'docs/training_activations.png'
