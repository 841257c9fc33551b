"""Change the values of a plan before it is checked; a replaced part hands on the options that mean the same."""

from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from typing import Any

from reweigh.errors import ReweighError
from reweigh.plan.mistakes import Mistake, shown
from reweigh.plan.options import options_of
from reweigh.plan.schema import SECTIONS, Slot
from reweigh.plan.tables import member


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
            owner = ".".join(path[:depth])
            named = f"; write {owner}.name={here}" if isinstance(here, str) else ""
            return [Mistake(where, f"{owner} is {shown(here)}, not a table{named}")]
        if not last:
            here = here[key]
        elif step == "name" and isinstance(here, dict):
            rename(here, value, slot_at(path[:-1]))
        else:
            here[key] = value
    return []


def rename(table: dict[str, Any], name: Any, slot: Slot | None) -> None:
    """Choose another member, and keep the options that mean the same to it.

    An option is kept if both members declare it with the same default: ``every`` of two methods that learn weights, but
    not the ``every`` of one that was published with another value, nor the learning rate of another optimizer. A member
    from outside keeps none, because what it accepts is not known.
    """
    if slot and table.get("name") != name and isinstance(name, str):
        with suppress(ReweighError):  # a wrong name, which the check reports
            new = _defaults(name, slot)
            old = _defaults(table["name"], slot) if isinstance(table.get("name"), str) else new
            alike = {key for key, default in new.items() if key in old and old[key] == default}
            for key in table.keys() - {"name", *slot.slots} - alike:
                del table[key]
    table["name"] = name


def _defaults(name: str, slot: Slot) -> dict[str, Any]:
    """The default of each option of a member; ``PydanticUndefined`` if it must be given."""
    fields = options_of(member(slot.table, name), slot.adds).model_fields
    return {key: field.default for key, field in fields.items()}


def slot_at(path: list[str]) -> Slot | None:
    """The slot at a path of the recipe."""
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


def merge(values: dict[str, Any], changes: Mapping[str, Any], path: tuple[str, ...] = ()) -> None:
    """Put the leaves of ``changes`` into ``values``, table by table.

    A table that names another part keeps of the options there those that mean the same to it; see ``rename``.

    Args:
        path: Where ``values`` are in the recipe.
    """
    for key, value in changes.items():
        here = (*path, key)
        if isinstance(value, Mapping) and isinstance(values.get(key), dict):
            if "name" in value:
                rename(values[key], value["name"], slot_at(list(here)))
            merge(values[key], value, here)
        else:
            values[key] = deepcopy(value)
