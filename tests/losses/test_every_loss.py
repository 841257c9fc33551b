"""What holds for every loss: its shape, its derivatives, its nerve, and its complaints."""

from functools import partial

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from reweigh.errors import DataError


def test_a_soft_label_that_is_certain_is_the_integer(loss, logits, labels):
    torch.testing.assert_close(loss(logits, torch.eye(4)[labels]), loss(logits, labels))
    assert loss(logits, labels).shape == labels.shape


def test_small_integers_are_labels_too(loss, logits, labels):
    if loss.func.__name__ != "cross_entropy":  # torch's own
        assert torch.equal(loss(logits, labels.int()), loss(logits, labels))


@pytest.mark.parametrize("kind", ["labels", "rows"])
def test_derivatives_backward_forward_and_twice(loss, logits, kind, request):
    function = partial(loss, labels=request.getfixturevalue(kind)[:5])
    inputs = logits[:5].clone().requires_grad_()
    assert gradcheck(function, inputs, check_forward_ad=True)
    assert gradgradcheck(function, inputs)
    assert torch.func.jvp(function, (logits[:5],), (logits[:5],))[1].shape == (5,)


@pytest.mark.parametrize("size", [30.0, 1e3, 1e4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_sure_model_right_or_wrong_has_finite_derivatives(loss, size, dtype):
    values = size * torch.tensor([[1.0, -1, 0, 0], [1, 1, -1, -1], [0, 0, 0, 0], [-1, 1, -1, -1]], dtype=dtype)
    for labels in (torch.tensor([0, 1, 2, 3]), torch.tensor([1, 2, 0, 1]), torch.full((4, 4), 0.25)):
        labels = labels.to(dtype) if labels.dim() == 2 else labels
        inputs = values.clone().requires_grad_()
        found = loss(inputs, labels)
        assert found.isfinite().all()
        assert (found > -1e-6).all()
        (slope,) = torch.autograd.grad(found.sum(), inputs, create_graph=True)
        assert slope.isfinite().all()
        (again,) = torch.autograd.grad(slope.square().sum(), inputs)
        assert again.isfinite().all()
        assert torch.func.jvp(lambda z, y=labels: loss(z, y), (values,), (values,))[1].isfinite().all()


def test_single_precision_agrees_with_double(loss, logits, labels):
    single = loss(logits.float(), labels)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), loss(logits, labels), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("wrong", [4, -1])
def test_a_label_that_is_no_class(loss, logits, labels, wrong):
    labels = labels.clone()
    labels[2] = wrong
    with pytest.raises(DataError, match=f"labels from {min(wrong, 0)} to {max(wrong, 3)} for a model with 4 outputs"):
        loss(logits, labels)


@pytest.mark.parametrize("labels", [torch.zeros(12), torch.zeros(11).long(), torch.zeros(12, 3)], ids=str)
def test_labels_of_a_wrong_shape(loss, logits, labels):
    if loss.func.__name__ != "cross_entropy":  # torch's own complaint
        with pytest.raises(DataError, match=r"labels: shape .* for logits of shape \(12, 4\); give integers"):
            loss(logits, labels)
