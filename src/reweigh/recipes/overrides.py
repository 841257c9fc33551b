"""Change a recipe from the command line: ``optimizer.lr=0.05``, ``data.bias.0.rate=0.2``, ``method.name=erm``."""

import tomllib
from collections.abc import Iterable
from typing import Any

from reweigh.plan.edit import put
from reweigh.plan.mistakes import Mistake


def apply(overrides: Iterable[str], values: dict[str, Any]) -> list[Mistake]:
    """Put each ``key=value`` into ``values``; return what could not be applied.

    A key is a dotted path, with a number for an item of a list. A value is read as TOML, or else is a string.
    Names come first: another ``method.name`` chooses another method, and keeps of the written options those that
    it has too; options given as overrides are always kept, and checked.
    """
    mistakes = []
    for override in sorted(overrides, key=lambda text: not text.partition("=")[0].endswith("name")):
        key, equals, text = override.partition("=")
        if not equals or not all(key.split(".")):
            mistakes.append(Mistake(f"override {override!r}", "should be key=value, such as optimizer.lr=0.05"))
            continue
        mistakes += put(values, key.split("."), parse(text))
    return mistakes


def parse(text: str) -> Any:
    """A value of TOML; what is not TOML is a string, so that names need no quotes."""
    try:
        table = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    return table["value"] if len(table) == 1 else text
