"""From a recipe to a checked plan, or to all of its mistakes; the same recipe with another method or bias."""

from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from typing import Any

from reweigh.errors import ReweighError
from reweigh.plan import Plan
from reweigh.plan.check import check_name, examine
from reweigh.plan.edit import merge, rename
from reweigh.plan.mistakes import Mistake, raise_all, shown
from reweigh.plan.schema import SECTIONS
from reweigh.plan.tables import method_named, options_of
from reweigh.recipes.read import Contents


def check(contents: Contents) -> Plan:
    """The plan that a recipe describes. Nothing is built and no data are read.

    Raises:
        RecipeError: Lists every mistake, those of the overrides included.
    """
    plan, mistakes = examine(contents.values)
    raise_all([*contents.mistakes, *mistakes, *_check_compare(contents, mistakes)], f"recipe {contents.source}")
    assert plan is not None
    return plan


def _check_compare(contents: Contents, known: list[Mistake]) -> list[Mistake]:
    """What the sections ``[compare.METHOD]`` add to the mistakes of the recipe itself."""
    compare = contents.values.get("compare", {})
    if not isinstance(compare, Mapping):
        return [Mistake("compare", f"got {shown(compare)}; should be tables named after methods")]
    mistakes = []
    for method, own in compare.items():
        wrong_name = check_name(method, f"compare.{method}", "methods")
        if wrong_name:
            mistakes += wrong_name
        elif not isinstance(own, Mapping):
            mistakes.append(Mistake(f"compare.{method}", f"got {shown(own)}; should be a table of sections"))
        else:
            _, found = examine(for_method(contents, method).values)
            mistakes += [Mistake(f"compare.{method}.{path}", text) for path, text in found if (path, text) not in known]
    return mistakes


def for_method(contents: Contents, method: str) -> Contents:
    """The recipe with ``method``, and with the settings in its section ``[compare.METHOD]``.

    The method keeps those of the written options that mean the same to it, and every option that was typed as an
    override and that it has; everything else stays the same, unless the section gives the method its own, such as a
    learning rate that suits it.
    """
    values = deepcopy(dict(contents.values))
    own = values.pop("compare", {})
    own = own.get(method, {}) if isinstance(own, dict) else {}
    if isinstance(values.get("method"), dict):
        typed = {text.partition("=")[0].removeprefix("method.") for text in contents.overrides}
        asked = {key: values["method"][key] for key in typed & known_options(method) & values["method"].keys()}
        rename(values["method"], method, SECTIONS["method"])
        values["method"] |= asked
    merge(values, own)
    return contents._replace(source=f"{contents.source} with {method}", values=values)


def known_options(method: str) -> set[str]:
    """The names of the options of a method; none if there is no such method."""
    with suppress(ReweighError):
        return set(options_of(method_named(method)).model_fields)
    return set()


def for_bias(contents: Contents, name: str, changes: Mapping[str, Any]) -> Contents:
    """The recipe with other biases; a correct recipe, so that only the biases can be wrong.

    A bias that the recipe has too keeps its other options there, such as the map of asymmetric noise.

    Args:
        name: What the biases are called, for messages.
        changes: What [data] gets for ``bias``, ``candidates`` and ``labeled``; a missing key means none.
    """
    values = deepcopy(dict(contents.values))
    data = values["data"]
    written = {bias["name"]: bias for bias in data.get("bias", [])}
    data["bias"] = [{**written.get(bias["name"], {}), **bias} for bias in changes.get("bias", [])]
    rule = {"name": "independent", **data.pop("candidates", {})}
    if "candidates" in changes:
        data["candidates"] = {**rule, **changes["candidates"]}
    data.pop("labeled", None)
    if "labeled" in changes:
        data["labeled"] = changes["labeled"]
    return contents._replace(source=f"{contents.source} with {name}", values=values)
