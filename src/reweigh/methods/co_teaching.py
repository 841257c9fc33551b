"""Co-teaching: two networks, each of which chooses the samples that the other one learns from."""

import copy
from typing import Annotated, Any

import torch
from annotated_types import Ge, Lt
from torch import Tensor, nn
from torch.optim import Optimizer

from reweigh.core.batch import Batch
from reweigh.core.scope import scoped
from reweigh.errors import RecipeError
from reweigh.methods.erm import ERM
from reweigh.methods.setup import Setup


class CoTeaching(ERM):
    """Co-teaching (Han et al., NeurIPS 2018): each of two networks learns from what the other finds easy.

    Of each batch a network learns from the share of smallest loss in the eyes of its peer; the rest is forgotten. In
    epoch T, counted from 0, that rest is forget_rate min(T / gradual_epochs, 1), and nothing during the warm-up. The
    first network is judged and saved; its steps cost twice those of plain training.

    Both have the same optimizer and schedule. The second starts from the values of the first in shuffled places, so
    that it is initialized in the same way, whatever the model, yet knows nothing of the first.

    Han, Yao, Yu, Niu, Xu, Hu, Tsang, Sugiyama: Co-teaching: Robust Training of Deep Neural Networks with Extremely
    Noisy Labels.

    Args:
        forget_rate: share of a batch that is forgotten in the end. Paper: tau, the rate of wrong labels, which it
            takes as known; the default is a guess.
        gradual_epochs: until then. Paper: T_k.
        reset: the part of the second network that starts differently: all, last-block, last-layer (for a model that
            has learned before), or a pattern.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        forget_rate: Annotated[float, Ge(0), Lt(1)] = 0.2,
        gradual_epochs: Annotated[int, Ge(0)] = 10,
        reset: str = "all",
    ):
        super().__init__(setup)
        if not 0 <= forget_rate < 1:
            raise RecipeError(
                f"method.forget_rate: got {forget_rate:g}; should be at least 0 and below 1, the share of wrong labels "
                "as far as it is known"
            )
        self._forget_rate = forget_rate
        self._gradual_epochs = gradual_epochs
        self._peer, self._peer_optimizer = _peer(setup, reset)
        self._forgotten = 0.0
        self._weights = torch.full((len(setup.train_set),), float("nan"))

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        self._peer.train()
        for ours, theirs in zip(self._setup.optimizer.param_groups, self._peer_optimizer.param_groups, strict=True):
            theirs["lr"] = ours["lr"]
        progress = min(epoch / self._gradual_epochs, 1.0) if self._gradual_epochs else 1.0
        self._forgotten = 0.0 if warm_up else self._forget_rate * progress

    def step(self, batch: Batch) -> dict[str, float]:
        own, theirs = (self._setup.loss(net(batch.inputs), batch.labels) for net in (self._model, self._peer))
        for_us, for_them = self._easiest(theirs), self._easiest(own)
        loss = batch.weighted(own)[for_us].mean()
        for optimizer, objective in (
            (self._setup.optimizer, loss),
            (self._peer_optimizer, batch.weighted(theirs)[for_them].mean()),
        ):
            optimizer.zero_grad()
            objective.backward()
            optimizer.step()
        self._weights[batch.index.cpu()] = for_us.to(self._weights)
        return {"loss": loss.item(), "weight": float(for_us.float().mean())}

    def _easiest(self, losses: Tensor) -> Tensor:
        """Which samples are not forgotten, one at least: shape (n,), boolean."""
        kept = max(len(losses) - round(self._forgotten * len(losses)), 1)
        easiest = losses.detach().argsort(stable=True)[:kept]
        return torch.zeros_like(losses, dtype=torch.bool).scatter(0, easiest, True)

    def sample_weights(self) -> Tensor | None:
        return self._weights

    def state_dict(self) -> dict[str, Any]:
        return {
            **super().state_dict(),
            "peer": self._peer.state_dict(),
            "peer_optimizer": self._peer_optimizer.state_dict(),
            "forgotten": self._forgotten,
            "weights": self._weights,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._peer.load_state_dict(state["peer"])
        self._peer_optimizer.load_state_dict(state["peer_optimizer"])
        self._peer.train()
        self._forgotten, self._weights = state["forgotten"], state["weights"]


def _peer(setup: Setup, reset: str) -> tuple[nn.Module, Optimizer]:
    """A copy of model and optimizer that starts elsewhere; draws from no generator that anyone else uses."""
    peer, optimizer = copy.deepcopy(
        (setup.model, setup.optimizer)
    )  # together: the optimizer's parameters are the copy's
    generator = torch.Generator().manual_seed(setup.generator.initial_seed() + 1)
    with torch.no_grad():
        for param in scoped(peer, optimizer, reset).values():
            places = torch.randperm(param.numel(), generator=generator).to(param.device)
            param.copy_(param.flatten()[places].view_as(param))
    return peer, optimizer
