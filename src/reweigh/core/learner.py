"""One training step in which the weights of the samples are learned as well."""

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from copy import deepcopy
from functools import partial
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from reweigh.core.check import (
    check_engine,
    check_gradient,
    check_repetition,
    distance,
    stepping,
    tolerance,
    unregistered,
)
from reweigh.core.fast import Tricks
from reweigh.core.jvp import Auto, Engine, difference
from reweigh.core.objective import Forward, MetaObjective, Normalizer, Objective, Terms, map_tensors, mean
from reweigh.core.processes import Averaged, Reduce, alone
from reweigh.core.rerun import Params, Randomness, Rerun, is_compiled, scoped, sources_of_randomness, unwrapped
from reweigh.core.shards import ask_apart, is_sharded
from reweigh.core.step import Step
from reweigh.core.update import LookAhead, Update, dense, norm
from reweigh.core.weigher import Weigher
from reweigh.errors import RecipeError
from reweigh.names import lookup
from reweigh.threads import one_at_a_time

Order = Literal["virtual", "real"]


class MetaLearner:
    """The two levels of the paper's Algorithm 1, around any model and optimizer as they are.

    Args:
        model: may be compiled or wrapped for data parallel training.
        optimizer: trains ``model``; the look-ahead follows its rule.
        weigher: gives the weights and learns.
        engine: the Jacobian-vector product, see ``core.jvp``.
        lookahead: ``"virtual"``: look one step ahead, improve the weights, then train with them (the paper's).
            ``"real"``: train, then learn from that very step; cheaper, and the weights lag one step.
        plain_step: the look-ahead takes a plain gradient step, whatever the optimizer.
        scope: the part of the model that the look-ahead moves, see ``core.scope``.
        every: learn in every n-th step. Paper: T_meta.
        normalize: how weights are scaled, see ``core.normalize``.
        reduce: averages tensors over processes, in place.
        check: whether the first step that learns checks that the meta-gradient is exact, see ``core.check``.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optimizer,
        weigher: Weigher,
        engine: Engine,
        *,
        lookahead: Order = "virtual",
        plain_step: bool = False,
        scope: str = "all",
        every: int = 1,
        normalize: Normalizer = mean,
        reduce: Reduce = alone,
        check: bool = True,
    ):
        if lookahead == "real" and not weigher.remembers:
            why = f"{type(weigher).__name__} computes them from scratch for every batch; use lookahead = 'virtual'"
            raise RecipeError(f"lookahead = 'real' trains with the weights of the step before, but {why}")
        if lookahead == "real" and plain_step:
            raise RecipeError("lookahead_step = 'gradient' needs lookahead = 'virtual': a real step is the optimizer's")
        self.model = model
        self.optimizer = optimizer
        self.weigher = weigher
        self.engine = engine
        self.lookahead: Order = lookup({order: order for order in get_args(Order)}, lookahead, "look-ahead")
        self.every, self.steps = every, 0
        self.normalize = normalize
        self.reduce = reduce
        self._plain = unwrapped(model)
        self._sources = sources_of_randomness(self._plain)
        self._wanted, self._plain_step, self._warned = scope, plain_step, False
        self._check = check
        self._move(scoped(self._plain, optimizer, scope))
        self._device = next(iter(self._scope.values())).device

    @property
    def due(self) -> bool:
        """Whether the coming step will learn, and so needs a batch of trusted data."""
        return self.steps % self.every == 0

    @one_at_a_time()
    def step(self, objective: Objective, family: Tensor, meta: MetaObjective | None) -> Step:
        """Train on one batch, and where it is due learn the weights from ``meta``.

        Args:
            objective: the training batch.
            family: shape (slots,), the family of each slot's class.
            meta: the trusted batch; None skips learning in this step.
        """
        due = self.due
        self.steps += 1
        if due and meta is not None:
            return self._learn(objective, family, meta, self.lookahead)
        terms = objective(self.model)
        return self._train(terms, self.weigher(terms.losses.detach(), family))

    @one_at_a_time()
    def plain_step(self, objective: Objective) -> Step:
        """Train on one batch with weights of one; such steps are not counted."""
        terms = objective(self.model)
        return self._train(terms, torch.ones_like(terms.losses.detach()))

    @one_at_a_time()
    def learn(self, objective: Objective, family: Tensor, meta: MetaObjective) -> Tensor | None:
        """Look ahead and learn the weights without training the model, whose buffers and gradients stay as they are.

        Returns:
            The loss on trusted data one step ahead.
        """
        return self._learn(objective, family, meta, "only").meta_loss

    def gradient_norms(self, objective: Objective, family: Tensor, meta: MetaObjective) -> tuple[Tensor, Tensor]:
        """The norms of both gradients at this point (paper: Theorems 1 and 2); nothing is learned and nothing trained.

        Returns:
            Of the weighted training loss by the parameters that the look-ahead moves, the weights held constant as in
            Eq. 9; and of the loss on trusted data one step ahead by what is learned.
        """
        before = deepcopy(self.weigher.state_dict())
        try:
            norms = self._learn(objective, family, meta, "only").gradient_norms
        finally:
            self.weigher.load_state_dict(before)
        assert norms is not None
        return norms

    def _learn(
        self, objective: Objective, family: Tensor, meta: MetaObjective, lookahead: Literal["virtual", "real", "only"]
    ) -> Step:
        """Look one step ahead, take the meta gradient there back to the weights of the batch, and train.

            d meta / d v_i  =  < grad c_i(params), direction >         (paper Eq. 10, 15)

        The objective < v, c(params) > + rest is linear in the weights v, so one Jacobian-vector product gives all of
        them. The direction is the meta gradient, pulled back through the optimizer's step (-lr times it for SGD).

        Args:
            lookahead: ``"virtual"`` trains last; ``"real"`` trains by the very step that is the look-ahead; ``"only"``
                does not train.
        """
        self._follow()
        kind = self._device.type
        if torch.is_autocast_enabled(kind) and torch.get_autocast_dtype(kind) == torch.float16:
            raise RecipeError("small gradients are zero in float16, so no weights can be learned; use bfloat16")
        real, trains = lookahead == "real", lookahead != "only"
        compiled = is_compiled(self._plain)
        starts = Randomness.now if trains else Randomness.drawn
        randomness = starts(self._device, self._sources)
        again = Rerun(self._plain, randomness, compiled)
        state = {name: p.detach().clone() if real else p.detach() for name, p in again.params.items()}
        params = {name: state[name] for name in self._scope}

        # One forward of the batch serves the look-ahead and the training step, except that a compiled or wrapped model
        # gives up its graph after one backward.
        plain = self._plain is self.model and not compiled
        terms = None
        if trains:
            terms = self._tricks.first(objective)(self.model)
            randomness.narrow()
        if terms is not None and (plain or real):
            here, leaves = terms, self._scope
        else:
            leaves = {name: param.requires_grad_() for name, param in params.items()}
            with torch.enable_grad():
                here = again(self._tricks.first(objective), {**state, **leaves})

        def coefficients(at: Params) -> Tensor:
            if at is params and (plain or not real):  # known; what a compiled model computes differs in the last digits
                return here.coefficients.detach()
            return again(self._tricks.again(objective), {**state, **at}).coefficients

        # Weights, the inner gradient, and the parameters to which it leads.
        losses = here.losses.detach()
        with torch.enable_grad():
            raw = self.weigher.propose(losses, family)
            weights, loss = self._weighted(here, raw)
        check = self._check_now and bool(here.coefficients.isfinite().all())
        if check:
            check = self._check_forward(objective, again, state, here, weights)
        grads = self._backward(loss) if real else self._gradient(loss, leaves)
        ahead = LookAhead(self._update, params, grads)
        if check and not trains and self._alone:
            self._check_hooks(objective, again, raw.detach(), grads)
        if real:
            self._descend(partial(self._clean_gradient, objective, again, state, raw.detach()) if check else None)

        # The meta gradient there, back to the weights of the batch and to whatever gave them.
        there = Rerun(self._plain, Randomness.drawn(self._device, self._sources), compiled)
        at = there.params if real else {**there.params, **ahead.params()}
        meta_loss, slopes = self._meta_gradient(meta, there, at)
        direction, factor = ahead.pull_back(slopes)
        change = self.engine(coefficients, params, direction) * factor
        self._tricks.forget()
        outer = self.weigher.learn(weights, change.to(weights.dtype), self.reduce)

        step = Step(loss.detach(), raw.detach(), losses, meta_loss, detached(here.outputs))
        if terms is None:
            return step._replace(gradient_norms=(norm(list(grads.values())), outer))
        if not real:
            raw = self.weigher(terms.losses.detach(), family)
            clean = partial(self._clean_gradient, objective, again, state, raw) if check else None
            step = self._train(terms, raw, clean)
        self._warn_of_collapse(step.weights)
        inner = norm([dense(p.grad) for p in self._scope.values() if p.grad is not None])
        return step._replace(meta_loss=meta_loss, gradient_norms=(inner, outer))

    def _train(self, terms: Terms, weights: Tensor, clean: Callable[[], Params] | None = None) -> Step:
        _, loss = self._weighted(terms, weights)
        self._backward(loss)
        self._descend(clean)
        return Step(loss.detach(), weights, terms.losses.detach(), outputs=detached(terms.outputs))

    def _weighted(self, terms: Terms, weights: Tensor) -> tuple[Tensor, Tensor]:
        """The weights as they are scaled, and the objective with them, held constant.

        Processes have parts of one batch. Their gradients are averaged, so each divides by the mean over processes of
        what one process would divide by.
        """
        size: Tensor | int = terms.size
        if self.reduce is not alone:
            size = self.average(torch.tensor(float(size), dtype=torch.float64, device=self._device))
        scaled = self.normalize(weights, size, self.average)
        coefficients, rest = terms.coefficients, terms.rest
        loss = torch.dot(scaled.detach().to(coefficients.dtype), coefficients)
        if isinstance(rest, Tensor):
            loss = loss + (rest if self.reduce is alone else rest * (terms.size / size)).to(coefficients.dtype)
        return scaled, loss

    def average(self, value: Tensor) -> Tensor:
        return value if self.reduce is alone else Averaged.apply(value, self.reduce)

    def share(self, size: int) -> Tensor | None:
        """How much a mean over ``size`` samples of this process counts in the mean over processes; None in one."""
        if self.reduce is alone:
            return None
        return size / self.average(torch.tensor(float(size), dtype=torch.float64, device=self._device))

    def _gradient(self, loss: Tensor, leaves: Params) -> Params:
        """The gradient of the objective; a parameter that it does not touch is left out."""
        grads = torch.autograd.grad(loss, list(leaves.values()), retain_graph=True, allow_unused=True)
        found = {name: dense(grad) for name, grad in zip(leaves, grads, strict=True) if grad is not None}
        self.reduce(list(found.values()))
        return found

    def _backward(self, loss: Tensor) -> Params:
        """The same gradient where the optimizer looks for it; a wrapped model averages it by itself."""
        self.optimizer.zero_grad()
        loss.backward()
        return {name: param.grad for name, param in self._scope.items() if param.grad is not None}

    def _descend(self, clean: Callable[[], Params] | None = None) -> None:
        """The step of the optimizer; ``clean`` computes the gradient of the loss where the step is to be checked."""
        watched = stepping(self._plain, self._scope, self._update, clean) if clean and self._alone else nullcontext()
        with watched:
            self.optimizer.step()
        torch.clear_autocast_cache()  # it would hand the parameters of before the step to the forwards after it

    @property
    def _alone(self) -> bool:
        """Whether a single process computes the whole model."""
        return self.reduce is alone and not is_sharded(self._plain)

    def _check_forward(self, objective: Objective, again: Rerun, state: Params, here: Terms, weights: Tensor) -> bool:
        """Once, in the first step that learns: which tricks and which engine are right for the model.

        Returns:
            Whether the forward can be repeated.
        """
        self._check_now = False

        scope = {name: state[name].detach() for name in self._scope}
        product = self.engine.in_use if isinstance(self.engine, Auto) else self.engine

        def computed(batch: Objective) -> list[Tensor]:
            """The coefficients, and an exact engine's product along the parameters."""
            with torch.enable_grad():
                found = [again(batch, state).coefficients.detach()]
            if product is not difference:  # its noise would hide a difference
                found.append(product(lambda at: again(batch, {**state, **at}).coefficients, scope, scope))
            return found

        def is_same() -> bool:
            pairs = zip(computed(self._tricks.again(objective)), computed(objective), strict=True)
            return all(distance([found], [expected]) <= tolerance(here.coefficients) for found, expected in pairs)

        repeats = not self._alone or check_repetition(lambda: again(objective, state), here)
        if repeats and self._alone:
            check_engine(self.engine, objective, again, state, list(self._scope), weights)
        if repeats:
            self._tricks.try_out(is_same)
        return repeats

    def _check_hooks(self, objective: Objective, again: Rerun, weights: Tensor, expected: Params) -> None:
        """Compare the gradient at copies of the parameters with that at the parameters, where hooks see it."""
        outside = unregistered(self._plain, self.optimizer)
        with torch.enable_grad():
            _, loss = self._weighted(again(objective, {}), weights)
        found = torch.autograd.grad(loss, [*self._scope.values(), *outside], allow_unused=True)
        pairs = zip(self._scope, found, strict=False)
        touched = [tensor for tensor, grad in zip(outside, found[len(self._scope) :], strict=True) if grad is not None]
        check_gradient({name: dense(grad) for name, grad in pairs if grad is not None}, expected, touched)

    def _clean_gradient(self, objective: Objective, again: Rerun, state: Params, weights: Tensor) -> Params:
        """The gradient of the objective at copies of the parameters, which no hook sees."""
        leaves = {name: state[name].detach().requires_grad_() for name in self._scope}
        with torch.enable_grad():
            _, loss = self._weighted(again(objective, {**state, **leaves}), weights)
        return self._gradient(loss, leaves)

    def _meta_gradient(self, meta: MetaObjective, there: Rerun, at: Params) -> tuple[Tensor, Params]:
        """The loss on trusted data at parameters ``at``, and its gradient by those that the look-ahead moves."""
        state = {name: param.detach() for name, param in at.items()}
        leaves = {name: state[name].requires_grad_() for name in self._scope}

        def differentiated(forward: Forward) -> tuple[Tensor, Params]:
            with self._tricks.layout():
                loss = meta(forward)
            found = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
            pairs = zip(leaves.items(), found, strict=True)
            return loss.detach(), {n: torch.zeros_like(leaf) if grad is None else grad for (n, leaf), grad in pairs}

        with torch.enable_grad():
            loss, grads = there(differentiated, state)
        grads = {name: dense(grad) for name, grad in grads.items()}
        self.reduce(list(grads.values()))
        return loss, grads

    def _follow(self) -> None:
        """The user may have frozen parameters since, or given the optimizer more of them."""
        now = scoped(self._plain, self.optimizer, self._wanted)
        if now.keys() != self._scope.keys():
            self._move(now)

    def _move(self, scope: Params) -> None:
        """Let the look-ahead move these parameters."""
        self._scope = scope
        if self._wanted != "all":
            ask_apart(self._plain, scope)
        self._update = Update(self.optimizer, scope, self._plain_step)
        known = self._wanted != "all" and self._plain is self.model
        self._tricks = Tricks(self._plain, scope if known else None)
        self._check_now = self._check

    def _warn_of_collapse(self, weights: Tensor) -> None:
        average = float(weights.mean())
        # all exactly zero are free weights of a batch that helps no trusted sample; the next one may
        if self.normalize is mean and 0 < average < 1e-3 and not self._warned:  # others undo a common factor
            self._warned = True
            warnings.warn(
                f"nearly all weights are zero (mean {average:.1e}): the model stops learning. Try a smaller meta "
                "learning rate, normalize='weight-sum', a longer warm-up, or look at the trusted samples.",
                stacklevel=4,
            )


def detached(outputs: Any) -> Any:
    return map_tensors(torch.detach, outputs)
