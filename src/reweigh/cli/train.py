"""``reweigh train``: train by a recipe or on the user's own data, or continue an interrupted run."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reweigh.cli import arguments as arg
from reweigh.cli.printing import echo, shape_words, show_columns
from reweigh.errors import DataError, RecipeError
from reweigh.names import listed

if TYPE_CHECKING:
    from reweigh.recipes.own_data import Chosen
    from reweigh.recipes.read import Contents

Candidates = Annotated[
    bool, typer.Option("--candidates", help="Labels may name several candidates, one of them right: cat|dog.")
]


def train(
    recipe: Annotated[
        str | None,
        typer.Argument(
            metavar="RECIPE",
            help="A recipe file, a run, or the name of a shipped recipe. Default: demo, or chosen for DATA.",
            autocompletion=arg.recipe_names,
        ),
    ] = None,
    overrides: arg.Changes = None,
    data: arg.Data = None,
    label: arg.Label = None,
    labels: arg.Labels = None,
    candidates: Candidates = False,
    drop: arg.Drop = None,
    sep: arg.Sep = None,
    encoding: arg.Encoding = None,
    join_labels: arg.JoinLabels = False,
    group: arg.Group = None,
    votes: arg.Votes = None,
    reviewed: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN|FILE",
            help="Use the decisions of `reweigh review RUN`; without recipe and data, repeat RUN. Or those in "
            "a FILE of another tool (see `reweigh issues --to`), with RUN as recipe.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Run folder. Default: runs/NAME-METHOD-seedSEED.")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="RUN", help="Continue the run in this folder.")] = None,
    branch: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="Start, with another method, from what RUN has trained by the end of its warm-up, or so far if it has "
            "none. Without RECIPE, the recipe is that of RUN.",
        ),
    ] = None,
    weighting: Annotated[
        str | None,
        typer.Option(
            metavar="RUN|FILE",
            help="Use the weighting function that RUN has learned, or its file, and keep it fixed: this costs little "
            "more than plain training. To the file that the paper's authors released, add the order of its heads: "
            "vnet.pth:large,small,medium.",
        ),
    ] = None,
    overwrite: arg.Overwrite = False,
    trust_code: arg.TrustCode = False,
) -> None:
    """Train with a recipe, or on your own data.

    Prints the test results, what was learned about the samples, and where everything is stored.

    \b
      reweigh train demo train.seed=1
      reweigh train --data table.csv --label kind
      reweigh train --data photos/ --weighting runs/demo-cmw-net-seed0
      reweigh train demo method.name=mw-net --branch runs/demo-erm-seed0
    """
    how = arg.written(sep, encoding, drop, join_labels, group, votes)
    if resume and any([recipe, data, label, labels, candidates, how, reviewed, out, overwrite, branch, weighting]):
        raise RecipeError("--resume continues a run as it was started; leave out everything else")
    if resume:
        from reweigh.cli.outcome import show_outcome
        from reweigh.fit.run_folder import resume as continue_run
        from reweigh.training import progress

        show_outcome(continue_run(resume, progress(), trust_code=trust_code))
        return
    recipe, changes = separated(recipe, overrides or [])
    if reviewed is not None:
        from reweigh.fit.decisions import Decisions, decisions_file

        file = decisions_file(reviewed)
        changes = [*changes, f"data.reviewed={file.resolve()}", f"data.decisions={Decisions(file).count}"]
    if branch is not None:
        from reweigh.training.state import check_branch

        changes = [*changes, f"train.branch={check_branch(branch).resolve()}"]
    called = ""
    if weighting is not None:
        called, method, file = with_weighting(weighting, recipe)
        changes = [*method, *changes, f"method.weighting={file}"]
    if recipe is None and data is None:
        recipe = str(reviewed or branch or "demo")
    name, contents = contents_of(recipe, changes, data, label, labels, candidates, how)
    name += f"-from-{called}" if called else ""
    folder = carry_out(contents, name if reviewed is None else f"{name}-reviewed", out, overwrite, trust_code)
    if reviewed is not None and reviewed.is_dir():
        from reweigh.cli.outcome import worth
        from reweigh.runs.audit import audited

        if found := audited(reviewed):
            echo(f"Before the review: {found.claim}")
        echo(worth(reviewed, folder) or "The earlier run was tested on other samples, so the two cannot be compared.")


def with_weighting(source: str, recipe: str | None) -> tuple[str, list[str], str]:
    """A short name for a weighting function, the method for it unless the recipe's will do, and its file."""
    from reweigh.fit.run_folder import not_ended, open_run
    from reweigh.weighting import load_weighting, named_release

    released = named_release(source)
    if released or Path(source).is_file():
        path, *order = [released[0], ",".join(released[1])] if released else [source]
        file, called = ":".join([str(Path(path).resolve()), *order]), Path(path).stem
    else:
        run, plan = open_run(Path(source))
        if not run.weighting.is_file() and not run.model.is_file():
            raise not_ended(run, run.weighting)
        if not run.weighting.is_file():
            raise DataError(
                f"--weighting {source}: no weighting function; its method, {plan.method.name}, does not learn one. "
                "Give a run of two-looks, cmw-net or cmw-net-sl"
            )
        file, called = str(run.weighting.resolve()), Path(source).resolve().name
    _, origin = load_weighting(file)
    echo(f"Weighting function: learned on {origin.learned_on or 'unknown data'}, in {source}; it is kept fixed.\n")
    chosen = "two-looks" if origin.reads == "doubt" else "cmw-net" if recipe is None else None
    return called, [f"method.name={chosen}"] if chosen else [], file


def separated(recipe: str | None, changes: Sequence[str]) -> tuple[str | None, list[str]]:
    """The recipe and the changes; the first argument may be a change already."""
    if recipe is not None and "=" in recipe and not Path(recipe).exists():
        return None, [recipe, *changes]
    return recipe, list(changes)


def contents_of(
    recipe: str | None,
    changes: Sequence[str],
    data: str | None,
    label: str | None,
    labels: Path | None,
    candidates: bool = False,
    how: Mapping[str, Any] = MappingProxyType({}),
) -> "tuple[str, Contents]":
    """A name for the run, and the recipe, not yet checked: one for the data, or the one given."""
    if data is not None:
        from reweigh.recipes.own_data import recipe_for
        from reweigh.recipes.own_data import title as title_of

        chosen = recipe_for(data, label, labels, candidates, recipe, changes, how)
        show_choices(data, chosen, changes, recipe)
        return title_of(data), chosen.contents
    from reweigh.recipes.read import find, read, title

    if recipe is not None:
        find(recipe)
    if label is not None or labels is not None or candidates or how:
        raise RecipeError(
            "--label, --labels, --votes, --candidates, --drop, --sep, --encoding and --join-labels need --data; give "
            "that too, or change the recipe: data.labels=FILE"
        )
    assert recipe is not None
    return title(recipe), read(recipe, changes)


def carry_out(contents: "Contents", name: str, out: Path | None, overwrite: bool, trust_code: bool = False) -> Path:
    """Check the recipe, train in a new run folder, and print the outcome; returns the folder."""
    from reweigh.cli.arguments import check_outside
    from reweigh.cli.outcome import show_outcome
    from reweigh.fit.run_folder import begin, resume
    from reweigh.recipes.own_data import files_of
    from reweigh.recipes.read import check
    from reweigh.training import Run, processes, progress

    checked = check(contents)
    folder = out or Path("runs", f"{name}-{checked.method.name}-seed{checked.train['seed']}")
    check_outside("--out", folder, files_of(checked.source))
    if processes.restarted() and processes.first(lambda: Run(folder).recipe.is_file()):
        show_outcome(resume(folder, progress(), checked, trust_code))
    else:
        show_outcome(begin(checked, folder, progress(), overwrite, trust_code))
    return folder


def show_choices(data: str, chosen: "Chosen", changes: Sequence[str], recipe: str | None = None) -> None:
    from reweigh.data.labels.label_file import SEPARATOR
    from reweigh.plan.edit import inline, plain

    found, facts, shape = chosen.look, chosen.look.facts, shape_words(chosen.look.facts.shape)
    show_columns(found.readings)
    echo(f"{data}: {facts.samples:,} samples of {shape} to train on, {len(facts.class_sizes):,} classes")
    if found.held_out is not None:
        echo(f"{found.held_out:,} more are held out for testing. Their labels are as doubtful as the others;")
        echo("if you have a test set with trusted labels, use it instead (data.test=PATH).")
    if facts.candidates and found.held_out is not None:
        echo("If a held-out sample has several candidates, any of them counts as right.")
    if found.several_in_one is not None:
        name, separator = found.several_in_one
        other = "" if separator == SEPARATOR else f" data.separator={shlex.quote(separator)}"
        echo(f"Class {name!r} seems to name several candidates; if it does, add --candidates{other}.")
    if found.small:
        echo(f"Classes of one or two samples: {listed(found.small)}. They are kept, but hard to judge.")
    if recipe is not None:
        echo(f"Everything except the data comes from {recipe}.")
    given = [change.partition("=")[0] for change in changes]
    lines = []
    for choice in chosen.choices:  # without what the user chose; with a name, its options go too
        mine = {key: value for key, value in choice.values.items() if key not in given}
        if mine and not any(key.endswith("name") for key in choice.values.keys() - mine.keys()):
            words = [
                f"{key}={value if isinstance(value, str) else inline(plain(value))}" for key, value in mine.items()
            ]
            lines.append(f"  {shlex.join(words)}  # {choice.why}")
    if lines:
        echo("Chosen from the data (KEY=VALUE changes any of it):")
        echo("\n".join(lines))
    echo()
