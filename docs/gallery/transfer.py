"""# Reuse a weighting function

Learn a weighting function in one run and use it in another. The function maps a loss and a family of classes to a
weight. In the second run it is frozen, so training costs little more than plain training.
"""

# %%
# Learn the function on digits. Of the digits 3, 4, 5 and 7, 40 % have the label of a look-alike. This is the recipe
# of the demo with fewer epochs: `reweigh train demo train.epochs=20 --out runs/learned`.
import json
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt

from reweigh import load_weighting
from reweigh.report.figures import plot_weighting


def reweigh(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "reweigh", *words], check=True, capture_output=True)


short = "train.epochs=20"
reweigh("train", "demo", short, "--out", "runs/learned")
learned, origin = load_weighting("runs/learned/weighting.safetensors")
print("learned on:", origin.learned_on)
plot_weighting(learned, labels=["small classes", "medium classes", "large classes"], figure=plt.figure(figsize=(6, 3)))

# %%
# In the second run, other classes are mislabeled, in the other direction.
noise = "data.bias=[{name='asymmetric', rate=0.4, map={1=7, 6=5, 8=3, 9=4}}]"
reweigh("train", "demo", "--weighting", "runs/learned", noise, short, "--out", "runs/carried-over")
reweigh("train", "demo", noise, short, "method.name=erm", "--out", "runs/plain")

# %%
# Compare the test accuracy after each epoch with that of plain training. The new run also stores where the function
# comes from.
figure, axis = plt.subplots(figsize=(6, 3.2))
for name in ("plain", "carried-over"):
    lines = [json.loads(line) for line in Path("runs", name, "metrics.jsonl").read_text().splitlines()]
    accuracy = [100 * line["test_accuracy"] for line in lines]
    axis.plot(range(1, len(accuracy) + 1), accuracy, label=name)
    print(f"{name}: {accuracy[-1]:.1f} % after the last epoch")
axis.set(xlabel="epoch", ylabel="test accuracy, %")
axis.legend(frameon=False)
