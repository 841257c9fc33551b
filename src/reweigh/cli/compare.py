"""``reweigh compare``: methods, biases and seeds by one recipe, side by side."""

import math
import shlex
import statistics
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from reweigh.cli import arguments as arg
from reweigh.cli.arguments import check_target
from reweigh.cli.printing import console, show_table
from reweigh.cli.train import separated, show_choices
from reweigh.errors import RecipeError, ReweighError
from reweigh.names import plural
from reweigh.runs.words import in_words

if TYPE_CHECKING:
    from reweigh.compare.carry_out import Row

MOST_BIASES_DRAWN = 2  # with more curves than that, the tables are out of sight
BASELINE = "erm"
MIN_NEGLECT = 0.1  # share by which accuracy is above balanced accuracy if rare classes are hardly predicted


def compare(
    recipe: Annotated[
        str | None,
        typer.Argument(
            metavar="RECIPE",
            help="A recipe file, a run, or the name of a shipped recipe; not with --data.",
            autocompletion=arg.recipe_names,
        ),
    ] = None,
    overrides: arg.Changes = None,
    data: arg.Data = None,
    label: arg.Label = None,
    labels: arg.Labels = None,
    drop: arg.Drop = None,
    sep: arg.Sep = None,
    encoding: arg.Encoding = None,
    join_labels: arg.JoinLabels = False,
    group: arg.Group = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods, separated by commas. Default: that of the recipe; with --data, erm and the default method."
        ),
    ] = None,
    biases: Annotated[
        str | None,
        typer.Option(
            help="Biases, separated by commas, such as symmetric-0.4,long-tail-50+symmetric-0.3,clean: a name with its "
            "rate or factor, several joined by +, or clean for none. Default: those of the recipe."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds, counted from the recipe's seed.")] = 3,
    workers: Annotated[int, typer.Option(min=1, help="Number of runs at a time; they share the processor.")] = 1,
    json: Annotated[Path | None, typer.Option(help="Write the numbers and recipes of all runs to this file.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the runs. Default: runs/RECIPE.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Train only the runs that an earlier call has not finished.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing runs.")] = False,
    trust_code: arg.TrustCode = False,
) -> None:
    """Train several methods under several biases and compare them.

    Prints one table per bias, with the mean and spread over the seeds after the last epoch (or the one that the judge
    kept) and after the best one, and the cost of each method. With the same bias and seed, all methods see the same
    wrong labels and start from the same weights. If a run fails, the others continue.

    Each method uses the options in the recipe's section [method] that mean the same to it (its own default is the
    same), and those in [compare.METHOD]. Each bias uses the options that the recipe's section [data] has for it. With
    --data, the settings of each method are chosen from the data.

    \b
      reweigh compare demo --methods erm,cmw-net --seeds 3
    """
    how = arg.written(sep, encoding, drop, join_labels, group)
    recipe, changes = separated(recipe, overrides or [])
    if (recipe is None) == (data is None):
        raise RecipeError("give either a recipe, such as demo, or your own data: --data FILE --label COLUMN")
    from reweigh.recipes.read import find, title

    if recipe is not None:
        find(recipe)
    if data is None and (label or labels or how):
        raise RecipeError("--label, --labels, --drop, --sep, --encoding and --join-labels need --data; give that too")
    if resume and overwrite:
        raise RecipeError("--resume keeps existing runs, --overwrite replaces them; give only one of the two")
    if json:
        check_target("--json", json, [json], [], overwrite=True)

    from reweigh.compare.carry_out import carry_out, to_json
    from reweigh.compare.grid import plan
    from reweigh.files import write_whole
    from reweigh.training.processes import is_first
    from reweigh.training.progress import series

    wanted, wanted_biases = names("--methods", methods), names("--biases", biases)
    options = {"methods": methods, "biases": biases, "seeds": seeds, "json": json, "out": out}
    options |= {"workers": workers} if workers > 1 else {}
    flags = ["--trust-code"] if trust_code else []
    given = [word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))]
    if data is not None:
        from reweigh.recipes.own_data import find, recipe_for
        from reweigh.recipes.own_data import title as title_of

        source, _ = find(data, label, labels, written=how)
        chosen = recipe_for(data, label, labels, False, None, changes, how, compare=wanted or ())
        show_choices(data, chosen, changes)
        contents = chosen.contents
        wanted = wanted or list(contents.values["compare"])
        command = shlex.join(["reweigh", "compare", *source.as_words(), *changes, *given, *flags])
        planned, folder = plan(contents, (), wanted, wanted_biases, seeds), out or default_folder(title_of(data))
    else:
        assert recipe is not None
        command = shlex.join(["reweigh", "compare", recipe, *changes, *given, *flags])
        planned, folder = plan(recipe, changes, wanted, wanted_biases, seeds), out or default_folder(title(recipe))
    try:
        rows = carry_out(planned, folder, workers, resume, overwrite, series(), trust_code)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(f"{stop}; continue with:\n{command} --resume") from stop
    if is_first():
        show_comparison(rows, folder)
        if json:
            write_whole(json, to_json(rows, command=command))
    if failed := failures(rows):
        raise ReweighError(f"{failed}\ntry them again with:\n{command} --resume")


def default_folder(name: str) -> Path:
    """Where the runs of a comparison go: runs/NAME, or beside it if that is the folder of a single run."""
    folder = Path("runs", name)
    return folder.with_name(f"{name}-compared") if (folder / "recipe.toml").exists() else folder


def names(option: str, text: str | None) -> list[str] | None:
    if text is None:
        return None
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise RecipeError(f"{option}: got {text!r}; give names separated by commas")
    return found


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
        over = "one seed" if seeds == 1 else f"mean ± spread over {seeds} seeds"
        show_table(f"{named(bias)}: test accuracy in percent, {over}", columns, cells, numbers=True)
    above = [(row.last or 0.0) / 100 - row.last_epoch.get("test_balanced_accuracy", math.inf) for row in finished]
    if max(above) > MIN_NEGLECT:
        out.print("Frequent classes are predicted far better than rare ones. If all matter alike, judge by 'balanced'.")
    relative = any(row.method == BASELINE for row in finished)
    cost = f"Cost is training time relative to {BASELINE}" if relative else "Seconds are training time"
    several = len({row.seed for row in finished}) > 1
    out.print(
        f"{'Spread is the standard deviation. ' if several else ''}{cost}, a rough estimate, especially with several "
        "workers."
    )
    folders = plural(len(finished), "folder")
    out.print(f"Runs: {folder} ({folders}, each with recipe, metrics, summary, model and samples)")
    out.print(f"Next: reweigh list recipes {finished[-1].run} prints the recipe of a run.")


def named(bias: str) -> str:
    from reweigh.compare.grid import CLEAN

    return "labels as given" if bias == CLEAN else bias


def show_curves(rows: "Sequence[Row]") -> None:
    """Draw what each method learned under each bias, with the first seed."""
    from reweigh.cli.outcome import learned_curves
    from reweigh.training import Run

    first = {(row.bias, row.method): row for row in reversed(rows)}
    for row in reversed(first.values()):
        if curves := learned_curves(Run(Path(row.run))):
            console().print(f"What {row.method} learned ({named(row.bias)}, seed {row.seed}):", style="bold")
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
                spread([row.last_epoch[name] for row in its if row.last_epoch.get(name) is not None], name)
                for name in others
            ),
            "-" if method not in spent else f"{spent[method] / unit:.2f}" if unit else f"{spent[method]:.1f}",
        ]
        cells.append([method + few, *numbers])
    short = [in_words(name).removesuffix(" accuracy") for name in others]
    kept = "kept" if any("judge_keeps" in line for line in lines) else "last"
    return ["method", f"{kept} epoch", "best epoch", *short, "cost" if unit else "seconds"], cells


def fitting(columns: list[str], cells: list[list[str]], width: int) -> tuple[list[str], list[list[str]]]:
    """The same table, with two lines per row if one does not fit into ``width``."""
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    if sum(widths) + 3 * len(widths) <= width:
        return columns, cells
    rows = [[fill(row[0], 14), *(cell.replace(" ± ", "\n±") for cell in row[1:])] for row in cells]
    return [column.replace(" ", "\n") for column in columns], rows


def spread(values: Sequence[float], name: str = "") -> str:
    """Mean, and standard deviation if there are several values; shares, all metrics but a log loss, in percent."""
    if not values:
        return "-"
    unit, digits = (1, 3) if name.endswith("log_loss") else (100 if name else 1, 2)
    mean = f"{unit * statistics.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {unit * statistics.stdev(values):.{digits}f}"


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
