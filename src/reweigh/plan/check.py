"""From the values of a plan, as nested dicts, to the checked plan, or to all of its mistakes in one message."""

import inspect
import json
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import astuple, replace
from pkgutil import resolve_name
from typing import Any, NamedTuple, get_args

from annotated_types import Ge, Gt, Le, Lt
from pydantic import ValidationError

from reweigh.errors import RecipeError, ReweighError
from reweigh.names import plural, suggestion
from reweigh.plan.plan import (
    SECTIONS,
    TABLES,
    Options,
    Part,
    Plan,
    Slot,
    TrainOptions,
    member,
    members,
    method_named,
    options_of,
)

_LIMITS: dict[type, str] = {Ge: "at least", Gt: "above", Le: "at most", Lt: "below"}
_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}


class Mistake(NamedTuple):
    """One mistake: where it is, what was given, what is allowed, and the nearest remedy."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


def shown(value: Any) -> str:
    """A value as a recipe would write it, cut to a readable length."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def unknown_key(
    path: str, key: str, known: Iterable[str], problem: str, got: Any, beside: Iterable[str] = ()
) -> Mistake:
    """A key that nothing reads; ``beside`` are keys that are not listed, but may be meant."""
    names = sorted(known)
    there_are = f"there are: {', '.join(names)}" if names else "it has none"
    text = f"{problem} {there_are}; got {shown(got)}.{suggestion(key, [*names, *beside])}"
    return Mistake(f"{path}.{key}" if path else key, text)


def check_options(
    model: type[Options], raw: Mapping[str, Any], path: str, owner: str, beside: Iterable[str] = ()
) -> tuple[Options | None, list[Mistake]]:
    """The checked options, or None and every mistake in them.

    Checked as JSON: strict about types, yet an array is a tuple and a whole number is a number, as in TOML.

    Args:
        owner: whose options they are, for the message about an unknown key.
    """
    try:
        return model.model_validate_json(json.dumps(raw, default=str)), []
    except ValidationError as error:
        return None, _translate(error, model, raw, path, owner, list(beside))


def _translate(
    error: ValidationError, model: type[Options], raw: Any, path: str, owner: str, beside: list[str]
) -> list[Mistake]:
    mistakes: dict[str, Mistake] = {}
    for fault in error.errors(include_url=False):
        key, *rest = fault["loc"] or ("",)
        # Of the inner steps only list indices and keys are part of the recipe; the others name branches of a union.
        own = raw.get(key) if isinstance(raw, dict) else None
        keys = own if isinstance(own, dict) else ()
        where = ".".join([path, str(key), *(str(step) for step in rest if isinstance(step, int) or step in keys)])
        if fault["type"] == "extra_forbidden":
            text = f"{owner} has no option {key!r};"
            mistake = unknown_key(path, str(key), model.model_fields, text, fault["input"], beside)
            value = fault["input"]
            able = [name for name, field in model.model_fields.items() if value in get_args(field.annotation)]
            if isinstance(value, str) and len(able) == 1 and "Did you mean" not in mistake.text:  # by its value
                mistake = Mistake(mistake.path, f"{mistake.text} Did you mean {path}.{able[0]} = {value!r}?")
        elif fault["type"] == "missing":
            mistake = Mistake(where, f"missing; expected {expected(model, str(key))}")
        elif fault["type"] == "value_error":
            cause = fault.get("ctx", {}).get("error")
            mistake = Mistake(
                where, str(cause) if isinstance(cause, RecipeError) else _got_but(fault["input"], str(cause))
            )
        else:
            near = ""
            if fault["type"] in ("list_type", "tuple_type"):
                near = f", such as [{shown(fault['input'])}]"
            elif fault["type"] == "literal_error":
                near = "." + suggestion(str(fault["input"]), re.findall(r"'([^']*)'", fault.get("ctx", {})["expected"]))
            mistake = Mistake(where, _got_but(fault["input"], fault["msg"]) + near)
        if where in mistakes and fault["type"] not in ("extra_forbidden", "missing"):  # another branch of a union
            mistake = Mistake(where, f"{mistakes[where].text}, or {_allowed(fault['msg'])}")
        mistakes[where] = mistake
    return list(mistakes.values())


def _got_but(value: Any, message: str) -> str:
    return f"got {shown(value)}; {_allowed(message)}"


def _allowed(message: str) -> str:
    return message.removeprefix("Input ").removeprefix("Value error, ")


def expected(model: type[Options], key: str) -> str:
    """What an option may be, in words."""
    field = model.model_fields[key]
    word = _WORDS.get(field.annotation, re.sub(r"\w+\.", "", str(field.annotation)))  # type: ignore[arg-type]
    limits = [f"{_LIMITS[type(limit)]} {astuple(limit)[0]}" for limit in field.metadata if type(limit) in _LIMITS]
    return ", ".join([word, *limits])


def raise_all(mistakes: list[Mistake], what: str) -> None:
    """Raise one RecipeError that lists all mistakes of ``what``, if there are any."""
    if mistakes:
        head = f"{what}: {plural(len(mistakes), 'mistake')}"
        raise RecipeError("\n".join([head, *(f"  {mistake}" for mistake in mistakes)]))


TRAIN_DEFAULTS = {"judge": 0.0, "prior": False, "looks": 10}  # where neither the recipe nor the method says more
MIN_FOLD = 0.1  # smallest share of the samples that judges two looks; each fold costs a training


def examine(values: Mapping[str, Any], passed: Collection[str] = ()) -> tuple[Plan | None, list[Mistake]]:
    """The plan, or None and all its mistakes. Nothing is built and no data are read.

    Args:
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
    model, raw = _train_options(), values.get("train")
    if isinstance(raw, Mapping):
        options, found = check_options(model, raw, "train", "[train]")
        mistakes += found
    else:
        options, wanted = None, f"a table of options: {', '.join(model.model_fields)}"
        mistakes.append(Mistake("train", f"{_got(raw)}; should be {wanted}"))
    train = _values(options) if options else {}
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


def check_slot(raw: Any, path: str, slot: Slot) -> tuple[tuple[Part, ...], list[Mistake]]:
    """The parts chosen in a slot, and all mistakes in them; a slot for one choice gives a tuple of one.

    An optional slot in which nothing is chosen gives an empty tuple.
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
        supplied = inspect.signature(chosen).parameters.values()  # positional arguments come from the assembly
        positional = {each.name for each in supplied if each.kind < inspect.Parameter.VAR_POSITIONAL}
        taken = options.model_extra.keys() & positional
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


SCHEDULE_EPOCHS = ("milestones", "warmup", "first", "start")  # options of schedules that count epochs


def scaled(plan: Plan) -> tuple[Plan, list[Mistake]]:
    """The plan with its ``train.scale`` carried out, which is 1 afterward; or mistakes, if too little would be left.

    Everything that is counted in epochs is multiplied by the scale: the epochs, the warm-up, the milestones of the
    schedule, and options of the method that end in ``_epochs``. The learning rate of the weight net is divided by it,
    so that the weight net moves as far in fewer steps.
    """
    scale, train = plan.train["scale"], plan.train
    if scale == 1:
        return plan, []
    epochs, warmup = round(scale * train["epochs"]), round(scale * train["warmup_epochs"])
    lost = []
    if epochs < 1:
        lost.append(f"leaves none of {train['epochs']} epochs")
    if warmup == 0 < train["warmup_epochs"]:
        lost.append(f"leaves none of {train['warmup_epochs']} epochs of warm-up")
    if epochs <= warmup and train["epochs"] > train["warmup_epochs"]:
        lost.append("leaves no epoch after the warm-up, and so no meta step")
    if lost:
        shortest = min(filter(None, (train["warmup_epochs"], train["epochs"] - train["warmup_epochs"])))
        remedy = f"use at least {1 / shortest:.3g}, or set train.epochs and train.warmup_epochs themselves"
        return plan, [Mistake("train.scale", f"got {scale:g}, which {each}; {remedy}") for each in lost]
    schedule = plan.optimizer.parts["schedule"][0]
    schedule = replace(
        schedule,
        options={
            key: _shorter(value, scale) if key in SCHEDULE_EPOCHS else value for key, value in schedule.options.items()
        },
    )
    method = dict(plan.method.options)
    for key, value in method.items():
        if key.endswith("_epochs") and value:
            method[key] = max(1, round(scale * value))
        elif key == "meta_lr":
            method[key] = value / scale
    return replace(
        plan,
        optimizer=replace(plan.optimizer, parts={**plan.optimizer.parts, "schedule": (schedule,)}),
        method=replace(plan.method, options=method),
        train={**train, "epochs": epochs, "warmup_epochs": warmup, "scale": 1.0},
    ), []


def _shorter(epochs: Any, scale: float) -> Any:
    """Numbers of epochs of a schedule; a schedule may change within an epoch, and then takes effect with the next."""
    return tuple(_shorter(each, scale) for each in epochs) if isinstance(epochs, tuple) else scale * epochs
