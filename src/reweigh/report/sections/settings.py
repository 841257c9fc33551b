"""Section: what the setting that differs between runs is worth, in accuracy and in time."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from reweigh.plan.toml import to_values
from reweigh.report.content import Plot, Section
from reweigh.report.figures import plot_settings
from reweigh.runs.account import Account
from reweigh.runs.words import duration, in_words, number

MOST = 2  # settings that still make a name
LEAD = (
    "Runs are grouped by the settings in which they differ. Runs that differ only in the seed share a group, and a "
    "line shows their mean. Time is the training time on the computer of each run."
)
UNIMPORTANT = ("train.seed", "train.num_threads", "train.device")


def settings(accounts: Sequence[Account]) -> Section | None:
    """Accuracy and time by setting; None for one run, or if no setting differs."""
    named = names([to_values(account.recipe) for account in accounts])
    if len(set(named)) < 2:
        return None
    plots = []
    tests = [name for account in accounts for name in account.tests[:1]]
    if tests:
        accuracy = [100 * account.kept.get(tests[0], math.nan) for account in accounts]
        plots.append(plot(named, accuracy, f"{in_words(tests[0])} on the test set, %"))
    plots.append(plot(named, [account.seconds / 60 for account in accounts], "training time, minutes"))
    return Section("What the settings are worth", LEAD, overlaid=[each for each in plots if each is not None])


def names(recipes: Sequence[Mapping[str, Any]]) -> list[str]:
    """What sets each recipe apart from the others: "every = 10"; the same for recipes that differ in the seed alone."""
    flat = [dict(flattened(recipe)) for recipe in recipes]
    keys = [key for key in dict.fromkeys(key for recipe in flat for key in recipe) if key not in UNIMPORTANT]
    telling = [key for key in keys if tells_apart(key, flat)]
    short = {key: key.split(".")[0 if key.endswith(".name") else -1] for key in telling}
    whole = [", ".join(f"{short[key]} = {recipe[key]}" for key in telling if key in recipe) for recipe in flat]
    brief = [", ".join(str(recipe[key]) for key in telling[:MOST] if key in recipe) + ", ..." for recipe in flat]
    found = brief if len(telling) > MOST and len(set(brief)) == len(set(whole)) else whole
    return [name or "default" for name in found]


def tells_apart(key: str, recipes: Sequence[Mapping[str, Any]]) -> bool:
    """Whether recipes differ there, and not only because another method, model and so on has other options."""
    member = key.partition(".")[0] + ".name"
    values: dict[Any, set[str]] = defaultdict(set)
    for recipe in recipes:
        values[None if key == member else recipe.get(member)].add(repr(recipe.get(key)))
    return any(len(each) > 1 for each in values.values())


def flattened(values: Any, path: str = "") -> Any:
    """Each leaf of tables and lists with its dotted path."""
    if isinstance(values, Mapping | list):
        for key, value in values.items() if isinstance(values, Mapping) else enumerate(values):
            yield from flattened(value, f"{path}.{key}" if path else str(key))
    else:
        yield path, values


def plot(named: Sequence[str], values: Sequence[float], what: str) -> Plot | None:
    """One number by setting; None if it is unknown."""
    groups: dict[str, list[float]] = defaultdict(list)
    for name, value in zip(named, values, strict=True):
        if math.isfinite(value):
            groups[name].append(value)
    if not groups:
        return None
    ordered = dict(sorted(groups.items(), key=lambda item: natural(item[0])))
    said = "; ".join(f"{name}: {shown(each, what)}" for name, each in ordered.items())
    return Plot(plot_settings(ordered, what), f"All runs: {what}", f"{what.capitalize()} by setting. {said}.")


def shown(values: Sequence[float], what: str) -> str:
    mean = sum(values) / len(values)
    return duration(60 * mean) if what.endswith("minutes") else number(mean)


def natural(name: str) -> list[Any]:
    """A key by which "every = 2" comes before "every = 10"."""
    return [(0, float(word), "") if word.replace(".", "", 1).isdigit() else (1, 0.0, word) for word in name.split()]
