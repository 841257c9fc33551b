"""Names and counts in messages: find a member of a table by name, suggest the nearest, list some of many."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from reweigh.errors import RecipeError

T = TypeVar("T")


def lookup(table: Mapping[str, T], name: str, kind: str) -> T:
    """The member of ``table`` called ``name``.

    Args:
        kind: What the members are, in messages ("engine", "method").

    Raises:
        RecipeError: No member has that name; the message lists all names and suggests the nearest.
    """
    if name not in table:
        raise RecipeError(f"no {kind} named {name!r}; there are: {', '.join(sorted(table))}.{suggestion(name, table)}")
    return table[name]


def suggestion(name: str, names: Iterable[str]) -> str:
    """A sentence that suggests the nearest of ``names``, in upper or lower case; empty if none is near."""
    known = {each.casefold(): each for each in names}
    near = get_close_matches(str(name).casefold(), list(known), n=1)
    return f" Did you mean {known[near[0]]!r}?" if near else ""


def listed(items: Iterable[object], most: int = 5) -> str:
    """The first few items, and the number of the others."""
    names = [str(item) for item in items]
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def plural(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun: "1 sample", "1,204 samples", "3 classes"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
