"""The values of a plan: changed before they are checked, and written as TOML; read again they give the same plan."""

import json
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from typing import Any

from reweigh.errors import RecipeError, ReweighError
from reweigh.plan import Part, Plan
from reweigh.plan.check import Mistake, examine, raise_all, shown
from reweigh.plan.plan import SECTIONS, Slot, member, options_of


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
            old = new = _defaults(name, slot)
            with suppress(ReweighError):
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
    """
    for key, value in changes.items():
        here = (*path, key)
        if isinstance(value, Mapping) and isinstance(values.get(key), dict):
            if "name" in value:
                rename(values[key], value["name"], slot_at(list(here)))
            merge(values[key], value, here)
        else:
            values[key] = deepcopy(value)


def to_toml(plan: Plan) -> str:
    """The plan as a recipe, with every default spelled out; an option that is None is omitted, TOML has no null."""
    import tomli_w

    return tomli_w.dumps(to_values(plan))


def from_toml(text: str, what: str) -> Plan:
    """The plan of a recipe."""
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise RecipeError(f"recipe {what}: not a TOML file: {error}") from error
    plan, mistakes = examine(values)
    raise_all(mistakes, f"recipe {what}")
    assert plan is not None
    return plan


def to_values(plan: Plan) -> dict[str, Any]:
    """The plan as tables, lists, numbers and strings."""
    values: dict[str, Any] = {}
    for key, slot in SECTIONS.items():
        chosen = getattr(plan, key)
        if slot.many:
            values[key] = [_part(part, slot) for part in chosen]
        elif chosen is not None:
            values[key] = _part(chosen, slot)
    values["train"] = plain(dict(plan.train))
    return values


def _part(part: Part, slot: Slot) -> dict[str, Any]:
    table = {"name": part.name, **plain(dict(part.options)), **plain(dict(part.added))}
    for key, inner in slot.slots.items():
        items = [_part(item, inner) for item in part.parts[key]]
        if items or not inner.optional:
            table[key] = items if inner.many else items[0]
    return table


def plain(value: Any) -> Any:
    """A value as TOML can hold it."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return value if isinstance(value, bool | int | float | str) else str(value)


def inline(value: Any) -> str:
    """A plain value as TOML on one line, as an override takes it."""
    if isinstance(value, dict):
        keys = (key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False) for key in value)
        return "{" + ", ".join(f"{key} = {inline(item)}" for key, item in zip(keys, value.values(), strict=True)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
