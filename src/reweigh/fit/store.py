"""A fit as one file: safetensors with JSON in its header; nothing in it can run."""

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reweigh.errors import DataError, ModelError, ReweighError
from reweigh.families import Families
from reweigh.files import write_whole
from reweigh.files.tensors import pack, read_as
from reweigh.fit.decision import Decision
from reweigh.fit.fitting import Fit
from reweigh.fit.front import open_front, own_front
from reweigh.fit.inputs import InputForm
from reweigh.fit.scored import Scored
from reweigh.fit.start import refilled
from reweigh.fit.trainer import Build, builder
from reweigh.fit.weighting import Weighting
from reweigh.issues import Samples
from reweigh.issues.labelers import Labelers
from reweigh.issues.verdict import Finding
from reweigh.issues.votes import Votes, check_votes
from reweigh.plan.check import examine, raise_all
from reweigh.plan.edit import to_values
from reweigh.training.checkpoint import plain_tensor
from reweigh.weighting import construction, rebuilt

KIND = "reweigh classifier"
VERSION = 5


def save(path: str | Path, found: Fit, more: dict[str, Any]) -> None:
    weighting = found.weighting
    content = {
        "plan": to_values(found.plan),
        "network": type(found.model).__name__,
        "inputs": asdict(found.inputs),
        "class_names": found.class_names,
        "class_sizes": found.class_sizes,
        "history": found.history,
        "decision": found.decision.to_json(),
        "finding": found.finding and found.finding._asdict(),
        "weighting": None if weighting is None else construction(weighting.net),
        "reads": None if weighting is None else weighting.reads,
        "votes": None if found.votes is None else [found.votes.labelers, found.votes.classes.tolist()],
        "labelers": found.labelers and [found.labelers.discount, found.labelers.temperature],
        "more": more,
    }
    tensors: dict[str, Tensor] = {"origin": found.origin, **_named("model", found.model.state_dict())}
    tensors |= _named("samples", vars(found.samples))
    if weighting is not None:
        tensors |= _named("weighting", weighting.net.state_dict()) | _named("families", weighting.families._asdict())
    if found.held_out is not None:
        tensors |= _named("held_out", found.held_out._asdict())
    if found.votes is not None and found.labelers is not None:
        tensors |= _named("votes", vars(found.votes)) | _named("labelers", found.labelers._asdict())
    try:
        text = json.dumps(content, default=_refuse)
    except TypeError as error:
        raise DataError(f"{path}: not saved, {error}; labels and parameters must be numbers or strings") from None
    about = {"kind": KIND, "version": str(VERSION), "content": text}
    write_whole(path, pack({name: plain_tensor(tensor) for name, tensor in tensors.items()}, about))


def load(
    path: str | Path, build: Build | None = None, module: Any = None, trust_code: bool = False
) -> tuple[Fit, dict[str, Any]]:
    """What ``save`` wrote; the network is on the CPU.

    Args:
        build: Makes the network, if it was the caller's own.
        module: The frozen network in front of it, if it was the caller's own.
    """
    try:
        return _loaded(path, build, module, trust_code)
    except (LookupError, TypeError, AttributeError, RecursionError, ValueError) as error:
        if isinstance(error, ReweighError):
            raise
        reason = f"{type(error).__name__}: {error}"
        raise DataError(f"{path}: not as this version of reweigh writes it ({reason})") from error


def _loaded(path: str | Path, build: Build | None, module: Any, trust_code: bool) -> tuple[Fit, dict[str, Any]]:
    tensors, about = read_as(path, KIND, VERSION, "a classifier that reweigh saved")
    content = json.loads(about["content"])
    plan, mistakes = examine(content["plan"], passed=[key for key in ("data", "model") if key not in content["plan"]])
    raise_all(mistakes, f"the plan in {path}")
    assert plan is not None
    if build is None:
        if plan.model is None:
            own = f"a network of its own ({content['network']})"
            raise ModelError(f"{path}: trained with {own}; pass it again: load(path, model=...)")
        build = builder(plan.model, trust_code)
    inputs = InputForm.from_json(json.dumps(content["inputs"]), str(path))
    class_names = tuple(content["class_names"])
    front = open_front(plan.features, inputs.shape, inputs.encoding, trust_code)
    if inputs.width is not None and front is None:
        if module is None:
            raise ModelError(f"{path}: trained on features of a module of its own; pass it: load(path, features=...)")
        front = own_front(module, inputs.shape)
    wrong = f"{path}: not the weights of this network; pass the one it was trained with"
    fresh = partial(build, inputs.model_shape, len(class_names))
    model = refilled(plan.method.name, _under("model", tensors), fresh, wrong)
    weighting = None
    if content["weighting"] is not None:
        net = rebuilt(content["weighting"], _under("weighting", tensors))
        weighting = Weighting(net, Families(**_under("families", tensors)), content["reads"])
    held_out = _under("held_out", tensors)
    found = Fit(
        plan=plan,
        inputs=inputs,
        class_names=class_names,
        class_sizes=tuple(content["class_sizes"]),
        model=model.eval(),
        samples=Samples(**_under("samples", tensors)),
        weighting=weighting,
        history=content["history"],
        origin=tensors["origin"],
        decision=Decision.from_json(content["decision"], str(path)),
        held_out=Scored(**held_out) if held_out else None,
        finding=Finding(**content["finding"]) if content["finding"] else None,
        front=front,
        **_voted(content, tensors),
    )
    return found, content["more"]


def _voted(content: dict[str, Any], tensors: dict[str, Tensor]) -> dict[str, Any]:
    """The votes of several labelers and what is known about these, if there were any."""
    if content["votes"] is None or content["labelers"] is None:
        return {}
    names, classes = content["votes"]
    samples = len(tensors["labelers.posterior"])
    votes = Votes(samples, tuple(names), np.array(classes), **_under("votes", tensors))
    check_votes(votes)
    discount, temperature = map(float, content["labelers"])
    known: dict[str, Any] = {"confusion": None, "totals": None} | _under("labelers", tensors)
    return {"votes": votes, "labelers": Labelers(**known, discount=discount, temperature=temperature)}


def _refuse(value: Any) -> None:
    raise TypeError(f"{type(value).__name__} cannot be stored")


def _named(prefix: str, values: Any) -> dict[str, Tensor]:
    """The tensors among some values, under a prefix."""
    return {f"{prefix}.{name}": value for name, value in values.items() if isinstance(value, torch.Tensor)}


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under a prefix, without it."""
    start = f"{prefix}."
    return {name.removeprefix(start): value for name, value in tensors.items() if name.startswith(start)}
