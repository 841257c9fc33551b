"""Every model of the table: its shape, its size and cost as published, both directions of autodiff, its errors."""

import pytest
import torch
import torch.nn.functional as F
from torch.func import functional_call, jvp
from torch.utils.flop_counter import FlopCounterMode

from reweigh.errors import ModelError, RecipeError
from reweigh.models import MODELS, build, find

# At 10 classes for 32 x 32 color images, at 1000 classes for 224 x 224.
# (a) He et al. 2016, table 6: 0.46M; exact in many replications of it, e.g. with 68.86M multiply-adds.
# (b) github.com/jvlmdr/flax-cifar, README, an implementation in another framework.
# (c) torchvision, metadata of the weights: "num_params" and "_ops" (in 1e9 multiply-adds).
# (d) github.com/osmr/imgclsmob, table of ImageNet models: "Params" and "FLOPs" (multiply-adds).
# (e) the CIFAR version with 3x3 stem in github.com/kuangliu/pytorch-cifar, as tabulated by its replications.
# (f) the architecture of github.com/geifmany/cifar-vgg; Keras summaries of it count 14,991,946 trainable parameters.
PUBLISHED = [
    ("resnet32", 32, 10, 464_154, 68.86e6),  # (a)
    ("preact-resnet18", 32, 10, 11_172_170, 556.5e6),  # (b), cost from (e)
    ("wrn-28-2", 32, 10, 1_467_610, None),  # (b)
    ("wrn-28-8", 32, 10, 23_354_842, None),  # (b)
    ("resnet34", 32, 10, 21_282_122, 1161e6),  # (e)
    ("resnet50", 32, 10, 23_520_842, 1304e6),  # (b), cost from (e)
    ("resnet10", 224, 1000, 5_418_792, 894e6),  # (d)
    ("resnet34", 224, 1000, 21_797_672, 3.664e9),  # (c)
    ("resnet50", 224, 1000, 25_557_032, 4.089e9),  # (c)
    ("vgg16-bn", 32, 10, 14_991_946, None),  # (f)
    ("vgg16-bn", 224, 1000, 138_365_992, 15.47e9),  # (c)
    ("vgg19-bn", 224, 1000, 143_678_248, 19.632e9),  # (c)
    ("bilinear-vgg16", 224, 1, 14_714_688 + 512**2 + 1, None),  # VGG-16 without its head, as Keras counts it
]

SMALLEST = {"vgg16-bn": 32, "vgg19-bn": 32, "cnn": 4, "bilinear-vgg16": 16}


def smallest_shape(name):
    size = SMALLEST.get(name, 8)
    return (3, size, size)


@pytest.mark.parametrize(("name", "size", "classes", "parameters", "multiply_adds"), PUBLISHED)
def test_size_and_cost_as_published(name, size, classes, parameters, multiply_adds):
    with torch.device("meta"):
        model = build(name, (3, size, size), classes).eval()
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            logits = model(torch.empty(1, 3, size, size))
    assert logits.shape == (1, classes)
    assert sum(p.numel() for p in model.parameters()) == parameters
    if multiply_adds is not None:
        assert counter.get_total_flops() / 2 == pytest.approx(multiply_adds, rel=0.01)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_forward_mode_agrees_with_backward(name):
    """The derivative of the loss along a direction is the inner product of direction and gradient."""
    torch.manual_seed(0)
    model = build(name, smallest_shape(name), 5).double()
    inputs, labels = torch.randn(2, *smallest_shape(name), dtype=torch.float64), torch.tensor([0, 4])
    params = {key: value.detach() for key, value in model.named_parameters()}
    direction = {key: torch.randn_like(value) for key, value in params.items()}

    def loss(params):
        torch.manual_seed(1)  # the same dropout in both
        buffers = {key: value.clone() for key, value in model.named_buffers()}
        return F.cross_entropy(functional_call(model, {**params, **buffers}, (inputs,)), labels)

    _, along = jvp(loss, (params,), (direction,))
    torch.manual_seed(1)
    F.cross_entropy(model(inputs), labels).backward()
    inner = sum((p.grad * direction[key]).sum() for key, p in model.named_parameters())
    torch.testing.assert_close(along, inner, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_logits_of_gray_images(name):
    shape = (1, *smallest_shape(name)[1:])
    model = build(name, shape, 7).eval()
    with torch.no_grad():
        logits = model(torch.randn(2, *shape))
    assert logits.shape == (2, 7)
    assert logits.isfinite().all()


@pytest.mark.parametrize("name", ["mlp", "cnn", "resnet32", "wrn-28-2"])
def test_seed_decides_the_start(name):
    def weights(seed):
        torch.manual_seed(seed)
        return torch.cat([p.detach().flatten() for p in build(name, (1, 8, 8), 3).parameters()])

    assert torch.equal(weights(0), weights(0))
    assert not torch.equal(weights(0), weights(1))


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"mlp"}))
@pytest.mark.parametrize("shape", [(20,), (28, 28), (3, 0, 8), (1, 3, 32, 32)])
def test_image_models_refuse_what_is_no_image(name, shape):
    with pytest.raises(ModelError, match=rf"model '{name}' needs images of shape \(channels, height, width\)"):
        build(name, shape, 10)


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"mlp"}))
def test_image_models_refuse_images_too_small(name):
    smallest = smallest_shape(name)[1]
    with pytest.raises(ModelError, match=f"at least {smallest} x {smallest}, but got {smallest} x {smallest - 1}"):
        build(name, (3, smallest, smallest - 1), 10)


def test_unknown_model():
    with pytest.raises(
        RecipeError, match=r"no model named 'resnet3'; there are: bilinear-vgg16, cnn, .* Did you mean 'resnet3[24]'\?"
    ):
        find("resnet3")


def test_options_arrive():
    assert build("mlp", (4,), 2, hidden=(3,), batch_norm=False)[1].weight.shape == (3, 4)


def test_the_bilinear_network_pools_outer_products():
    torch.manual_seed(0)
    model = build("bilinear-vgg16", (3, 32, 32), 4).double().eval()
    image = torch.randn(1, 3, 32, 32, dtype=torch.float64)
    with torch.no_grad():
        places = model.features(image)[0]
        total = torch.zeros(512, 512, dtype=torch.float64)
        for row in range(places.shape[1]):
            for column in range(places.shape[2]):
                total += torch.outer(places[:, row, column], places[:, row, column])
        pooled = (total / (places.shape[1] * places.shape[2]) + 1e-5).sqrt().flatten()
        expected = model.classifier(pooled / pooled.norm())
        torch.testing.assert_close(model(image)[0], expected)


def test_its_convolutions_are_called_as_those_of_torchvision():
    with torch.device("meta"):
        names = [name for name, _ in build("bilinear-vgg16", (3, 448, 448), 2).named_parameters()]
    numbers = [0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28]  # torchvision.models.vgg16().features
    own = [f"features.{number}.{part}" for number in numbers for part in ("weight", "bias")]
    assert names == [*own, "classifier.weight", "classifier.bias"]
