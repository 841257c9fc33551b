"""# Your own training loop

Add `Reweighter` to a training loop that you already have. Its `step` replaces forward, backward and `optimizer.step()`,
and learns how much each sample counts.
"""

# %%
# The data are digits. Of the digits 3, 4, 5 and 7, 40 % have the label of a look-alike; the other labels are right.
# Fifty other samples, five per class, have right labels and are trusted.
import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn

from reweigh import Reweighter
from reweigh.bias import BIASES
from reweigh.report.figures import plot_weighting

torch.manual_seed(0)
pixels, digit = load_digits(return_X_y=True)
inputs, truth = torch.tensor(pixels, dtype=torch.float32) / 16, torch.tensor(digit)
trusted = torch.cat([torch.nonzero(truth[:400] == each).flatten()[:5] for each in range(10)])
train, test = torch.arange(400, 1400), torch.arange(1400, 1797)
given = BIASES["asymmetric"](truth, 10, 0, rate=0.4, map="digits").labels
given[trusted] = truth[trusted]
print(f"{(given != truth)[train].sum()} of {len(train)} labels are wrong")


# %%
# Train three times: with the usual three lines, with these and the trusted samples among the others, and with
# `Reweighter`.
def trained(rows: torch.Tensor, reweigh: bool = False) -> tuple[nn.Module, Reweighter, torch.Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    reweighter = Reweighter(model, optimizer, given[train], every=1, warm_up=1)
    weights = torch.ones(len(truth))
    for _ in range(20):
        for batch in rows[torch.randperm(len(rows))].split(50):
            if reweigh:
                step = reweighter.step(inputs[batch], given[batch], inputs[trusted], truth[trusted])
                weights[batch] = step.weights
            else:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs[batch]), given[batch]).backward()
                optimizer.step()
    return model, reweighter, weights


plain, _, _ = trained(train)
helped, _, _ = trained(torch.cat([train, trusted]))
model, reweighter, weights = trained(torch.cat([train, trusted]), reweigh=True)
for name, each in {"plain": plain, "plain with the trusted samples": helped, "reweighted": model}.items():
    print(f"{name}: {(each(inputs[test]).argmax(1) == truth[test]).float().mean():.1%} of the test digits are right")

# %%
# The learned curves show how much a sample counts by its loss, for each family of classes.
losses = nn.functional.cross_entropy(model(inputs[train]), given[train], reduction="none").detach().numpy()
plot_weighting(reweighter.weight_net, losses, figure=plt.figure(figsize=(6, 4)))

# %%
# Compare the mean weights of right and wrong labels in the last epoch.
wrong = given[train] != truth[train]
print(f"mean weight: right labels {weights[train][~wrong].mean():.2f}, wrong labels {weights[train][wrong].mean():.2f}")
