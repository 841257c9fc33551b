"""Write a checked recipe as TOML; read again it gives the same run."""

import json
import re
from typing import Any

from reweigh.recipes.recipe import Part, Recipe
from reweigh.recipes.schema import SECTIONS, Slot


def to_toml(recipe: Recipe) -> str:
    """The recipe with every default spelled out; an option that is None is left away, TOML has no word for it."""
    import tomli_w

    return tomli_w.dumps(to_values(recipe))


def to_values(recipe: Recipe) -> dict[str, Any]:
    """The recipe as tables, lists, numbers and strings."""
    values = {key: _part(getattr(recipe, key), slot) for key, slot in SECTIONS.items()}
    return {**values, "train": plain(dict(recipe.train))}


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
