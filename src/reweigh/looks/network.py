"""Looks by networks: trained by the normal loop, each network without the samples that it will predict."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from reweigh import methods
from reweigh.core.method import Method, Stateful
from reweigh.core.objective import Batch
from reweigh.core.shards import shard_like
from reweigh.families import Families
from reweigh.issues.stock import TINY
from reweigh.looks.look import Look
from reweigh.losses.class_sizes import log_shares
from reweigh.methods.erm import descend
from reweigh.methods.setup import Again, Setup
from reweigh.models.ensemble import Each, side_by_side
from reweigh.training import predict
from reweigh.training.judge import Judge
from reweigh.training.loop import batch_bounds
from reweigh.training.predictions import Record
from reweigh.training.randomness import seed_all, seeded
from reweigh.training.result import Result
from reweigh.training.schedules import Schedule
from reweigh.training.state import Stage, Stages

SIDE_BY_SIDE = 2000  # samples at most for which the networks of all folds are trained at once, at any cost
MAX_FIRST_WORK = 1.3  # work of the first look of more samples, all folds together, in trainings of full length
SECOND_LENGTH = 0.6  # length of the second look, in trainings of full length


class Learned(NamedTuple):
    """A second look, and the weighting function that it learned.

    Attributes:
        weights: Shape (N,), the weight of each sample.
    """

    look: Look
    net: nn.Module
    families: Families
    weights: Tensor


@dataclass(frozen=True)
class Networks:
    """Networks that look at a training set.

    Attributes:
        setup: What they are trained with; its model and optimizer are not used.
        fresh: Makes a network.
        optimizer: Makes the optimizer of parameters.
        schedule: (optimizer, epochs) -> schedule of the learning rate.
        loop: ``reweigh.training.train`` with all that is the same in each look bound.
        stages: Keeps the result of each training, for a run that is resumed.
        epochs: Epochs of a training of full length.
        warmup_epochs: First epochs of the second look, in which weights are not learned yet.
        batch_size: Number of samples in a batch.
        seed: Decides initial weights and the order of samples.
        balanced: Whether every class counts the same for the judge, instead of every sample.
    """

    setup: Setup
    fresh: Callable[[], nn.Module]
    optimizer: Callable[[Iterable[Tensor]], Optimizer]
    schedule: Callable[[Optimizer, int], Schedule]
    loop: Callable[..., Result]
    stages: Stages
    epochs: int
    warmup_epochs: int
    batch_size: int
    seed: int
    balanced: bool = True

    def first(self, fold: Tensor, folds: int) -> Look:
        """Plain training until wrong labels would be memorized; each network leaves out a fold and predicts it.

        The network without fold 0 is judged by it. If its best epoch comes early, the networks of the other folds are
        trained for as many epochs, unless that takes too long. If samples are few, one fold is too small to judge well
        and training is cheap: then all networks are trained side by side, and all folds judge.

        Args:
            fold: Shape (N,), the fold of each sample; -1 if it is never held out.
            folds: Number of folds.
        """
        shares, together = log_shares(self.setup.train_set.class_sizes.double()).float(), self._together(fold)
        numbers = list(range(folds)) if together else [0]
        trained = self._plain("first look", numbers, fold, self.epochs, [], judges=True)
        models, memory = self._models(trained), trained["memory"]
        epochs = trained["best"] + 1
        work = (1 - 1 / folds) * (len(trained["history"]) + (folds - 1) * epochs)
        if not together and bool((fold >= 0).any()) and work <= MAX_FIRST_WORK * self.epochs:
            others = self._plain("other folds", list(range(1, folds)), fold, epochs, trained["history"], judges=False)
            models, memory = models + self._models(others), memory + others["memory"]
            trained["history"] = others["history"]
        logs = [self._bare(predict(model, self.setup.train_set, self.setup.device), shares) for model in models]
        held_out = ((fold >= 0) & (fold < len(models))).nonzero().flatten()
        unseen = torch.stack(logs)[fold[held_out], held_out]
        memory = memory / memory.sum(1, keepdim=True).clamp_min(TINY)
        best = memory.clamp_min(TINY).log()
        # a single network has a memory of the samples that it saw, and a prediction for the others
        best[held_out] = (unseen + best[held_out]) / 2 if len(models) > 1 else unseen
        consensus = torch.stack(logs).mean(0)
        memorizes, history = trained["memorizes"], trained["history"]
        return Look(models, best.log_softmax(1), consensus.log_softmax(1), unseen, held_out, memorizes, history)

    def again(self, what: Again, first: Look, options: Mapping[str, Any]) -> Learned:
        """Train on what is likely right, by the method ``two-looks``; from the first look on if that memorized nothing.

        Args:
            what: What to learn; ``fold`` says which samples are held out.
            options: Options of the method.
        """
        setup, fold = self.setup, what.fold
        members = max(1, int(fold.max()) + 1)
        epochs = max(1, round(SECOND_LENGTH * self.epochs))

        def compute() -> dict[str, Any]:
            seed_all(self.seed + 2)
            networks = [self.fresh() for _ in range(members)]
            if not first.memorizes:
                for network, model in zip(networks, first.models, strict=False):
                    network.load_state_dict(model.state_dict())
            model, optimizer, its = self._built(networks, 2)
            its = replace(its, model=model, optimizer=optimizer, again=what)
            method = methods.build("two-looks", its, **options)
            warm_up = min(self.warmup_epochs, epochs - 1)
            stage = Stage("second look", first.history)
            judge = self._judge(method.model, fold, epochs, stops=False)
            found = self._loop(method, its, epochs, epochs, judge, None, stage, warmup_epochs=warm_up)
            net, weights = method.weight_net(), method.sample_weights()
            assert net is not None
            return found | {"net": net.state_dict(), "weights": weights}

        found = self.stages("second look", compute)
        models = self._models(found)
        # the net and its families are made as they were, then filled
        its = replace(setup, model=self.fresh(), again=what._replace(fold=torch.full_like(fold, -1)))
        method = methods.build("two-looks", replace(its, optimizer=self.optimizer(its.model.parameters())), **options)
        net, families = method.weight_net(), method.families()
        assert net is not None
        assert families is not None
        net.load_state_dict(found["net"])
        shares = log_shares(what.targets[(fold < 0) | (members > 1)].sum(0))
        logs = torch.stack([self._bare(predict(model, setup.train_set, setup.device), shares) for model in models])
        held_out = (fold >= 0).nonzero().flatten()
        consensus = logs.mean(0).log_softmax(1)
        unseen = logs[fold[held_out], held_out]
        best = consensus.index_copy(0, held_out, unseen) if members == 1 else consensus
        look = Look(models, best, consensus, unseen, held_out, first.memorizes, found["history"])
        return Learned(look, net, families, found["weights"])

    def _together(self, fold: Tensor) -> bool:
        """Whether the networks of all folds are trained side by side."""
        return len(fold) <= SIDE_BY_SIDE and bool((fold >= 0).any())

    def second_folds(self, fold: Tensor, judging: Tensor) -> Tensor:
        """Which samples a network of the second look leaves out, shape (N,): all folds, or only the judging samples."""
        return fold if self._together(fold) else torch.where(judging, 0, -1)

    def _plain(
        self, name: str, numbers: Sequence[int], fold: Tensor, epochs: int, history: list[dict[str, Any]], judges: bool
    ) -> dict[str, Any]:
        """Train the networks without these folds, and return what is needed of them.

        Args:
            judges: Whether the folds judge when to stop.
        """

        def compute() -> dict[str, Any]:
            stream = 0 if judges else 1
            seed_all(self.seed + stream)
            model, optimizer, its = self._built([self.fresh() for _ in numbers], stream)
            # by fold, the place of the network that does not see it; the last is that of samples that all see
            places = torch.full((max(int(fold.max()), *numbers) + 2,), -1)
            places[torch.tensor(numbers)] = torch.arange(len(numbers))
            apart = places[fold]
            memory = Memory(len(fold), its.train_set.num_classes, its.device)
            method = Plain(replace(its, model=model, optimizer=optimizer), apart, memory)
            judge = self._judge(model, apart, self.epochs, stops=judges, chooses=judges)
            stage = Stage(name, history, last=False)
            found = self._loop(method, its, epochs, self.epochs, judge, memory, stage)
            return found | {"memory": memory.sums.cpu()}

        return self.stages(name, compute)

    def _built(self, networks: Sequence[nn.Module], stream: int) -> tuple[nn.Module, Optimizer, Setup]:
        """The networks as one model with its optimizer, and a setup with random numbers of its own."""
        model = shard_like(side_by_side(networks).to(self.setup.device), networks[0])
        return model, self.optimizer(model.parameters()), replace(self.setup, generator=seeded(self.seed, stream))

    def _judge(self, model: nn.Module, fold: Tensor, epochs: int, **options: bool) -> Judge:
        """A judge of networks side by side: each sample is predicted by the network that does not see it."""
        held_out = (fold >= 0).nonzero().flatten()
        train_set, member = self.setup.train_set, fold[held_out]
        samples = train_set.subset(held_out)
        shares = log_shares(train_set.class_sizes.double()).float()

        def predicted(model: nn.Module) -> Tensor:
            if not len(held_out):
                return held_out
            each = predict(shard_like(Each(model), model), samples, self.setup.device)
            logits = self._bare(each[torch.arange(len(held_out)), member], shares)
            return (logits if self.balanced else logits + shares).argmax(1)

        steps = len(batch_bounds(len(train_set), self.batch_size))
        return Judge(model, train_set.labels[held_out], predicted, steps, epochs, balanced=self.balanced, **options)

    def _loop(
        self,
        method: Method,
        setup: Setup,
        epochs: int,
        length: int,
        judge: Judge,
        record: Record | None,
        stage: Stage,
        warmup_epochs: int = 0,
    ) -> dict[str, Any]:
        """Train a method, and return its networks and what the judge says.

        Args:
            length: Number of epochs over which the learning rate falls.
        """
        optimizer: Any = method._optimizer  # type: ignore[attr-defined] (of both methods)
        result = self.loop(
            method,
            setup.train_set,
            self.schedule(optimizer, length),
            generator=setup.generator,
            record=record,
            judge=judge,
            stage=stage,
            run=self.stages.run,
            epochs=epochs,
            warmup_epochs=warmup_epochs,
            batch_size=self.batch_size,
            seed=self.seed,
        )
        networks: Any = method.model
        states = [network.state_dict() for network in networks.networks()]
        return {"states": states, "history": result.history, "best": judge.best, "memorizes": judge.early}

    def _models(self, trained: dict[str, Any]) -> list[nn.Module]:
        found = []
        for state in trained["states"]:
            network = self.fresh()
            network.load_state_dict(state)
            found.append(network.eval())
        return found

    def _bare(self, logits: Tensor, shares: Tensor) -> Tensor:
        """Log-probabilities as if all classes were equally frequent."""
        return (logits.float() if self.setup.prior else logits.float() - shares).log_softmax(-1)


class Memory(Record):
    """The sum of what was predicted for each sample in its own training steps.

    Attributes:
        sums: Shape (N, C).
    """

    def __init__(self, samples: int, num_classes: int, device: torch.device):
        self.sums = torch.zeros(samples, num_classes, device=device)

    def end_epoch(self, epoch: int, model: nn.Module, weights: Callable[[], Tensor | None]) -> None:
        return

    def look(self, model: nn.Module, weights: Tensor | None = None) -> None:
        return

    def state_dict(self, copy: bool = False) -> dict[str, Any]:
        return {"sums": self.sums.clone() if copy else self.sums}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.sums = state["sums"].to(self.sums.device, copy=True)


class Plain(Stateful, Method):
    """Plain training of networks side by side, each without the samples that it will predict.

    Args:
        fold: Shape (N,), the network that does not see a sample; -1 if all see it.
        memory: Where predictions are added up.
    """

    state = ("_model", "_optimizer")

    def __init__(self, setup: Setup, fold: Tensor, memory: Memory):
        self._setup, self._memory = setup, memory
        self._model: Any = setup.model
        self._optimizer = setup.optimizer
        self._seen = torch.stack([fold != number for number in range(len(self._model.shares))], 1)
        shares = log_shares(setup.train_set.class_sizes.double()).float().to(setup.device)
        self._contained = torch.zeros_like(shares) if setup.prior else shares

    @property
    def model(self) -> nn.Module:
        return self._model

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        visible = batch.where(self._seen[batch.index].any(1))
        if len(visible) < 2:  # BatchNorm cannot train on a single sample
            with torch.no_grad():
                return {"loss": self._setup.loss(self._model(batch.inputs), batch.labels).mean()}
        each = shard_like(Each(self._model), self._model)(visible.inputs)
        seen = self._seen[visible.index].to(each.device)
        predicted = (each.detach().float() - self._contained).softmax(2) * seen[:, :, None]
        self._memory.sums[visible.index] += predicted.sum(1).to(self._memory.sums)
        repeated = visible.labels.repeat_interleave(each.shape[1], 0)
        losses = self._setup.loss(each.flatten(0, 1), repeated).unflatten(0, each.shape[:2])
        share = seen / seen.float().mean(0).clamp_min(TINY)  # every network minimizes a mean over the samples it sees
        loss = visible.weighted((losses * share).sum(1)).mean()
        descend(loss, self._optimizer)
        return {"loss": loss.detach() / each.shape[1], "weight": 1.0}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._model.train()
