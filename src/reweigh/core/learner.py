"""One training step in which the weights of the samples are learned as well."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Literal, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm
from torch.optim import Optimizer
from torch.utils._pytree import tree_map_only

from reweigh.core.features import Features
from reweigh.core.normalize import Normalizer, mean
from reweigh.core.objective import MetaObjective, Objective, Terms
from reweigh.core.problem import Engine, MetaProblem
from reweigh.core.products import Recording
from reweigh.core.rerun import Params, Randomness, Rerun, unwrapped
from reweigh.core.scope import scoped
from reweigh.core.update import LookAhead, Update
from reweigh.names import lookup

Reduce = Callable[[list[Tensor]], None]


class Weigher(Protocol):
    """Whatever gives samples their weights, and can be taught to give better ones."""

    def propose(self, losses: Tensor, family: Tensor) -> Tensor:
        """Weights for the look-ahead, with a graph to whatever is learned; shapes (slots,)."""
        ...

    def __call__(self, losses: Tensor, family: Tensor) -> Tensor:
        """Weights to train with; shapes (slots,), no graph."""
        ...

    def learn(self, weights: Tensor, gradient: Tensor, reduce: Reduce) -> Tensor:
        """Improve by ``gradient``, that of the meta loss with respect to the (normalized) proposed ``weights``.

        Returns:
            The norm of the gradient of whatever is learned.
        """
        ...


class Step(NamedTuple):
    """What one step did.

    Attributes:
        loss: the weighted training loss, scalar.
        weights: shape (slots,), the weights that were trained with, before normalization.
        losses: shape (slots,), the unweighted losses that the weight net read.
        meta_loss: the loss on trusted data one step ahead, scalar; None where the weights were not learned.
        outputs: what the model returned for the batch; None if the objective does not tell.
        gradient_norms: of the training loss by the parameters that the look-ahead moves, and of the meta loss by what
            is learned (paper: Theorems 1 and 2); None where the weights were not learned.
    """

    loss: Tensor
    weights: Tensor
    losses: Tensor
    meta_loss: Tensor | None
    outputs: Any = None
    gradient_norms: tuple[Tensor, Tensor] | None = None

    def numbers(self) -> dict[str, float]:
        """What to log of it: the loss, the mean weight and, where the weights were learned, how."""
        numbers = {"loss": self.loss.item(), "weight": self.weights.mean().item()}
        if self.meta_loss is None or self.gradient_norms is None:
            return numbers
        inner, outer = self.gradient_norms
        learned = {"meta_loss": self.meta_loss, "gradient_norm": inner, "meta_gradient_norm": outer}
        return {**numbers, **{name: value.item() for name, value in learned.items()}}


class MetaLearner:
    """The two levels of the paper's Algorithm 1, around any model and optimizer as they are.

    Args:
        model: may be compiled or wrapped for data parallel training.
        optimizer: trains ``model``; its own rule is what the look-ahead follows.
        weigher: gives the weights and learns.
        engine: the meta-gradient.
        lookahead: ``"virtual"``: look one step ahead, improve the weights, then train with them (the paper's).
            ``"real"``: train, then learn from that very step; cheaper, and the weights lag one step.
        scope: the part of the model that the look-ahead moves, see ``core.scope``.
        every: learn in each ``every``-th step. Paper: T_meta.
        normalize: how weights are scaled, see ``core.normalize``.
        reduce: averages tensors over processes, in place.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optimizer,
        weigher: Weigher,
        engine: Engine,
        *,
        lookahead: Literal["virtual", "real"] = "virtual",
        scope: str = "all",
        every: int = 1,
        normalize: Normalizer = mean,
        reduce: Reduce = lambda tensors: None,
    ):
        self.model = model
        self.optimizer = optimizer
        self.weigher = weigher
        self.engine = engine
        orders = {"virtual": self._learn_then_train, "real": self._train_then_learn}
        self._take = lookup(orders, lookahead, "look-ahead")
        self.every = every
        self.normalize = normalize
        self.reduce = reduce
        self.steps = 0
        self._plain = unwrapped(model)
        self._wanted = scope
        self._move(scoped(self._plain, optimizer, scope))
        self._device = next(iter(self._scope.values())).device
        self._warned = False

    def _move(self, scope: Params) -> None:
        """Let the look-ahead move these parameters."""
        self._scope = scope
        self._update = Update(self.optimizer, scope)
        self._features = Features(self._plain, scope) if self._wanted != "all" and self._plain is self.model else None

    def _follow(self) -> None:
        """The user may have frozen parameters since, or given the optimizer more of them."""
        now = scoped(self._plain, self.optimizer, self._wanted)
        if now.keys() != self._scope.keys():
            self._move(now)

    @property
    def due(self) -> bool:
        """Whether the coming step will learn, and so needs a batch of trusted data."""
        return self.steps % self.every == 0

    def step(self, objective: Objective, family: Tensor, meta: MetaObjective | None) -> Step:
        """Train on one batch, and where it is due learn the weights from ``meta``.

        Args:
            objective: the training batch.
            family: shape (slots,), the family of each slot's class.
            meta: the trusted batch; None skips learning in this step.
        """
        learns = self.due and meta is not None
        self.steps += 1
        if not learns or meta is None:
            terms = objective(self.model)
            return self._train(terms, self.weigher(terms.losses.detach(), family))
        self._follow()
        again = Rerun(self._plain, Randomness.now(self._device))
        return self._take(objective, family, meta, again)

    def learn(self, objective: Objective, family: Tensor, meta: MetaObjective) -> Tensor | None:
        """Look ahead and learn the weights without training the model, whose buffers and gradients stay as they are.

        Returns:
            The loss on trusted data one step ahead.
        """
        self._follow()
        again = Rerun(self._plain, Randomness.drawn(self._device))
        params = {name: param.detach().requires_grad_() for name, param in self._scope.items()}
        fixed = self._fixed()
        with torch.enable_grad(), self._watching() as recording:
            here = again(objective, {**fixed, **params})
        weights = self._propose(here, family)
        problem = self._problem(weights, params, lambda at: self._repeat(again, objective, {**fixed, **at}), meta)
        problem.here = here
        problem.products = recording.kept
        problem.rearranged = not again.drew
        self._improve(weights, problem)
        return problem.seen

    def _learn_then_train(self, objective: Objective, family: Tensor, meta: MetaObjective, again: Rerun) -> Step:
        """The paper's order: one forward of the batch serves the look-ahead and, with better weights, the step."""
        whole = self._plain is self.model  # a compiled or wrapped model gives up its graph after one backward
        with self._watching() if whole else nullcontext(Recording()) as recording:
            terms = objective(self.model)
        drew = again.randomness.moved()
        weights = self._propose(terms, family)
        fixed = self._fixed()
        problem = self._problem(weights, self._scope, lambda at: self._repeat(again, objective, {**fixed, **at}), meta)
        problem.rearranged = not drew
        if whole:
            problem.here = terms
            problem.products = recording.kept
        outer = self._improve(weights, problem)
        step = self._train(terms, self.weigher(terms.losses.detach(), family))
        step = step._replace(meta_loss=problem.seen, gradient_norms=(self._gradient_norm(), outer))
        self._warn_of_collapse(step.weights)
        return step

    def _train_then_learn(self, objective: Objective, family: Tensor, meta: MetaObjective, again: Rerun) -> Step:
        """The real step doubles as the look-ahead; what is learned from it serves the steps that follow."""
        with self._features.record() if self._features else nullcontext():
            terms = objective(self.model)
        drew = again.randomness.moved()
        with torch.enable_grad():
            raw = self.weigher.propose(terms.losses.detach(), family)
            weights = self.normalize(raw, terms.size)
        before = {name: param.detach().clone() for name, param in self._plain.named_parameters()}
        params = {name: before[name] for name in self._scope}
        problem = self._problem(weights, params, lambda at: self._repeat(again, objective, {**before, **at}), meta)
        problem.rearranged = not drew
        if self._plain is self.model:
            problem.coefficients = terms.coefficients.detach()
        self.optimizer.zero_grad()
        loss = self._loss(terms, weights.detach())
        loss.backward()
        grads = {name: param.grad for name, param in self._scope.items() if param.grad is not None}
        problem.ahead = LookAhead(self._update, params, grads)
        problem.landed = self._scope
        self._descend()
        norms = self._gradient_norm(), self._improve(weights, problem)
        losses, outputs = terms.losses.detach(), detached(terms.outputs)
        step = Step(loss.detach(), raw.detach(), losses, problem.seen, outputs, norms)
        self._warn_of_collapse(step.weights)
        return step

    def _train(self, terms: Terms, weights: Tensor) -> Step:
        self.optimizer.zero_grad()
        loss = self._loss(terms, self.normalize(weights, terms.size))
        loss.backward()
        self._descend()
        return Step(loss.detach(), weights, terms.losses.detach(), None, detached(terms.outputs))

    def _descend(self) -> None:
        self.optimizer.step()
        torch.clear_autocast_cache()  # it would hand the parameters of before the step to the forwards after it

    def _loss(self, terms: Terms, weights: Tensor) -> Tensor:
        return torch.dot(weights.to(terms.coefficients.dtype), terms.coefficients) + terms.rest

    def _propose(self, terms: Terms, family: Tensor) -> Tensor:
        with torch.enable_grad():
            return self.normalize(self.weigher.propose(terms.losses.detach(), family), terms.size)

    def _problem(
        self, weights: Tensor, params: Params, terms: Callable[[Params], Terms], meta: MetaObjective
    ) -> MetaProblem:
        rerun = Rerun(self._plain, Randomness.drawn(self._device))
        fixed = self._fixed()
        return MetaProblem(
            weights.detach(), params, terms, lambda at: rerun(meta, {**fixed, **at}), self._update, reduce=self.reduce
        )

    @contextmanager
    def _watching(self) -> Iterator[Recording]:
        """Keep of the forward inside what a repetition can use: all below the scope, or else its products."""
        recording = Recording()
        with self._features.record() if self._features else recording:
            yield recording

    def _repeat(self, again: Rerun, objective: Objective, params: Params) -> Terms:
        with self._features.replay() if self._features else nullcontext():
            return again(objective, params)

    def _gradient_norm(self) -> Tensor:
        return get_total_norm([p.grad for p in self._scope.values() if p.grad is not None])

    def _improve(self, weights: Tensor, problem: MetaProblem) -> Tensor:
        """Let the weigher learn from ``problem``, which then knows the meta loss; returns the norm of its gradient."""
        gradient = self.engine(problem)
        if self._features:
            self._features.forget()
        return self.weigher.learn(weights, gradient, self.reduce)

    def _fixed(self) -> Params:
        """The parameters outside the scope as they are now; no gradient needs to reach them.

        They share memory with the model: after a real step they are the parameters after it.
        """
        return {name: p.detach() for name, p in self._plain.named_parameters() if name not in self._scope}

    def _warn_of_collapse(self, weights: Tensor) -> None:
        average = float(weights.mean())
        # all exactly zero are free weights of a batch that helps no trusted sample; the next one may
        if 0 < average < 1e-3 and not self._warned:
            self._warned = True
            warnings.warn(
                f"nearly all weights are zero (mean {average:.1e}): the model stops learning. Try a smaller meta "
                "learning rate, normalize='weight-sum', a longer warm-up, or look at the trusted samples.",
                stacklevel=4,
            )


def detached(outputs: Any) -> Any:
    """What a model returned, without its graph: a tensor, or tensors in tuples, lists and dicts; else as it is."""
    return tree_map_only(Tensor, torch.detach, outputs)
