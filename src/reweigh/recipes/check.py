"""From the contents of a recipe file to a checked recipe, or to all of its mistakes."""

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

from reweigh.errors import ReweighError
from reweigh.recipes.mistakes import Mistake, check_options, raise_all, shown, unknown_key
from reweigh.recipes.options import Options, options_of, supplied_to
from reweigh.recipes.read import Contents
from reweigh.recipes.recipe import Part, Recipe
from reweigh.recipes.schema import SECTIONS, Slot, TrainOptions
from reweigh.recipes.tables import TABLES, member, members
from reweigh.recipes.variants import for_method


def check(contents: Contents) -> Recipe:
    """The recipe that ``contents`` describe; nothing is built and no data is read.

    Raises:
        RecipeError: lists every mistake, those of the overrides included.
    """
    recipe, mistakes = examine(contents.values)
    raise_all([*contents.mistakes, *mistakes, *_check_compare(contents, mistakes)], f"recipe {contents.source}")
    assert recipe is not None
    return recipe


def examine(values: Mapping[str, Any]) -> tuple[Recipe | None, list[Mistake]]:
    """The recipe, or None and all its mistakes."""
    mistakes: list[Mistake] = []
    known = [*SECTIONS, "train", "compare"]
    for key in values:
        if key not in known:
            mistakes.append(unknown_key("", key, known, "a recipe has no such section;", values[key]))
    parts = {}
    for key, slot in SECTIONS.items():
        chosen, found = check_slot(values.get(key, slot.default), key, slot)
        mistakes += found
        parts[key] = chosen
    train, found = _check_train(values.get("train"))
    mistakes += found
    if mistakes:
        return None, mistakes
    sections = {key: chosen[0] for key, chosen in parts.items()}
    recipe = Recipe(train=train, **sections)
    if recipe.own_loss and recipe.loss.name != SECTIONS["loss"].default["name"]:
        text = f"got {recipe.loss.name!r}, but the method {recipe.method.name} brings a loss of its own"
        return None, [Mistake("loss.name", f"{text}; leave [loss] away and set the options in [method]")]
    return recipe, []


def _check_compare(contents: Contents, known: list[Mistake]) -> list[Mistake]:
    """What the sections ``[compare.METHOD]`` add to the mistakes of the recipe itself."""
    compare = contents.values.get("compare", {})
    if not isinstance(compare, Mapping):
        return [Mistake("compare", f"got {shown(compare)}; should be tables named after methods")]
    mistakes = []
    for method, own in compare.items():
        wrong_name = _check_name(method, f"compare.{method}", "methods")
        if wrong_name:
            mistakes += wrong_name
        elif not isinstance(own, Mapping):
            mistakes.append(Mistake(f"compare.{method}", f"got {shown(own)}; should be a table of sections"))
        else:
            _, found = examine(for_method(contents, method).values)
            mistakes += [Mistake(f"compare.{method}.{path}", text) for path, text in found if (path, text) not in known]
    return mistakes


def _check_train(raw: Any) -> tuple[Mapping[str, Any], list[Mistake]]:
    model = options_of(resolve_name("reweigh.training:train"), TrainOptions)
    if not isinstance(raw, Mapping):
        return {}, [Mistake("train", f"{_got(raw)}; should be a table of options: {', '.join(model.model_fields)}")]
    options, mistakes = check_options(model, raw, "train", "[train]")
    return _values(options) if options else {}, mistakes


def check_slot(raw: Any, path: str, slot: Slot) -> tuple[tuple[Part, ...], list[Mistake]]:
    """The choices made at one place, and all that is wrong with them; a place for one choice gives a tuple of one.

    An optional place where nothing is chosen gives an empty one.

    Args:
        path: how the mistakes call the place.
    """
    if slot.optional and raw is None:
        return (), []
    if not slot.many:
        part, mistakes = _check_part(raw, path, slot)
        return ((part,) if part else ()), mistakes
    if not isinstance(raw, list):
        return (), [Mistake(path, f"got {shown(raw)}; should be a list of tables, each with a name")]
    results = [_check_part(item, f"{path}.{place}", slot) for place, item in enumerate(raw)]
    return tuple(part for part, _ in results if part), [mistake for _, found in results for mistake in found]


def _check_part(raw: Any, path: str, slot: Slot) -> tuple[Part | None, list[Mistake]]:
    if not isinstance(raw, Mapping):
        names = ", ".join(sorted(members(slot.table)))
        wanted = f"a table with the name of a {TABLES[slot.table].kind}: {names}"
        return None, [Mistake(path, f"{_got(raw)}; should be {wanted}")]
    parts: dict[str, tuple[Part, ...]] = {}
    mistakes: list[Mistake] = []
    for key, inner in slot.slots.items():
        parts[key], found = check_slot(raw.get(key, inner.default), f"{path}.{key}", inner)
        mistakes += found
    name = raw.get("name")
    wrong_name = _check_name(name, f"{path}.name", slot.table)
    if wrong_name:  # whose options the rest should be, nobody knows
        return None, wrong_name + mistakes
    given = {key: value for key, value in raw.items() if key != "name" and key not in slot.slots}
    chosen = member(slot.table, str(name))
    options, found = check_options(options_of(chosen, slot.adds), given, path, str(name))
    if options and options.model_extra:
        taken = options.model_extra.keys() & set(supplied_to(chosen))
        found += [
            Mistake(f"{path}.{key}", f"comes from the data, {name} gets it anyway; leave it away") for key in taken
        ]
    mistakes = found + mistakes
    if options is None or mistakes:
        return None, mistakes
    values = _values(options)
    added = {key: values.pop(key) for key in slot.adds.model_fields}
    return Part(slot.table, str(name), values, added, parts), []


def _check_name(name: Any, path: str, table: str) -> list[Mistake]:
    if isinstance(name, str):
        try:
            member(table, name)
        except ReweighError as error:
            return [Mistake(path, str(error))]
        return []
    names = members(table)
    return [Mistake(path, f"{_got(name)}; should be the name of a {TABLES[table].kind}: {', '.join(sorted(names))}")]


def _values(options: Options) -> dict[str, Any]:
    return {key: getattr(options, key) for key in type(options).model_fields} | (options.model_extra or {})


def _got(raw: Any) -> str:
    return "missing" if raw is None else f"got {shown(raw)}"
