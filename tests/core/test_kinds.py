"""Kinds of layers, models, losses and optimizers for which the meta-gradient is exact: a row each, with the oracle."""

from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from tests.core.meta_gradient import CLASSES, WIDTH, Around, around, check
from torch import Tensor, nn
from torch.nn.utils import parametrizations
from torch.optim import SGD, Adam, AdamW
from torch.utils.checkpoint import checkpoint

SEQUENCE, IMAGE = (4, 3), (3, 4, 4)
GRID = torch.rand(8, 3, 3, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
S = nn.Sequential


@pytest.fixture(autouse=True)
def _double() -> Any:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(WIDTH, WIDTH)
        self.other = nn.Linear(WIDTH, WIDTH)
        self.other.weight = self.one.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.other(self.one(x).tanh())


class Experts(nn.Module):
    def __init__(self, top: int | None):
        super().__init__()
        self.gate, self.experts = nn.Linear(WIDTH, 4), nn.ModuleList(nn.Linear(WIDTH, 5) for _ in range(4))
        self.top = top

    def forward(self, x: Tensor) -> Tensor:
        scores = self.gate(x)
        if self.top:
            scores = scores.masked_fill(scores < scores.topk(self.top).values[:, -1:], -torch.inf)
        return torch.stack([expert(x) for expert in self.experts], 1).mul(scores.softmax(1)[:, :, None]).sum(1)


class Words(nn.Module):
    def __init__(self, **options: Any):
        super().__init__()
        self.table = nn.Embedding(10, 6, **options)

    def forward(self, x: Tensor) -> Tensor:
        return self.table((x.detach().abs() * 5).long().clamp_max(9)).tanh()


class Cells(nn.Module):
    def __init__(self, kind: Any):
        super().__init__()
        self.cell = kind(3, 5)

    def forward(self, x: Tensor) -> Tensor:
        state = None
        for step in x.unbind(1):
            state = self.cell(step, state)
        return state[0] if isinstance(state, tuple) else state


class Attention(nn.Module):
    def __init__(self, **options: Any):
        super().__init__()
        self.attention = nn.MultiheadAttention(3, 3, batch_first=True, **options)

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x, x, x, need_weights=False)[0]


class Memory(nn.Module):
    """A buffer that follows the batches, and is used."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        self.mean.lerp_(x.detach().mean(0), 0.1)
        return (x - self.mean).tanh()


class Applied(nn.Module):
    """A module that is called in another way than with one argument."""

    def __init__(self, part: nn.Module, function: Any):
        super().__init__()
        self.part, self.function = part, function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.part, x)


def recurrent(kind: Any, **options: Any) -> Any:
    return lambda: Around(kind(3, 5, batch_first=True, **options), SEQUENCE)


def layer(make: Any, shape: tuple[int, ...] = (WIDTH,)) -> Any:
    return lambda: Around(make(), shape)


def then_tanh(make: Any, shape: tuple[int, ...] = (WIDTH,)) -> Any:
    return lambda: Around(S(make(), nn.Tanh()), shape)


ACTIVATIONS = [nn.ReLU, nn.GELU, nn.SiLU, nn.ELU, nn.CELU, nn.SELU, nn.Softplus, nn.Mish, nn.Hardswish, nn.LeakyReLU]
ACTIVATIONS += [nn.PReLU, nn.GLU, nn.Sigmoid, nn.Softsign, nn.Hardtanh, nn.LogSigmoid, nn.Tanhshrink, nn.ReLU6]

MODELS: dict[str, Any] = {
    **{kind.__name__: layer(kind) for kind in ACTIVATIONS},
    "BatchNorm1d": then_tanh(lambda: nn.BatchNorm1d(WIDTH)),
    "BatchNorm2d": then_tanh(lambda: nn.BatchNorm2d(3), IMAGE),
    "BatchNorm1d that is frozen": then_tanh(lambda: nn.BatchNorm1d(WIDTH).eval()),
    "LayerNorm": then_tanh(lambda: nn.LayerNorm(WIDTH)),
    "RMSNorm": then_tanh(lambda: nn.RMSNorm(WIDTH)),
    "GroupNorm": then_tanh(lambda: nn.GroupNorm(2, WIDTH)),
    "InstanceNorm1d": then_tanh(lambda: nn.InstanceNorm1d(4, affine=True), SEQUENCE),
    "LocalResponseNorm": then_tanh(lambda: nn.LocalResponseNorm(2), IMAGE),
    "weight_norm": then_tanh(lambda: parametrizations.weight_norm(nn.Linear(WIDTH, 5))),
    "spectral_norm": then_tanh(lambda: parametrizations.spectral_norm(nn.Linear(WIDTH, 5))),
    "orthogonal": then_tanh(lambda: parametrizations.orthogonal(nn.Linear(5, 5)), (5,)),
    "Bilinear": layer(lambda: Applied(nn.Bilinear(WIDTH, WIDTH, 5), lambda part, x: part(x, x.tanh()))),
    "Conv1d": then_tanh(lambda: nn.Conv1d(4, 5, 2), SEQUENCE),
    "Conv2d": then_tanh(lambda: nn.Conv2d(3, 5, 3, padding=1), IMAGE),
    "Conv3d": then_tanh(lambda: nn.Conv3d(2, 3, 2), (2, 2, 3, 3)),
    "ConvTranspose2d": then_tanh(lambda: nn.ConvTranspose2d(3, 2, 2, stride=2), IMAGE),
    "Conv2d, depthwise": then_tanh(lambda: nn.Conv2d(3, 6, 2, groups=3), IMAGE),
    "Conv2d, dilated": then_tanh(lambda: nn.Conv2d(3, 2, 2, dilation=2), IMAGE),
    "Conv2d, strided": then_tanh(lambda: nn.Conv2d(3, 2, 2, stride=2), IMAGE),
    "Conv2d, circular": then_tanh(lambda: nn.Conv2d(3, 2, 3, padding=1, padding_mode="circular"), IMAGE),
    "MaxPool2d": then_tanh(lambda: nn.MaxPool2d(2), IMAGE),
    "AvgPool2d": then_tanh(lambda: nn.AvgPool2d(2), IMAGE),
    "AdaptiveAvgPool2d": then_tanh(lambda: nn.AdaptiveAvgPool2d(3), IMAGE),
    "AdaptiveMaxPool2d": then_tanh(lambda: nn.AdaptiveMaxPool2d(2), IMAGE),
    "PixelShuffle": then_tanh(lambda: nn.PixelShuffle(2), (4, 2, 2)),
    "Unfold": then_tanh(lambda: nn.Unfold(2), IMAGE),
    "Upsample": then_tanh(lambda: nn.Upsample(scale_factor=2, mode="bilinear"), IMAGE),
    "Dropout": then_tanh(lambda: nn.Dropout(0.4)),
    "Dropout2d": then_tanh(lambda: nn.Dropout2d(0.4), IMAGE),
    "AlphaDropout": then_tanh(lambda: nn.AlphaDropout(0.3)),
    "RReLU": layer(nn.RReLU),
    "Embedding": layer(Words),
    "Embedding, sparse": layer(partial(Words, sparse=True)),
    "Embedding, largest norm": layer(partial(Words, padding_idx=0)),
    "RNN": recurrent(nn.RNN),
    "LSTM": recurrent(nn.LSTM),
    "LSTM, both ways": recurrent(nn.LSTM, bidirectional=True),
    "GRU, two layers": recurrent(nn.GRU, num_layers=2),
    "LSTMCell": layer(partial(Cells, nn.LSTMCell), SEQUENCE),
    "GRUCell": layer(partial(Cells, nn.GRUCell), SEQUENCE),
    "MultiheadAttention": layer(Attention, SEQUENCE),
    "MultiheadAttention, dropout": layer(partial(Attention, dropout=0.3), SEQUENCE),
    "scaled_dot_product_attention": around(lambda x: F.scaled_dot_product_attention(x, x.tanh(), x), SEQUENCE),
    "TransformerEncoderLayer": layer(lambda: nn.TransformerEncoderLayer(3, 1, 8, 0.1, batch_first=True), SEQUENCE),
    "TransformerDecoderLayer": layer(
        lambda: Applied(nn.TransformerDecoderLayer(3, 1, 8, 0.0, batch_first=True), lambda part, x: part(x, x.tanh())),
        SEQUENCE,
    ),
    "tied weights": layer(Tied),
    "mixture of experts": layer(partial(Experts, None)),
    "mixture of the best experts": layer(partial(Experts, 2)),
    "a buffer that is learned": layer(Memory),
    "checkpointed": layer(lambda: Applied(S(nn.Linear(WIDTH, 5), nn.Tanh()), partial(checkpoint, use_reentrant=False))),
    "residual, in place": around(lambda x: (x.tanh() + x).relu_()),
    "detached": around(lambda x: x.tanh() * x.detach().sigmoid()),
    "frozen part": lambda: Around(nn.Linear(WIDTH, 5).requires_grad_(False)),
    "einsum": around(lambda x: torch.einsum("ni,nj->nij", x.tanh(), x.sin())),
    "fft": around(lambda x: torch.fft.rfft(x).abs()),
    "cumsum": around(lambda x: x.tanh().cumsum(1)),
    "sort": around(lambda x: x.sort(1).values.tanh()),
    "topk": around(lambda x: x.topk(4).values.tanh()),
    "gather": around(lambda x: x.tanh().gather(1, x.detach().argsort(1))),
    "index_add": around(lambda x: x.new_zeros(len(x), 5).index_add(1, torch.arange(WIDTH) % 5, x.tanh())),
    "logsumexp": around(lambda x: x.unflatten(1, (3, 4)).logsumexp(2)),
    "where": around(lambda x: torch.where(x > 0, x.sin(), x.exp())),
    "linalg.solve": around(lambda x: torch.linalg.solve(torch.eye(3) * 4 + x[:, :9].view(-1, 3, 3).tanh(), x[:, :3])),
    "cosine similarity": around(lambda x: F.cosine_similarity(x[:, :, None], x.tanh()[:, None, :].mT, dim=2)),
    "grid_sample": around(lambda x: F.grid_sample(x.tanh(), GRID[: len(x)], align_corners=False), IMAGE),
    "interpolate": around(lambda x: F.interpolate(x.tanh(), size=6, mode="bicubic"), IMAGE),
    "softmax of pairs": around(lambda x: (x @ x.T).softmax(1) @ x),
}

OPTIMIZERS: dict[str, Any] = {
    "SGD": lambda params: SGD(params, 0.5),
    "SGD, weight decay": lambda params: SGD(params, 0.5, momentum=0.9, weight_decay=0.1),
    "SGD, dampening": lambda params: SGD(params, 0.5, momentum=0.9, dampening=0.3),
    "SGD, Nesterov": lambda params: SGD(params, 0.5, momentum=0.9, nesterov=True),
    "SGD, maximize": lambda params: SGD(params, 0.1, maximize=True),
    "SGD, foreach": lambda params: SGD(params, 0.5, foreach=True),
    "SGD, groups": lambda params: SGD([{"params": params[:2], "lr": 0.1}, {"params": params[2:]}], 0.5),
    "SGD, rate as a tensor": lambda params: SGD(params, torch.tensor(0.5)),
    "Adam": lambda params: Adam(params, 0.01, eps=1e-3),
    "Adam, weight decay": lambda params: Adam(params, 0.01, eps=1e-3, weight_decay=0.1),
    "Adam, AMSGrad": lambda params: Adam(params, 0.01, eps=1e-3, amsgrad=True),
    "Adam, fused": lambda params: Adam(params, 0.01, eps=1e-3, fused=True),
    "Adam, maximize": lambda params: Adam(params, 0.01, eps=1e-3, maximize=True),
    "AdamW": lambda params: AdamW(params, 0.01, eps=1e-3, weight_decay=0.1),
}


def focal(outputs: Tensor, labels: Tensor) -> Tensor:
    losses = F.cross_entropy(outputs, labels, reduction="none")
    return (1 - torch.exp(-losses)) ** 2 * losses


LOSSES: dict[str, Any] = {
    "label smoothing": partial(F.cross_entropy, reduction="none", label_smoothing=0.1),
    "focal": focal,
    "squared": lambda outputs, labels: (outputs.softmax(1) - F.one_hot(labels, CLASSES)).square().sum(1),
    "a penalty": lambda outputs, labels: F.cross_entropy(outputs, labels, reduction="none") + outputs.square().mean(1),
    "margin": lambda outputs, labels: F.multi_margin_loss(outputs, labels, reduction="none", p=2),
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    check(MODELS[name])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name: str) -> None:
    limit = 1e-5 if "Adam" in name else 1e-6  # of the oracle: the step is curved
    check(around(torch.tanh), optimizer=OPTIMIZERS[name], limit=limit)


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name: str) -> None:
    check(around(torch.tanh), loss=LOSSES[name])
