"""# A comparison for a paper

Compare three methods over three seeds and put the numbers into a table and a figure. `reweigh compare` trains each
combination in its own run folder and writes all numbers to one JSON file.
"""

# %%
# The command is `reweigh compare demo --methods erm,mw-net,cmw-net --seeds 3 --json results.json`. Here the runs are
# shorter than in the recipe. To continue an interrupted comparison, add `--resume`.
import json
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

words = "compare demo --methods erm,mw-net,cmw-net --seeds 3 --json results.json --out runs train.epochs=8"
subprocess.run([sys.executable, "-m", "reweigh", *words.split()], check=True, capture_output=True)

# %%
# There is one row per run. `last` is the test accuracy of the saved model in percent. `best` is chosen on the test set,
# so report it only to show what was lost.
rows = pd.DataFrame(json.loads(Path("results.json").read_text())["rows"])
print(rows[["method", "seed", "last", "best"]].to_string(index=False))

# %%
# The rows of a LaTeX table: mean and standard deviation over seeds.
table = rows.groupby("method")["last"].agg(["mean", "std"]).loc[["erm", "mw-net", "cmw-net"]]
print("\n".join(f"{name} & ${mean:.2f} \\pm {std:.2f}$ \\\\" for name, mean, std in table.itertuples()))

# %%
# The figure shows the test accuracy after each epoch. Each run stores these metrics in `metrics.jsonl`.
figure, axis = plt.subplots(figsize=(6, 3.2))
for (method, runs), color in zip(rows.groupby("method"), ("C0", "C1", "C2"), strict=True):
    lines = [
        [json.loads(line)["test_accuracy"] for line in (Path(run) / "metrics.jsonl").read_text().splitlines()]
        for run in runs["run"]
    ]
    accuracy = 100 * pd.DataFrame(lines)
    mean, std, epochs = accuracy.mean(), accuracy.std(), accuracy.columns + 1
    axis.plot(epochs, mean, color=color, label=method)
    axis.fill_between(epochs, mean - std, mean + std, color=color, alpha=0.15, linewidth=0)
axis.set(xlabel="epoch", ylabel="test accuracy, %")
axis.legend(frameon=False)
