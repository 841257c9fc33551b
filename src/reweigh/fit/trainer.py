"""Train by a plan on some samples, and again on others: the only place that turns a plan into objects that train."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Generator, nn
from torch.optim import Optimizer

from reweigh import methods, models
from reweigh.core.method import Method
from reweigh.data import Dataset
from reweigh.errors import RecipeError
from reweigh.fit.start import freeze_features, start_from
from reweigh.losses.class_sizes import with_class_sizes
from reweigh.losses.prior import prior_corrected
from reweigh.methods.setup import Setup
from reweigh.plan import Part, Plan
from reweigh.plan.schema import TrainOptions
from reweigh.training import Observer, Recall, Run, processes, seed_all, train
from reweigh.training.branch import Branch
from reweigh.training.judge import Judge
from reweigh.training.loop import Evaluate, batch_bounds
from reweigh.training.randomness import restore, snapshot
from reweigh.training.schedules import Schedule
from reweigh.transforms import Compose

Build = Callable[[tuple[int, ...], int], nn.Module]
"""(shape of a sample, number of classes) -> a fresh network."""


class Assembly(NamedTuple):
    """A method that is ready to train, and the schedule of its learning rate."""

    method: Method
    schedule: Schedule
    setup: Setup


class Trained(NamedTuple):
    """A trained method, the numbers of every epoch, and what was predicted for each sample."""

    method: Method
    history: list[dict[str, Any]]
    recall: Recall


@dataclass(frozen=True)
class Trainer:
    """Trains by a plan.

    Attributes:
        plan: What to train and how; its data are not looked at.
        build: Makes the network.
        device: Where to train.
        trusted: Trusted samples apart from the training set, if the meta set asks for them.
    """

    plan: Plan
    build: Build
    device: torch.device
    trusted: Dataset | None = None

    def assemble(self, train_set: Dataset, branch: Branch | None = None) -> Assembly:
        """Network, optimizer and method for some samples; initial weights come from the global generators.

        Args:
            branch: What network and optimizer continue from.

        Raises:
            ModelError: The network does not fit the samples, or the weights that it should start from.
        """
        plan, train = self.plan, self.plan.train
        if processes.several() and methods.find(plan.method.name).one_process:
            raise RecipeError(
                f"method.name: {plan.method.name!r} looks at layers inside its network, which several processes cannot "
                "share; train it in one process, without torchrun"
            )
        fresh = partial(self._network, train_set.shape, train_set.num_classes)
        model, optimizer = fresh()
        schedule = plan.optimizer.parts["schedule"][0].bind()(optimizer, train["epochs"])
        if branch is not None:
            branch.take_over(model, optimizer)
        loss = with_class_sizes(plan.loss.bind(), train_set.class_sizes)
        transforms = [part.bind()() for part in plan.augment]
        setup = Setup(
            model=model,
            optimizer=optimizer,
            train_set=train_set,
            meta_set=plan.meta_set.bind()(),
            clean_set=self.trusted,
            loss=prior_corrected(loss, train_set.class_sizes) if train["prior"] else loss,
            prior=train["prior"],
            augment=Compose(transforms) if transforms or train_set.mirrored is not None else None,
            generator=Generator().manual_seed(train["seed"]),
            device=self.device,
            epochs=train["epochs"],
            fresh=fresh,
            started=plan.model is not None and plan.model.added.get("start") is not None,
        )
        return Assembly(methods.build(plan.method.name, setup, **plan.method.options), schedule, setup)

    def _branch(self) -> Branch | None:
        path = self.plan.train["branch"]
        return None if path is None else processes.first(lambda: Branch.open(path))

    def _network(self, shape: tuple[int, ...], num_classes: int) -> tuple[nn.Module, Optimizer]:
        """A network as the plan starts it, with its optimizer."""
        plan = self.plan
        model = self.build(shape, num_classes).to(self.device)
        how = {} if plan.model is None else plan.model.added
        if how.get("start") is not None:
            start_from(model, how["start"])
        if how.get("trains") == "last-layer":
            freeze_features(model)
        if how.get("compile"):
            model.compile()
        model = processes.together(model, plan.train["sync_batchnorm"])
        return model, plan.optimizer.bind()(model.parameters())

    def train(
        self,
        train_set: Dataset,
        evaluate: Evaluate | None = None,
        run: Callable[[], Run] | None = None,
        observer: Observer | None = None,
        held_out: Dataset | None = None,
    ) -> Trained:
        """Train on some samples. The global generators of torch, NumPy and Python end as they were.

        Args:
            evaluate: Looks at the model at the end of every epoch.
            run: Opens the folder for metrics and checkpoints, once everything is built; a training that was interrupted
                there continues.
            held_out: Samples that judge which epoch is kept; None keeps the last.

        Raises:
            DivergedError: The loss or a parameter is no longer finite.
            ModelError: As for ``assemble``.
        """
        options = {key: value for key, value in self.plan.train.items() if key not in TrainOptions.model_fields}
        with own_randomness(options["seed"]):
            branch = None if run is None else self._branch()
            method, schedule, setup = self.assemble(train_set, branch)
            looks = self.plan.train["looks"]
            recall = Recall(train_set, options["epochs"], looks, self.device)
            steps = len(batch_bounds(len(train_set), options["batch_size"]))
            judge = None if held_out is None else Judge(method.model, held_out, steps, self.device)
            result = train(
                method,
                train_set,
                schedule,
                evaluate=evaluate,
                run=None if run is None else processes.first(run),
                observer=observer,
                augment=setup.augment,
                generator=setup.generator,
                device=self.device,
                recall=recall,
                judge=judge,
                branch=branch,
                **options,
            )
        for module in method.model.eval().modules():
            module._compiled_call_impl = None  # as written again: for other sizes of batches it would compile again
        return Trained(method, result.history, recall)


def builder(part: Part, trust_code: bool = False) -> Build:
    """Makes the network that a plan names, with its channels last in memory if the plan says so.

    Args:
        trust_code: Whether a network from outside the package may be built, which runs its code.
    """
    last = part.added["channels_last"]
    if last is None:
        last = part.name in models.MODELS  # one from outside may not work that way

    def build(shape: tuple[int, ...], num_classes: int) -> nn.Module:
        model = models.build(
            part.name, shape, num_classes, trust_code=trust_code, logits=part.added["logits"], **part.options
        )
        return model.to(memory_format=torch.channels_last) if last else model  # pyright: ignore[reportCallIssue]

    return build


def find_device(name: str) -> torch.device:
    """The device of that name, or for "auto" the best one available."""
    available = ["cpu"]
    if torch.cuda.is_available():
        available += ["cuda", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        available.append("mps")
    if name == "auto":
        return torch.device("cuda" if "cuda" in available else "mps" if "mps" in available else "cpu")
    if name not in available:
        raise RecipeError(f"device: {name!r} is not available here; allowed: auto, {', '.join(available)}")
    return torch.device(name)


@contextmanager
def own_randomness(seed: int) -> Iterator[None]:
    """Inside, the global generators are seeded; afterward they are as they were."""
    before = snapshot()
    try:
        seed_all(seed)
        yield
    finally:
        restore(before)
