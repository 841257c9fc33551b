"""What cheaper settings of CMW-Net cost in accuracy: python benchmarks/frontier.py --data FOLDER --noise FOLDER

Cells and folders are those of ``matrix.py``. One setting at a time is changed: how often the weights are learned, where
the look-ahead is taken, which layers it takes into account, how many trusted samples teach at once. Prints, for each
setting, accuracy per cell (mean over seeds) and the cost: processor time as a ratio to ``erm`` of the same cell and
seed. Results are appended to ``--out``; ``--figure PATH`` draws cost against accuracy.
"""

from pathlib import Path

import numpy as np

from matrix import Row, append, arguments, measure, read

CELLS = "f:sym40,f:way40,f:lt100,c:fd1"
PAPER = 'lookahead="virtual":engine="forward"'
SETTINGS = {
    "plain training (erm)": "erm:prior",
    "default: every 10th, real step, difference": "cmw-net:prior",
    "every step": "cmw-net:prior:every=1",
    "every 3rd": "cmw-net:prior:every=3",
    "every 30th": "cmw-net:prior:every=30",
    "exact, virtual step, every step (the paper)": f"cmw-net:prior:every=1:{PAPER}",
    "exact, virtual step, every 10th": f"cmw-net:prior:{PAPER}",
    "last layer only, every step": 'cmw-net:prior:every=1:scope="last-layer"',
    "trusted batch of 32": "cmw-net:prior:meta_set.batch_size=32",
}


def table(rows: list[Row], cells: list[str]) -> tuple[str, dict[str, tuple[float, float]]]:
    """A Markdown table, and cost and mean accuracy of each setting."""
    lines, points = ["| | " + " | ".join(cells) + " | mean | cost |", "|---" * (len(cells) + 3) + "|"], {}
    plain = {(r["cell"], r["seed"]): r["seconds"] for r in rows if r["method"] == SETTINGS["plain training (erm)"]}
    for words, method in SETTINGS.items():
        found = [row for row in rows if row["method"] == method and row["cell"] in cells]
        if not found:
            continue
        means = [np.mean([row["accuracy"] for row in found if row["cell"] == cell] or np.nan) for cell in cells]
        cost = float(np.mean([row["seconds"] / plain[row["cell"], row["seed"]] for row in found]))
        points[words] = cost, float(np.mean(means))
        lines.append(
            f"| {words} | " + " | ".join(f"{mean:.1f}" for mean in means) + f" | {np.mean(means):.1f} | {cost:.2f} |"
        )
    return "\n".join(lines), points


def draw(points: dict[str, tuple[float, float]], path: Path) -> None:
    """Cost against accuracy, a point per setting."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for words, (cost, accuracy) in points.items():
        axes.plot(cost, accuracy, "o", label=words)
    axes.set(xlabel="processor time, plain training = 1", ylabel="mean accuracy in percent")
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.02, 0.5))
    figure.savefig(path)


def main() -> None:
    """Run what is missing, and print the table."""
    parser = arguments(__doc__, "frontier.jsonl", CELLS)
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    cells = options.cells.split(",")
    for seed in map(int, options.seeds.split(",")):
        for cell in cells:
            for method in SETTINGS.values():
                if (cell, method, seed) not in {(row["cell"], row["method"], row["seed"]) for row in read(options.out)}:
                    append(options.out, measure(cell, method, seed, options.data, options.noise))
    words, points = table(read(options.out), cells)
    print(words)
    if options.figure:
        draw(points, options.figure)


if __name__ == "__main__":
    main()
