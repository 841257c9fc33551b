"""Names and counts in messages: find a member of a table by name, suggest the nearest, list some of many."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from reweigh.errors import RecipeError

T = TypeVar("T")
MAX_LISTED_NAMES = 15  # of a longer table, a message has the nearest three


def lookup(table: Mapping[str, T], name: str, kind: str) -> T:
    """The member of ``table`` called ``name``.

    Args:
        kind: What the members are, in messages ("engine", "method").

    Raises:
        RecipeError: No member has that name; the message suggests the nearest, and lists all names or says what does.
    """
    if name in table:
        return table[name]
    if len(table) <= MAX_LISTED_NAMES:
        raise RecipeError(f"no {kind} named {name!r}; there are: {', '.join(sorted(table))}.{suggestion(name, table)}")
    first, second, third = (repr(each) for each in nearest(name, table, 3, least=0.0))
    raise RecipeError(
        f"no {kind} named {name!r}. Did you mean {first}, {second} or {third}? To see all {len(table)}: reweigh list "
        f"{kind}s"
    )


def nearest(name: str, names: Iterable[str], count: int, least: float = 0.6) -> list[str]:
    """Those of ``names`` that are most like ``name``, in upper or lower case, the nearest first.

    Names that begin with ``name`` come before names that are spelled alike.

    Examples:
        >>> nearest("cmw", ["mcw", "cmw-net", "cmw-net-sl"], 3)
        ['cmw-net', 'cmw-net-sl', 'mcw']

    Args:
        count: How many at most.
        least: How much alike a name must be, from 0 to 1.
    """
    known = {each.casefold(): each for each in names}
    wanted = str(name).casefold()
    longer = sorted((each for each in known if wanted and each.startswith(wanted)), key=len)
    alike = get_close_matches(wanted, list(known), n=count, cutoff=least)
    return [known[each] for each in dict.fromkeys([*longer, *alike])][:count]


def suggestion(name: str, names: Iterable[str]) -> str:
    """A sentence that suggests the nearest of ``names``; empty if none is near."""
    near = nearest(name, names, 1)
    return f" Did you mean {near[0]!r}?" if near else ""


def listed(items: Iterable[object], most: int = 5) -> str:
    """The first few items, and the number of the others."""
    names = [str(item) for item in items]
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def plural(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun: "1 sample", "1,204 samples", "3 classes"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
