"""What runs of the paper's experiments came to: python benchmarks/evidence.py RUNS [--write docs/paper.md]

RUNS holds ``a`` (a quarter of the published schedule) and ``b`` (its full length), with one run of Table 1 per folder,
called FACTOR-METHOD; ``partial``, runs of that table, with the names that ``reweigh tables partial --commands`` gives;
and ``d``, the ablations, with one JSON file of ``reweigh compare`` per setting. Prints Markdown tables of the runs that
are finished (errors; accuracy by class and learned weights, which the paper shows as figures), and the names of the
others. With --write, the tables replace what stands in a page between its two marks.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev

import pandas as pd
import torch

from reweigh.files import write_whole
from reweigh.recipes.published import table
from reweigh.training import Run
from reweigh.training.run import status
from reweigh.weighting import load_weighting, num_curves

BEGIN, END = "<!-- evidence -->", "<!-- end of evidence -->"
ROWS = {"erm": "ERM", "l2rw": "L2RW", "mw-net": "MW-Net", "mcw": "MCW with CE loss", "cmw-net": "CMW-Net with CE loss"}
PARTS = {"a": "a quarter of the schedule", "b": "the published schedule"}
GOAL = 2.0  # points by which cmw-net was to be better than mw-net, said before the runs
GOAL_FACTOR = 200  # and in which column
WEIGHTING = "weighting.safetensors"
LOSSES = [0.0, 0.5, 1.0, 2.0, 3.0, 5.0]


def long_tails(runs: Path) -> Iterator[str]:
    """Table 1, CIFAR-10: the error of each finished run beside that of the paper, and whether the goal was reached."""
    rows = table("1").rows
    for part, length in PARTS.items():
        folders = sorted((runs / part).glob("*-*/"), key=lambda run: (-int(run.name.split("-")[0]), run.name))
        done = [run for run in folders if status(Run(run)) == "finished"]
        found: dict[tuple[int, str], tuple[float, float]] = {}
        if done:
            yield from ("", f"Table 1, CIFAR-10, {length}: error in percent.", "")
            yield from ("| factor | method | paper | best epoch | last epoch | epochs |", "|---|---|---|---|---|---|")
        for run in done:
            factor, _, method = run.name.partition("-")
            paper = next(cell for cell in rows[ROWS[method]] if cell.column == f"CIFAR-10, factor {factor}").paper
            lines = Run(run).read_metrics()
            errors = [100 * (1 - line["test_accuracy"]) for line in lines if "test_accuracy" in line]
            found[int(factor), method] = min(errors), errors[-1]
            yield f"| {factor} | `{method}` | {paper:.2f} | {min(errors):.2f} | {errors[-1]:.2f} | {len(lines)} |"
        if {(GOAL_FACTOR, "cmw-net"), (GOAL_FACTOR, "mw-net")} <= found.keys():
            best, last = (
                theirs - ours
                for theirs, ours in zip(found[GOAL_FACTOR, "mw-net"], found[GOAL_FACTOR, "cmw-net"], strict=True)
            )
            reached = "reached" if min(best, last) >= GOAL else "**not reached**"
            yield from (
                "",
                f"The goal, `cmw-net` {GOAL:g} points better than `mw-net` at {GOAL_FACTOR}, was {reached}:",
            )
            yield f"{best:.2f} points by the best epochs, {last:.2f} by the last ones."
        for factor in sorted({factor for factor, _ in found}, reverse=True):
            runs_of = {method: runs / part / f"{factor}-{method}" for each, method in found if each == factor}
            yield from by_class(runs_of, f"factor {factor}, {length}")
            yield from curves(runs_of, f"factor {factor}, {length}")
        if left := [f"{run.name} ({status(Run(run))})" for run in folders if run not in done]:
            yield from ("", f"Not finished: {', '.join(left)}.")


def candidates(runs: Path) -> Iterator[str]:
    """Table ``partial``: the accuracy after the last epoch of each finished run, beside that of the paper."""
    lines = []
    for row, cells in table("partial").rows.items():
        for cell in cells:
            if status(Run(runs / "partial" / cell.run)) == "finished":
                accuracy = [100 * line["test_accuracy"] for line in Run(runs / "partial" / cell.run).read_metrics()]
                paper = f"{cell.paper:.2f} ± {cell.spread:.2f}"
                lines.append(f"| {row}, {cell.column} | {paper} | {accuracy[-1]:.2f} | {len(accuracy)} |")
    if lines:
        yield from ("", "Table `partial`, candidate labels: accuracy in percent after the last epoch, one seed.", "")
        yield from ("| cell | paper | here | epochs |", "|---|---|---|---|", *lines)


def by_class(runs: dict[str, Path], setting: str) -> Iterator[str]:
    """The share of each class that is predicted right after the last epoch: the diagonals of the paper's Fig. 5."""
    classes = json.loads(next(iter(runs.values())).joinpath("classes.json").read_text(encoding="utf-8"))
    yield from ("", f"Accuracy by class in percent, {setting}.", "")
    yield f"| method | {' | '.join(classes['names'])} |"
    yield "|---" * (len(classes["names"]) + 1) + "|"
    yield f"| training samples | {' | '.join(map(str, classes['sizes']))} |"
    for method, run in runs.items():
        tested = pd.read_csv(run / "test.csv")
        shares = [100 * tested["right"][tested["label"] == label].mean() for label in range(len(classes["names"]))]
        yield f"| `{method}` | {' | '.join(f'{share:.0f}' for share in shares)} |"


def curves(runs: dict[str, Path], setting: str) -> Iterator[str]:
    """The weights that were learned, by loss and family: as the paper's Fig. 3 has them for factor 10."""
    learned = {method: load_weighting(file)[0] for method, run in runs.items() if (file := run / WEIGHTING).exists()}
    if not learned:
        return
    yield from ("", f"Learned weights by loss, {setting}; family 1 has the smallest classes.", "")
    yield f"| method, family | {' | '.join(f'loss {loss:g}' for loss in LOSSES)} |"
    yield "|---" * (len(LOSSES) + 1) + "|"
    for method, net in learned.items():
        for family in range(num_curves(net)):
            with torch.no_grad():
                weights = net(torch.tensor(LOSSES), torch.full((len(LOSSES),), family))
            yield f"| `{method}`, {family + 1} | {' | '.join(f'{weight:.2f}' for weight in weights)} |"


def ablations(runs: Path) -> Iterator[str]:
    """The ablations: accuracy by setting and bias, mean and standard deviation over seeds."""
    settings = sorted((runs / "d").glob("*.json"))
    yield from compared("Fashion-MNIST", [file for file in settings if not file.stem.startswith("digits")])
    yield from compared("Digits, a small CNN", [file for file in settings if file.stem.startswith("digits")])


def compared(data: str, files: list[Path]) -> Iterator[str]:
    """One table of what ``reweigh compare`` found in several settings."""
    found: dict[str, dict[str, list[float]]] = {}
    for file in files:
        for row in json.loads(file.read_text(encoding="utf-8"))["rows"]:
            if row["last"] is not None:
                found.setdefault(f"{file.stem}, `{row['method']}`", {}).setdefault(row["bias"], []).append(row["last"])
    biases = list(dict.fromkeys(bias for setting in found.values() for bias in setting))
    if not found:
        return
    yield from ("", f"{data}, accuracy in percent after the last epoch.", "")
    yield from (f"| setting | {' | '.join(biases)} | seeds |", "|---" * (len(biases) + 2) + "|")
    for name, setting in found.items():
        seeds = "/".join(dict.fromkeys(str(len(values)) for values in setting.values()))
        yield f"| {name} | {' | '.join(spread(setting.get(bias, [])) for bias in biases)} | {seeds} |"


def spread(values: list[float]) -> str:
    """Mean and standard deviation."""
    if not values:
        return "-"
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    given = parser.parse_args()
    lines = "\n".join([*long_tails(given.runs), *candidates(given.runs), *ablations(given.runs)]).strip()
    if not given.write:
        print(lines)
        return
    text = given.write.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        parser.error(f"{given.write}: needs the lines {BEGIN} and {END} once each, to write between them")
    before, _, rest = text.partition(BEGIN)
    write_whole(given.write, f"{before}{BEGIN}\n\n{lines}\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
