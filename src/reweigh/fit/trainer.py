"""Train by a plan on some samples, and again on others: the only place that turns a plan into objects that train."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.optim import Optimizer

from reweigh import methods, models
from reweigh.core.method import Method
from reweigh.data import Dataset
from reweigh.errors import RecipeError
from reweigh.families import Families
from reweigh.fit.start import freeze_features, start_from
from reweigh.fit.two_looks import two_looks
from reweigh.issues import Finding, Verdict
from reweigh.issues.stock import Stock
from reweigh.looks import BoostedTrees, Classifiers, LogisticRegressions, Networks, OwnClassifier
from reweigh.losses.class_sizes import prior_corrected, with_class_sizes
from reweigh.methods.setup import Setup, given_rows
from reweigh.methods.two_looks import READS
from reweigh.plan import Part, Plan
from reweigh.plan.plan import TrainOptions
from reweigh.training import Observer, Recall, Result, Run, predict, processes, seed_all, train
from reweigh.training.judge import Judge
from reweigh.training.loop import Evaluate, batch_bounds
from reweigh.training.randomness import restore, snapshot
from reweigh.training.schedules import Schedule
from reweigh.training.state import Branch, Stages
from reweigh.transforms import Compose

Build = Callable[[tuple[int, ...], int], nn.Module]
"""(shape of a sample, number of classes) -> a fresh network."""


class Assembly(NamedTuple):
    """A method that is ready to train, and the schedule of its learning rate."""

    method: Method
    schedule: Schedule
    setup: Setup


class Trained(NamedTuple):
    """A trained model, and what was learned on the way.

    Attributes:
        recall: What was predicted for each sample.
        net: The weight net; None if the method has none.
        families: The families of classes that it was used with.
        reads: What it reads of a sample besides the family of its class.
        weights: Shape (N,), the factor by which each sample was trained on; None if the method has none.
        verdict: What is thought of each label, if the training came to a verdict.
        finding: How many labels are wrong, and what was done about it, if the training estimates that.
        stock: The confusion of the labels and the shares of the true classes, likewise.
        held_out: Indices of samples that were predicted by networks that did not see them; empty if there are none.
        unseen: Their logits by these networks, shape (n, num_classes), as if all classes were equally frequent.
    """

    model: nn.Module
    history: list[dict[str, Any]]
    recall: Recall
    net: nn.Module | None = None
    families: Families | None = None
    reads: str = "loss"
    weights: Tensor | None = None
    verdict: Verdict | None = None
    finding: Finding | None = None
    stock: Stock | None = None
    held_out: Tensor = torch.empty(0, dtype=torch.int64)
    unseen: Tensor = torch.empty(0, 0)


@dataclass(frozen=True)
class Trainer:
    """Trains by a plan.

    Attributes:
        plan: What to train and how; its data are not looked at.
        trusted: Trusted samples apart from the training set, if the meta set asks for them.
        classifier: A classifier of the user's that looks beside the networks, if the method asks for one.
    """

    plan: Plan
    build: Build
    device: torch.device
    trusted: Dataset | None = None
    classifier: Any = None

    def assemble(self, train_set: Dataset, branch: Branch | None = None) -> Assembly:
        """Network, optimizer and method for some samples; initial weights come from the global generators."""
        plan, setup = self.plan, self.setup(train_set, branch)
        schedule = plan.optimizer.parts["schedule"][0].bind()(setup.optimizer, plan.train["epochs"])
        return Assembly(methods.build(plan.method.name, setup, **plan.method.options), schedule, setup)

    def setup(self, train_set: Dataset, branch: Branch | None = None) -> Setup:
        """What a method is given for some samples; see ``assemble``."""
        plan, train = self.plan, self.plan.train
        if processes.several() and methods.find(plan.method.name).one_process:
            raise RecipeError(
                f"method.name: {plan.method.name!r} looks at layers inside its network, which several processes cannot "
                "share; train it in one process, without torchrun"
            )
        model, optimizer = self._network(train_set.shape, train_set.num_classes)
        if branch is not None:
            branch.take_over(model, optimizer)
        loss = with_class_sizes(plan.loss.bind(), train_set.class_sizes)
        transforms = [part.bind()() for part in plan.augment]
        return Setup(
            model=model,
            optimizer=optimizer,
            train_set=train_set,
            meta_set=plan.meta_set.bind()(),
            clean_set=self.trusted,
            loss=prior_corrected(loss, train_set.class_sizes) if train["prior"] else loss,
            uncorrected=loss,
            prior=train["prior"],
            augment=Compose(transforms) if transforms else None,
            generator=Generator().manual_seed(train["seed"]),
            device=self.device,
            epochs=train["epochs"],
            started=plan.model is not None and plan.model.added.get("start") is not None,
        )

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
        model = processes.together(model)
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
        """
        if self.looks_twice:
            return self._look_twice(train_set, evaluate, run, observer)
        with own_randomness(self._loop_options["seed"]):
            branch = None if run is None else self._branch()
            method, schedule, setup = self.assemble(train_set, branch)
            recall = Recall(train_set, self.plan.train["epochs"], self.plan.train["looks"], self.device)
            judge = None if held_out is None else self._judge(method.model, held_out, len(train_set))
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
                record=recall,
                judge=judge,
                branch=branch,
                **self._loop_options,
            )
        net, families, weights = method.weight_net(), method.families(), method.sample_weights()
        return Trained(ready(method.model), result.history, recall, net, families, weights=weights)

    @property
    def looks_twice(self) -> bool:
        """Whether the plan trains two times, which holds out samples by itself."""
        return self.plan.method.name == "two-looks"

    @property
    def _loop_options(self) -> dict[str, Any]:
        return {key: value for key, value in self.plan.train.items() if key not in TrainOptions.model_fields}

    def _judge(self, model: nn.Module, held_out: Dataset, samples: int) -> Judge:
        def predicted(model: nn.Module) -> Tensor:
            return predict(model, held_out, self.device).argmax(1)

        steps = len(batch_bounds(samples, self.plan.train["batch_size"]))
        return Judge(model, held_out.labels, predicted, steps, self.plan.train["epochs"])

    def _look_twice(
        self, train_set: Dataset, evaluate: Evaluate | None, run: Callable[[], Run] | None, observer: Observer | None
    ) -> Trained:
        """Train by two looks; see ``two_looks``."""
        plan, options, stages = self.plan, self._loop_options, Stages(train_set.identity if run else "")
        bound = {key: options.pop(key) for key in ("epochs", "warmup_epochs", "batch_size", "seed")}
        with own_randomness(bound["seed"]):
            setup = self.setup(train_set)
            methods.build(plan.method.name, setup, **plan.method.options)  # what cannot be built says so before any run
            stages.run = None if run is None else processes.first(run)
            loop = partial(
                train, evaluate=evaluate, observer=observer, augment=setup.augment, device=self.device, **options
            )
            networks = Networks(
                setup=setup,
                fresh=lambda: self._network(train_set.shape, train_set.num_classes)[0],
                optimizer=plan.optimizer.bind(),
                schedule=plan.optimizer.parts["schedule"][0].bind(),
                loop=loop,
                stages=stages,
                **bound,
            )
            given = given_rows(train_set, train_set.labels)
            beside = self._beside(train_set, given, stages, bound["seed"], setup.prior)
            found = two_looks(networks, beside, train_set, plan.train["judge"], plan.method.options)
        model, history = ready(found.model), found.history
        recall = Recall(train_set, 1, plan.train["looks"], self.device)
        if plan.train["looks"]:
            recall.look(model, found.weights)
        if evaluate:  # the last line speaks of the model as it is now, of both looks
            history[-1] |= {f"test_{name}": value for name, value in evaluate(model).items()}
        history[-1]["judge_keeps"] = len(history)
        if stages.run is not None and processes.is_first():
            stages.run.write_metrics(history)
            stages.run.write_summary(Result(history).summary("finished", len(history)))
        named = {key: getattr(found, key) for key in ("weights", "verdict", "finding", "stock", "held_out", "unseen")}
        return Trained(model, history, recall, found.net, found.families, READS, **named)

    def _beside(self, *its: Any) -> list[Classifiers]:
        kinds = {"boosted-trees": BoostedTrees, "linear": LogisticRegressions}
        names = self.plan.method.options["beside"].split("+")
        if names == ["own"]:
            return [OwnClassifier(*its, classifier=self.classifier)]
        return [kinds[name](*its) for name in names if name != "none"]


def ready(model: nn.Module) -> nn.Module:
    """The model in evaluation mode, as written: compiled, it would compile again for other sizes of batches."""
    for module in model.eval().modules():
        module._compiled_call_impl = None
    return model


def builder(part: Part, trust_code: bool = False) -> Build:
    """Makes the network that a plan names, with its channels last in memory if the plan says so."""
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
