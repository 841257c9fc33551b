"""The same recipe with another method or another bias, as ``reweigh compare`` needs it."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from reweigh.plan.edit import merge, rename
from reweigh.plan.schema import SECTIONS
from reweigh.recipes.read import Contents


def for_method(contents: Contents, method: str) -> Contents:
    """The recipe with ``method``, and with what its section ``[compare.METHOD]`` says for it.

    The method keeps those of the written options that it has too; everything else stays the same, unless the section
    gives the method its own, such as a learning rate that suits it.
    """
    values = deepcopy(dict(contents.values))
    own = values.pop("compare", {})
    own = own.get(method, {}) if isinstance(own, dict) else {}
    if isinstance(values.get("method"), dict):
        rename(values["method"], method, SECTIONS["method"])
    merge(values, own)
    return Contents(f"{contents.source} with {method}", values, contents.mistakes)


def for_bias(contents: Contents, name: str, changes: Mapping[str, Any]) -> Contents:
    """The recipe with other biases; a correct recipe, so that only the biases can be wrong.

    A bias that the recipe has too keeps its other options there, such as the map of asymmetric noise.

    Args:
        name: what the biases are called, for messages.
        changes: what [data] gets for ``bias``, ``candidates`` and ``labeled``; a missing key means none.
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
    return Contents(f"{contents.source} with {name}", values, contents.mistakes)
