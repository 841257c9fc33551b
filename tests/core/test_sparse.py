"""Sparse batches against the dense rows that they stand for."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from scipy.sparse import csr_array
from scipy.sparse import random as random_matrix
from torch import Tensor, nn

from reweigh import Reweighter
from reweigh.core.jvp import ENGINES
from reweigh.core.sparse import SparseBatch
from reweigh.models import MODELS
from reweigh.models.mlp import SparseLinear

LABELS = torch.arange(12) % 3
FREE = torch.randperm(12, generator=torch.Generator().manual_seed(0))


def batch(seed: int = 0, dtype: torch.dtype = torch.float64) -> SparseBatch:
    matrix = csr_array(random_matrix(12, 40, 0.1, format="csr", random_state=seed))
    return SparseBatch(matrix, dtype)


KEPT: dict[str, Callable[[Tensor], Tensor]] = {
    "rows": lambda x: x[FREE[:5]],
    "mask": lambda x: x[FREE > 4],
    "slice": lambda x: x[2:7],
    "mixed": lambda x: 0.3 * x + (1 - 0.3) * x[FREE],
    "flat": lambda x: nn.Flatten()(x),
    "moved": lambda x: x.to("cpu").to(torch.float32).double(),
    "empty": lambda x: x[torch.empty(0, dtype=torch.int64)],
}
DENSE: dict[str, Callable[[Tensor], Any]] = {
    "one row": lambda x: x[3],
    "sum with a number": lambda x: x + 1,
    "rows of their own shares": lambda x: FREE[:, None] * x,
    "concatenated": lambda x: torch.cat([x, x]),
    "linear": lambda x: nn.functional.linear(x, torch.ones(2, 40, dtype=x.dtype)),
    "numpy": lambda x: torch.from_numpy(x.numpy()),
    "matrix": lambda x: x @ torch.ones(40, 2, dtype=x.dtype),
    "standardized": lambda x: (x - x.mean(0)).div_(2),
}


@pytest.mark.parametrize("name", KEPT | DENSE)
def test_the_same_as_dense(name: str) -> None:
    found, expected = (KEPT | DENSE)[name](batch()), (KEPT | DENSE)[name](batch().dense())
    assert isinstance(found, SparseBatch) == (name in KEPT)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    torch.testing.assert_close(found.dense() if isinstance(found, SparseBatch) else found, expected)


def test_metadata() -> None:
    sparse = batch(dtype=torch.float32)
    assert (sparse.shape, len(sparse), sparse.dim(), sparse.dtype) == ((12, 40), 12, 2, torch.float32)
    assert sparse.is_floating_point()
    assert not sparse.requires_grad


def test_the_layer_has_the_numbers_of_linear_and_its_gradients() -> None:
    torch.manual_seed(0)
    sparse = SparseLinear(40, 6).double()
    torch.manual_seed(0)
    linear = nn.Linear(40, 6).double()
    rows = batch()
    for inputs in (rows, rows.dense()):
        sparse.zero_grad()
        linear.zero_grad()
        found, expected = sparse(inputs), linear(rows.dense())
        torch.testing.assert_close(found, expected, rtol=1e-14, atol=1e-14)
        found.square().sum().backward()
        expected.square().sum().backward()
        assert sparse.weight.grad is not None
        assert linear.weight.grad is not None
        torch.testing.assert_close(sparse.weight.grad.t(), linear.weight.grad, rtol=1e-13, atol=1e-13)


def test_all_derivatives() -> None:
    rows, weight = batch(), torch.randn(40, 3, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(rows.times, weight, check_forward_ad=True)
    torch.autograd.gradcheck(lambda w: nn.functional.linear(rows, w.t()), weight, check_forward_ad=True)
    torch.autograd.gradgradcheck(lambda w: rows.times(w).tanh(), weight)


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("lookahead", ["virtual", "real"])
@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "auto"])
def test_the_meta_gradient_of_dense_rows(engine: str, lookahead: str, mixed: bool) -> None:
    def after(sparse: bool) -> list[Tensor]:
        torch.manual_seed(0)
        model = MODELS["mlp"]((40,), 3, hidden=(8, 8), sparse=sparse).double()
        # (AdamW's first step is so steep where a word is absent that a difference along it is mostly rounding)
        made = torch.optim.SGD if engine == "difference" else torch.optim.AdamW
        optimizer = made(model.parameters(), 0.01)
        it = Reweighter(model, optimizer, LABELS, every=1, engine=engine, lookahead=lookahead)
        inputs, trusted = batch(1), batch(2)
        if mixed:
            inputs, trusted = KEPT["mixed"](inputs), KEPT["mixed"](trusted)
        if not sparse:
            inputs, trusted = inputs.dense(), trusted.dense()
        norms = []
        for _ in range(3):
            step = it.step(inputs, LABELS, trusted, LABELS)
            assert step.gradient_norms is not None
            norms += [step.weights, *step.gradient_norms]
        return [norm.double() for norm in norms]

    precision = 1e-4 if engine == "difference" else 1e-9
    torch.testing.assert_close(after(True), after(False), rtol=precision, atol=1e-9)
