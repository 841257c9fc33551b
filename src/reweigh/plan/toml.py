"""A plan as TOML; read again it gives the same plan."""

import json
import re
import tomllib
from typing import Any

from reweigh.errors import RecipeError
from reweigh.plan import Part, Plan
from reweigh.plan.check import examine
from reweigh.plan.mistakes import raise_all
from reweigh.plan.schema import SECTIONS, Slot


def to_toml(plan: Plan) -> str:
    """The plan as a recipe, with every default spelled out; an option that is None is omitted, TOML has no null."""
    import tomli_w

    return tomli_w.dumps(to_values(plan))


def from_toml(text: str, what: str) -> Plan:
    """The plan of a recipe.

    Args:
        what: Name of the recipe in the message.

    Raises:
        RecipeError: It is not TOML, or has mistakes; all are listed.
    """
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
        return "{" + ", ".join(f"{_key(key)} = {inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)
