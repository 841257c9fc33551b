"""Set methods side by side: a table for each bias, with mean and spread over seeds, the best epoch beside the last."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from reweigh.cli.outcome import learned_curves, plain
from reweigh.cli.printing import console, show_table

if TYPE_CHECKING:
    from reweigh.compare.rows import Row

MOST_BIASES_DRAWN = 2  # more curves than that, and the tables are out of sight
BASELINE = "erm"


def show_comparison(rows: "Sequence[Row]", folder: Path) -> None:
    """Print the end of ``reweigh compare``: what was learned, a table for each bias, the runs."""
    out = console()
    finished = [row for row in rows if row.last is not None]
    if not finished:
        return
    biases = list(dict.fromkeys(row.bias for row in finished))
    if len(biases) <= MOST_BIASES_DRAWN:
        show_curves(finished)
    for bias in biases:
        of_bias = [row for row in rows if row.bias == bias]
        seeds = len({row.seed for row in of_bias})
        columns, cells = fitting(*table(of_bias), out.width)
        title = f"{bias}: test accuracy in percent, {'one seed' if seeds == 1 else f'mean ± spread over {seeds} seeds'}"
        show_table(title, columns, cells, numbers=True)
    cost = f"Cost, {BASELINE} being 1, is" if any(row.method == BASELINE for row in finished) else "Seconds are"
    out.print(f"Spread is the standard deviation. {cost} wall time of training: rough, more so with several workers.")
    out.print(f"Runs: {folder} ({len(finished)} folders, each with recipe, metrics, summary, model and samples)")
    out.print(f"Next: reweigh show {finished[-1].run} prints the recipe of a run; samples.csv tells whom to distrust.")


def show_curves(rows: "Sequence[Row]") -> None:
    """Draw what each method learned under each bias, with the first seed."""
    from reweigh.training import Run

    first = {(row.bias, row.method): row for row in reversed(rows)}
    for row in reversed(first.values()):
        if curves := learned_curves(Run(Path(row.run))):
            console().print(f"What {row.method} learned ({row.bias}, seed {row.seed}):", style="bold")
            console().print(curves)


def table(rows: "Sequence[Row]") -> tuple[list[str], list[list[str]]]:
    """Columns and cells of the table of one bias; a method that has not finished a run has no numbers."""
    methods = {method: [row for row in rows if row.method == method] for method in {row.method: None for row in rows}}
    finished = {method: [row for row in its if row.last is not None] for method, its in methods.items()}
    lines = [row.last_epoch for row in rows if row.last is not None]
    others = [name for name in lines[0] if name.startswith("test_")][1:]
    spent = {method: statistics.mean(row.seconds for row in its) for method, its in finished.items() if its}
    unit = spent.get(BASELINE)
    cells = []
    for method, its in finished.items():
        few = f" ({len(its)} of {len(methods[method])})" if len(its) < len(methods[method]) else ""
        numbers = [
            spread([row.last for row in its if row.last is not None]),
            spread([row.best for row in its if row.best is not None]),
            *(
                spread([100 * row.last_epoch[name] for row in its if row.last_epoch.get(name) is not None])
                for name in others
            ),
            "-" if method not in spent else f"{spent[method] / unit:.2f}" if unit else f"{spent[method]:.1f}",
        ]
        cells.append([method + few, *numbers])
    short = [plain(name).removesuffix(" accuracy") for name in others]
    return ["method", "last epoch", "best epoch", *short, "cost" if unit else "seconds"], cells


def fitting(columns: list[str], cells: list[list[str]], width: int) -> tuple[list[str], list[list[str]]]:
    """The same table, with two lines a row if one does not fit into ``width``."""
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    if sum(widths) + 3 * len(widths) <= width:
        return columns, cells
    rows = [[fill(row[0], 14), *(cell.replace(" ± ", "\n±") for cell in row[1:])] for row in cells]
    return [column.replace(" ", "\n") for column in columns], rows


def spread(values: Sequence[float]) -> str:
    """Mean, and standard deviation where there are several."""
    if not values:
        return "-"
    mean = f"{statistics.mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.2f}"


def failures(rows: "Sequence[Row]") -> str:
    """Which runs failed and why, those with the same error together; empty if none did."""
    by_error: dict[str, list[Row]] = {}
    for row in rows:
        if row.error:
            by_error.setdefault(row.error, []).append(row)
    if not by_error:
        return ""
    count = sum(map(len, by_error.values()))
    lines = [f"{count} of {len(rows)} runs failed"]
    for error, failed in by_error.items():
        lines += ["  " + ", ".join(row.run for row in failed), "    " + error.strip().replace("\n", "\n    ")]
    return "\n".join(lines)
