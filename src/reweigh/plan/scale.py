"""Shrink the schedule of a plan: the same course of training in fewer epochs."""

from dataclasses import replace
from typing import Any

from reweigh.plan.mistakes import Mistake
from reweigh.plan.plan import Plan

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
