"""The same recipe with another method, as ``reweigh compare`` needs it."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from reweigh.recipes.overrides import choose
from reweigh.recipes.read import Contents
from reweigh.recipes.schema import SECTIONS


def for_method(contents: Contents, method: str) -> Contents:
    """The recipe with ``method``, and with what its section ``[compare.METHOD]`` says for it.

    The method keeps those of the written options that it has too; everything else stays the same, unless the section
    gives the method its own, such as a learning rate that suits it.
    """
    values = deepcopy(dict(contents.values))
    own = values.pop("compare", {})
    own = own.get(method, {}) if isinstance(own, dict) else {}
    if isinstance(values.get("method"), dict):
        choose(values["method"], method, SECTIONS["method"])
    merge(values, own)
    return Contents(f"{contents.source} with {method}", values, contents.mistakes)


def merge(values: dict[str, Any], changes: Mapping[str, Any]) -> None:
    """Put the leaves of ``changes`` into ``values``, table by table."""
    for key, value in changes.items():
        if isinstance(value, Mapping) and isinstance(values.get(key), dict):
            merge(values[key], value)
        else:
            values[key] = deepcopy(value)
