"""A recipe for the user's own data, and the choices that were made for them."""

import shlex
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from reweigh.cli.facts import Look, look
from reweigh.cli.printing import echo, shape_words, show_columns
from reweigh.cli.source import find
from reweigh.data.labels.candidates import SEPARATOR
from reweigh.names import listed
from reweigh.plan.choose import Choice, Facts, choose
from reweigh.plan.edit import put
from reweigh.plan.mistakes import raise_all
from reweigh.plan.tables import members, method_named, options_of
from reweigh.plan.toml import inline, plain
from reweigh.recipes.read import Contents, apply, check, read

BASELINE = "erm"


def recipe_for(
    data: str,
    label: str | None,
    labels: Path | None,
    candidates: bool,
    recipe: str | None,
    changes: Sequence[str],
    written: Mapping[str, Any],
    compare: Sequence[str] | None = None,
) -> Contents:
    """The recipe that trains on the data; prints what was chosen.

    Args:
        recipe: Gives everything but the data; without one everything is chosen from the data.
        changes: ``key=value``, which win.
        written: How the files are written, as options of section [data].
        compare: Methods to choose for, each in a section [compare.METHOD]; if empty, plain training and the method that
            suits the data.
    """
    values = {} if recipe is None else deepcopy(dict(read(recipe).values))
    source, mistakes = find(data, label, labels, written=written)
    raise_all(mistakes, "reweigh train --data")
    values["data"] = source.section(candidates, values.get("data"))
    given = deepcopy(values)
    apply(changes, given)
    if not isinstance(given["data"], dict):
        check(Contents(f"for {data}", values, apply(changes, values)))  # reports what is wrong with it
    if given["data"].get("name") == "files" and takes_unlabeled(given):
        values["data"].setdefault("unlabeled", True)
        given["data"].setdefault("unlabeled", True)
    found = look(given)
    choices = [] if found is None else reading(found)
    if recipe is None:  # also for data that are named wrongly, so that the check finds no other mistakes
        facts = Facts(2, (1,), (1, 1)) if found is None else found.facts
        choices += choose(facts, given)
    for choice in choices:
        for key, value in choice.values.items():
            put(values, key.split("."), value)
    if compare is not None and found is not None:
        names = compare or list(
            dict.fromkeys([BASELINE, given.get("method", {}).get("name") or values["method"]["name"]])
        )
        values["compare"] = {name: chosen_for(name, found.facts, given, changes) for name in names}
    contents = Contents(f"for {data}", values, apply(changes, values), tuple(changes))
    check(contents)  # mistakes first: they matter more than what was chosen
    assert found is not None
    show_choices(data, found, choices, changes, recipe)
    return contents


def chosen_for(method: str, facts: Facts, given: Mapping[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """The choices for the data and a method, without those that the user overrides."""
    own: dict[str, Any] = {}
    changed = {change.partition("=")[0] for change in changes}
    with_method = {**given, "method": {**given.get("method", {}), "name": method}}
    for choice in choose(facts, with_method):
        for key, value in choice.values.items():
            if key not in changed and key != "method.name":
                put(own, key.split("."), value)
    known = options_of(method_named(method)).model_fields if method in members("methods") else {}
    own["method"] = {key: value for key, value in own.get("method", {}).items() if key in known}
    return own


def title(data: str) -> str:
    """A short name for runs on the data."""
    return Path(data).resolve().name.split(".")[0] or "data"


def reading(found: Look) -> list[Choice]:
    """How images are read: the size that they are resized to, if they are, and when."""
    choices = []
    if found.size is not None:
        why = f"the images have {found.sizes} sizes" if found.sizes > 1 else f"larger than {found.size} pixels"
        words = f"{why}; all become {found.size} x {found.size}, proportions kept, the middle cropped"
        choices.append(Choice({"data.size": found.size, "data.resize": "crop"}, words))
    if found.frozen:
        choices.append(Choice({"data.memory_gb": 0.0}, "images are read when their features are computed"))
    return choices


def takes_unlabeled(values: Mapping[str, Any]) -> bool:
    """Whether the method of an unchecked recipe also learns from samples without a label."""
    method = values.get("method")
    name = method.get("name") if isinstance(method, Mapping) else method
    return str(name) in members("methods") and method_named(str(name)).unlabeled


def show_choices(data: str, found: Look, choices: Sequence[Choice], changes: Sequence[str], recipe: str | None) -> None:
    """Print what is in the data, and what was chosen for them."""
    facts, shape = found.facts, shape_words(found.facts.shape)
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
    if lines := [line for choice in choices for line in as_changes(choice, given)]:
        echo("Chosen from the data (KEY=VALUE changes any of it):")
        echo("\n".join(lines))
    echo()


def as_changes(choice: Choice, given: Sequence[str]) -> list[str]:
    """A choice as it would be typed, and why; without what the user chose."""
    mine = {key: value for key, value in choice.values.items() if key not in given}
    if not mine or any(key.endswith("name") for key in choice.values.keys() - mine.keys()):  # its options went with it
        return []
    words = [f"{key}={value if isinstance(value, str) else inline(plain(value))}" for key, value in mine.items()]
    return [f"  {shlex.join(words)}  # {choice.why}"]
