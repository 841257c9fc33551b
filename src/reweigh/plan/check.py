"""From the values of a plan, as nested dicts, to the checked plan, or to all of its mistakes."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from pkgutil import resolve_name
from typing import Any

from reweigh.errors import ReweighError
from reweigh.plan.edit import scaled
from reweigh.plan.mistakes import Mistake, check_options, shown, unknown_key
from reweigh.plan.plan import Part, Plan
from reweigh.plan.schema import SECTIONS, Slot, TrainOptions
from reweigh.plan.tables import TABLES, Options, member, members, method_named, options_of, supplied_to

TRAIN_DEFAULTS = {"judge": 0.0, "prior": False, "looks": 10}  # where neither the recipe nor the method says more
MIN_FOLD = 0.1  # smallest share of the samples that judges two looks; each fold costs a training


def examine(values: Mapping[str, Any], passed: Collection[str] = ()) -> tuple[Plan | None, list[Mistake]]:
    """The plan, or None and all its mistakes. Nothing is built and no data are read.

    Args:
        values: Sections of the plan by name, each a table, as a recipe has them.
        passed: Sections that are None in the plan because the caller passes their objects to the fit: "data", "model".
    """
    mistakes: list[Mistake] = []
    known = [*SECTIONS, "train", "compare"]
    for key in values:
        if key in known:
            continue
        if home := _section_with(key, values):
            mistakes.append(Mistake(key, f"a recipe has no such section; did you mean {home}.{key}={values[key]}?"))
        else:
            mistakes.append(unknown_key("", key, known, "a recipe has no such section;", values[key]))
    sections: dict[str, Any] = {}
    for key, slot in SECTIONS.items():
        if key in passed:
            sections[key] = None
            continue
        chosen, found = check_slot(values.get(key, slot.default), key, slot)
        mistakes += found
        sections[key] = chosen if slot.many else chosen[0] if chosen else None
    train, found = _check_train(values.get("train"))
    mistakes += found
    if mistakes:
        return None, mistakes
    if sections["features"] is not None and sections["features"].name == "none":
        sections["features"] = None
    plan = Plan(train=train, **sections)
    if plan.own_loss and plan.loss.name != SECTIONS["loss"].default["name"]:
        text = f"got {plan.loss.name!r}, but the method {plan.method.name} brings a loss of its own"
        return None, [Mistake("loss.name", f"{text}; remove [loss] and set the options in [method]")]
    defaults = {**TRAIN_DEFAULTS, **method_named(plan.method.name).train_defaults}
    train = {key: defaults.get(key) if value is None else value for key, value in train.items()}
    if plan.method.name == "two-looks" and (train["judge"] or 0) < MIN_FOLD:
        text = f"got {train['judge']}, but the method two-looks judges its looks by held-out samples"
        return None, [Mistake("train.judge", f"{text}; should be from {MIN_FOLD} to 0.5, or choose another method")]
    if plan.method.name == "two-looks" and train["branch"] is not None:
        text = f"got {train['branch']}, but the method two-looks trains two times"
        return None, [Mistake("train.branch", f"{text}; branch with a method that continues one training")]
    plan, mistakes = scaled(replace(plan, train=train))
    return (None if mistakes else plan), mistakes


def _section_with(key: str, values: Mapping[str, Any]) -> str | None:
    """The section that has an option of this name; None if none has."""
    options = {"train": _train_options()}
    for section, slot in SECTIONS.items():
        chosen = values.get(section, slot.default)
        with suppress(ReweighError):  # a wrong name, which is reported elsewhere
            name = chosen.get("name") if isinstance(chosen, Mapping) else None
            options[section] = options_of(member(slot.table, str(name)), slot.adds)
    return next((section for section, model in options.items() if key in model.model_fields), None)


def _train_options() -> type[Options]:
    return options_of(resolve_name("reweigh.training:train"), TrainOptions)


def _check_train(raw: Any) -> tuple[Mapping[str, Any], list[Mistake]]:
    model = _train_options()
    if not isinstance(raw, Mapping):
        return {}, [Mistake("train", f"{_got(raw)}; should be a table of options: {', '.join(model.model_fields)}")]
    options, mistakes = check_options(model, raw, "train", "[train]")
    return _values(options) if options else {}, mistakes


def check_slot(raw: Any, path: str, slot: Slot) -> tuple[tuple[Part, ...], list[Mistake]]:
    """The parts chosen in a slot, and all mistakes in them; a slot for one choice gives a tuple of one.

    An optional slot in which nothing is chosen gives an empty tuple.

    Args:
        path: Name of the slot in the mistakes.
    """
    if slot.optional and raw is None:
        return (), []
    if not slot.many:
        part, mistakes = _check_part(raw, path, slot)
        return ((part,) if part else ()), mistakes
    if not isinstance(raw, list):
        wanted = f'a list of tables, each with a name, such as [{{name="{next(iter(members(slot.table)))}"}}]'
        return (), [Mistake(path, f"got {shown(raw)}; should be {wanted}")]
    results = [_check_part(item, f"{path}.{place}", slot) for place, item in enumerate(raw)]
    return tuple(part for part, _ in results if part), [mistake for _, found in results for mistake in found]


def _check_part(raw: Any, path: str, slot: Slot) -> tuple[Part | None, list[Mistake]]:
    if slot.short and isinstance(raw, str):
        raw = {"name": raw}
    if not isinstance(raw, Mapping):
        names = ", ".join(sorted(members(slot.table)))
        wanted = f"a table with the name of the {TABLES[slot.table].kind}: {names}"
        remedy = f"; write {path}.name={raw}" if isinstance(raw, str) else ""
        return None, [Mistake(path, f"{_got(raw)}; should be {wanted}{remedy}")]
    parts: dict[str, tuple[Part, ...]] = {}
    mistakes: list[Mistake] = []
    for key, inner in slot.slots.items():
        parts[key], found = check_slot(raw.get(key, inner.default), f"{path}.{key}", inner)
        mistakes += found
    name = raw.get("name")
    wrong_name = check_name(name, f"{path}.name", slot.table)
    if wrong_name:  # the other keys cannot be checked without it
        return None, wrong_name + mistakes
    given = {key: value for key, value in raw.items() if key != "name" and key not in slot.slots}
    chosen = member(slot.table, str(name))
    options, found = check_options(options_of(chosen, slot.adds), given, path, str(name), ["name", *slot.slots])
    if options and options.model_extra:
        taken = options.model_extra.keys() & set(supplied_to(chosen))
        found += [Mistake(f"{path}.{key}", "comes from the data; remove it") for key in taken]
    mistakes = found + mistakes
    if options is None or mistakes:
        return None, mistakes
    values = _values(options)
    added = {key: values.pop(key) for key in slot.adds.model_fields}
    return Part(slot.table, str(name), values, added, parts), []


def check_name(name: Any, path: str, table: str) -> list[Mistake]:
    if isinstance(name, str):
        try:
            member(table, name)
        except ReweighError as error:
            return [Mistake(path, str(error))]
        return []
    names = members(table)
    return [Mistake(path, f"{_got(name)}; should be the name of the {TABLES[table].kind}: {', '.join(sorted(names))}")]


def _values(options: Options) -> dict[str, Any]:
    return {key: getattr(options, key) for key in type(options).model_fields} | (options.model_extra or {})


def _got(raw: Any) -> str:
    return "missing" if raw is None else f"got {shown(raw)}"
