"""A recipe from data that the user names on the command line, and what was chosen for them."""

import shlex
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from reweigh.cli.facts import LARGEST, Look, look
from reweigh.cli.source import in_words_of_the_command
from reweigh.errors import RecipeError

if TYPE_CHECKING:
    from reweigh.plan.choose import Choice
    from reweigh.recipes.read import Contents


class OwnData(NamedTuple):
    """Data as named on the command line: a path or the name of a dataset, the label column, a label file.

    Attributes:
        candidates: a label may name several, with ``|`` between.
    """

    data: str
    label: str | None = None
    labels: Path | None = None
    candidates: bool = False

    @property
    def title(self) -> str:
        """A short name for runs."""
        return Path(self.data).resolve().name.split(".")[0] or "data"


def recipe_for(own: OwnData, recipe: str | None, changes: Sequence[str]) -> "Contents":
    """The recipe that trains on the data; prints what was chosen.

    Args:
        recipe: gives everything but the data; without one all is chosen from the data.
        changes: ``key=value``, which win.

    Raises:
        RecipeError: there are no such data, no such recipe, or a mistake in it.
        DataError: the data cannot be read.
    """
    from reweigh.plan.choose import Facts, choose
    from reweigh.plan.edit import put
    from reweigh.recipes.check import check
    from reweigh.recipes.overrides import apply
    from reweigh.recipes.read import Contents, read

    values = {} if recipe is None else deepcopy(dict(read(recipe).values))
    values["data"] = data_section(own, values.get("data"))
    given = deepcopy(values)
    apply(changes, given)
    if not isinstance(given["data"], dict):
        check(Contents(f"for {own.data}", values, apply(changes, values)))  # reports what is wrong with it
    if given["data"].get("name") == "files" and takes_unlabeled(given):
        values["data"].setdefault("unlabeled", True)
        given["data"].setdefault("unlabeled", True)
    with in_words_of_the_command():
        found = look(given["data"])
    choices = [] if found is None else resized(found)
    if recipe is None:  # also for data that are named wrongly, so that the check finds no other mistakes
        facts = Facts(2, (1,), (1, 1)) if found is None else found.facts
        choices += choose(facts, given)
    for choice in choices:
        for key, value in choice.values.items():
            put(values, key.split("."), value)
    contents = Contents(f"for {own.data}", values, apply(changes, values))
    check(contents)  # mistakes first: they matter more than what was chosen
    assert found is not None
    show_choices(own, found, choices, changes, recipe)
    return contents


def resized(found: Look) -> "list[Choice]":
    """The size that images are resized to, if they are."""
    from reweigh.plan.choose import Choice

    if found.size is None:
        return []
    why = f"the images have {found.sizes} sizes" if found.sizes > 1 else f"larger than {LARGEST} pixels"
    return [Choice({"data.size": found.size}, f"{why}; all become {found.size} x {found.size}")]


def data_section(own: OwnData, before: Any) -> dict[str, Any]:
    """The section [data]; of that of a recipe only how files are read remains, but no bias.

    Raises:
        RecipeError: there are no such data.
    """
    from reweigh.cli.source import find
    from reweigh.plan.mistakes import raise_all

    source, mistakes = find(own.data, own.label, own.labels, None)
    raise_all(mistakes, "reweigh train --data")
    section: dict[str, Any] = {"name": "files" if source.part is None else own.data}
    if source.part is None:
        section |= {"root": str(Path.cwd()), "path": str(Path(own.data).resolve())}  # root: of data.test and the like
    if own.label is not None:
        if Path(own.data).is_dir():
            raise RecipeError(
                f"--label: got {own.label!r}; a folder has no columns, leave it away (or use --labels FILE)"
            )
        section["label"] = own.label
    if own.labels is not None:
        section["labels"] = str(own.labels.resolve())
    if own.candidates:
        if source.part is not None:
            raise RecipeError(f"--candidates: {own.data} has one label a sample; for some, use data.candidates")
        from reweigh.data.labels.candidates import SEPARATOR

        section["separator"] = SEPARATOR
    before = before if isinstance(before, Mapping) else {}
    kept = ("size", "test_fraction", "split_seed") if before.get("name") == "files" else ()
    return section | {key: before[key] for key in kept if key in before}


def takes_unlabeled(values: Mapping[str, Any]) -> bool:
    """Whether the method of a recipe as far as it is written learns from samples without a label too."""
    from reweigh.plan.tables import members, method_named

    method = values.get("method")
    name = method.get("name") if isinstance(method, Mapping) else method
    return str(name) in members("methods") and method_named(str(name)).unlabeled


def show_choices(
    own: OwnData, found: Look, choices: "Sequence[Choice]", changes: Sequence[str], recipe: str | None
) -> None:
    """Print what is in the data, and what was chosen for them."""
    facts = found.facts
    shape = f"{facts.shape[0]} features" if len(facts.shape) == 1 else " x ".join(map(str, facts.shape))
    typer.echo(f"{own.data}: {facts.samples:,} samples of {shape} to train on, {len(facts.class_sizes)} classes")
    if found.held_out is not None:
        typer.echo(
            f"{found.held_out:,} more are held out to judge by; their labels are as doubtful as the rest, so a set"
        )
        typer.echo("with trusted labels, where there is one, judges better (data.test=PATH).")
    if facts.candidates and found.held_out is not None:
        typer.echo("Of those with several candidates any counts as right, since nobody knows which one is.")
    if found.several_in_one is not None:
        typer.echo(f"Class {found.several_in_one!r} seems to name several candidates; if so, say --candidates.")
    if recipe is not None:
        typer.echo(f"Everything but the data is as in {recipe}.")
    given = [change.partition("=")[0] for change in changes]
    if lines := [line for choice in choices for line in told(choice, given)]:
        typer.echo("Chosen from the data; KEY=VALUE changes any of it:")
        typer.echo("\n".join(lines))
    typer.echo()


def told(choice: "Choice", given: Sequence[str]) -> list[str]:
    """A choice as it would be written, and why; nothing of what the user has chosen."""
    from reweigh.plan.toml import inline, plain

    mine = {key: value for key, value in choice.values.items() if key not in given}
    if not mine or any(key.endswith("name") for key in choice.values.keys() - mine.keys()):  # its options went with it
        return []
    words = [f"{key}={value if isinstance(value, str) else inline(plain(value))}" for key, value in mine.items()]
    return [f"  {shlex.join(words)}  # {choice.why}"]
