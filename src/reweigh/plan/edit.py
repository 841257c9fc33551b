"""Change a plan: its values before they are checked, or its length."""

from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import Any

from reweigh.errors import ReweighError
from reweigh.plan.mistakes import Mistake, shown
from reweigh.plan.plan import Plan
from reweigh.plan.schema import SECTIONS, Slot
from reweigh.plan.tables import member, options_of


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
