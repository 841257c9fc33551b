"""Change a recipe from the command line: ``optimizer.lr=0.05``, ``data.bias.0.rate=0.2``, ``method.name=erm``."""

import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from reweigh.errors import ReweighError
from reweigh.recipes.mistakes import Mistake, shown
from reweigh.recipes.options import options_of
from reweigh.recipes.schema import SECTIONS, Slot
from reweigh.recipes.tables import member


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
    except tomllib.TOMLDecodeError:
        return text
    return table["value"] if len(table) == 1 else text


def put(values: dict[str, Any], path: list[str], value: Any) -> list[Mistake]:
    """Set the item at ``path``, making tables on the way."""
    here: Any = values
    for depth, step in enumerate(path):
        where, last = ".".join(path[: depth + 1]), depth == len(path) - 1
        if isinstance(here, list):
            if not step.isdecimal() or int(step) >= len(here):
                allowed = f"0 to {len(here) - 1}" if here else "none, the list is empty"
                return [Mistake(where, f"got item {step!r} of a list of {len(here)}; allowed: {allowed}")]
            key: Any = int(step)
        elif isinstance(here, dict):
            key = step
            if not last:
                here.setdefault(step, {})
        else:
            return [Mistake(where, f"{'.'.join(path[:depth])} is {shown(here)}, not a table")]
        if not last:
            here = here[key]
        elif step == "name" and isinstance(here, dict):
            choose(here, value, slot_at(path[:-1]))
        else:
            here[key] = value
    return []


def choose(table: dict[str, Any], name: Any, slot: Slot | None) -> None:
    """Name another member, and keep those options that it has too; of a member from elsewhere none are known."""
    if slot and table.get("name") != name and isinstance(name, str):
        with suppress(ReweighError):  # a wrong name, which the check will tell
            known = {"name", *slot.slots, *options_of(member(slot.table, name), slot.adds).model_fields}
            for key in table.keys() - known:
                del table[key]
    table["name"] = name


def slot_at(path: list[str]) -> Slot | None:
    """Which choice a path of the recipe is."""
    slots: Mapping[str, Slot] = SECTIONS
    slot = None
    for step in path:
        if slot is not None and slot.many and step.isdecimal():
            continue
        slot = slots.get(step)
        if slot is None:
            return None
        slots = slot.slots
    return slot
