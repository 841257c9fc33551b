"""# A comparison for a paper

Three methods, three seeds, one table: `reweigh compare` trains every combination in a run folder of its own, and the
numbers of all of them can be read from one JSON file.
"""

# %%
# On the command line: `reweigh compare demo --methods erm,mw-net,cmw-net --seeds 3 --json results.json`. Here, the runs
# are shorter than in the shipped recipe. An interrupted comparison continues with `--resume`.
import json
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

words = "compare demo --methods erm,mw-net,cmw-net --seeds 3 --json results.json --out runs train.epochs=8"
subprocess.run([sys.executable, "-m", "reweigh", *words.split()], check=True, capture_output=True)

# %%
# One row per run. `last` is the test accuracy of the saved model in percent. `best` is chosen on the test set, so
# report it only to show what was lost.
rows = pd.DataFrame(json.loads(Path("results.json").read_text())["rows"])
print(rows[["method", "seed", "last", "best"]].to_string(index=False))

# %%
# The table of the paper: mean and standard deviation over seeds.
table = rows.groupby("method")["last"].agg(["mean", "std"]).loc[["erm", "mw-net", "cmw-net"]]
print("\n".join(f"{name} & ${mean:.2f} \\pm {std:.2f}$ \\\\" for name, mean, std in table.itertuples()))

# %%
# And the figure. Each run keeps its metrics of every epoch.
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
