"""Find a member of a table by its name, and say what there is when the name is wrong."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from reweigh.errors import RecipeError

T = TypeVar("T")


def lookup(table: Mapping[str, T], name: str, kind: str) -> T:
    """The member of ``table`` called ``name``.

    Args:
        kind: what the members are, for the message ("engine", "method").

    Raises:
        RecipeError: there is none of that name; the message lists all and suggests the nearest.
    """
    if name not in table:
        raise RecipeError(f"no {kind} named {name!r}; there are: {', '.join(sorted(table))}.{suggestion(name, table)}")
    return table[name]


def suggestion(name: str, names: Iterable[str]) -> str:
    """A sentence with the nearest of ``names``, or nothing if none is near."""
    near = get_close_matches(str(name), list(names), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
