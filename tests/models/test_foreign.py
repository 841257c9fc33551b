import sys
from functools import partial
from textwrap import dedent

import pytest
import torch
from torch import nn

from reweigh.errors import ModelError
from reweigh.models import build as build_model

build = partial(build_model, trust_code=True)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module or package of the user; it is forgotten after the test."""

    def write(name, text):
        path = tmp_path / (name.replace(".", "/") + ".py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(dedent(text))
        for loaded in [key for key in sys.modules if key.split(".")[0] == name.split(".")[0]]:
            monkeypatch.delitem(sys.modules, loaded)
        monkeypatch.syspath_prepend(tmp_path)

    before = set(sys.modules)
    yield write
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


OWN = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self, input_shape, num_classes, width=4):
            super().__init__()
            self.a = nn.Linear(input_shape[0], width)
            self.drop = nn.Dropout(0.5)
            self.b = nn.Linear(width, num_classes)

        def forward(self, x):
            return self.b(self.drop(self.a(x)))

    def of_classes(num_classes):
        return nn.LazyLinear(num_classes)

    def of_anything(**options):
        return nn.Linear(options["input_shape"][0], options["num_classes"])

    def fixed():
        return nn.Linear(6, 1000)

    def no_module(num_classes):
        return lambda x: x

    def pair(num_classes):
        class Pair(nn.Module):
            def forward(self, x):
                return x, x
        return Pair()

    number = 3
"""


def test_own_class_gets_shape_and_classes(module):
    module("mine.nets", OWN)
    model = build("mine.nets:Net", (6,), 3, width=5)
    assert model.a.weight.shape == (5, 6)
    assert model.b.weight.shape == (3, 5)
    assert model.training
    assert model.drop.training


@pytest.mark.parametrize("member", ["of_classes", "of_anything"])
def test_own_function_gets_what_it_asks_for(module, member):
    module("mine2", OWN)
    assert build(f"mine2:{member}", (6,), 3)(torch.zeros(4, 6)).shape == (4, 3)


def test_building_draws_as_the_class_itself(module):
    """The trial run leaves no trace in the random numbers."""
    module("mine3", OWN)
    torch.manual_seed(0)
    model = build("mine3:Net", (6,), 3)
    state = torch.get_rng_state()
    torch.manual_seed(0)
    again = sys.modules["mine3"].Net((6,), 3)
    assert torch.equal(model.a.weight, again.a.weight)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("member", "options", "message"),
    [
        ("Nett", {}, r"no torch.nn.Module class and no function 'Nett'; it has: Net, fixed, no_module, of_anything"),
        ("number", {}, "has no torch.nn.Module class and no function 'number'"),
        ("Net", {"widht": 3}, "'mine4:Net' cannot be built for .*TypeError.*widht"),
        ("no_module", {}, "returns an object of type function; it must be a torch.nn.Module"),
        ("fixed", {}, r"returns \(2, 1000\) for two samples; it must return logits of shape \(2, 3\)"),
        ("pair", {}, "returns tuple for two samples"),
    ],
)
def test_what_does_not_fit(module, member, options, message):
    module("mine4", OWN)
    with pytest.raises(ModelError, match=message):
        build(f"mine4:{member}", (6,), 3, **options)


def test_wrong_input_shape(module):
    module("mine5", OWN)
    with pytest.raises(ModelError, match=r"'mine5:fixed' cannot take samples of shape \(7,\): RuntimeError"):
        build("mine5:fixed", (7,), 3)


def test_missing_module():
    with pytest.raises(ModelError, match=r"cannot import 'no_such_module_here' .*PYTHONPATH"):
        build("no_such_module_here:Net", (7,), 3)


@pytest.mark.parametrize("name", [":Net", "timm:", ":"])
def test_half_a_name(name):
    with pytest.raises(ModelError, match=r"write timm:NAME, torchvision:NAME or package\.module:Class"):
        build(name, (3, 8, 8), 3)


TIMM = """
    from torch import nn

    def create_model(name, num_classes, in_chans, drop_rate=0.0):
        if name != "tiny":
            raise RuntimeError(f"Unknown model ({name})")
        return nn.Sequential(nn.Conv2d(in_chans, 2, 3), nn.Dropout(drop_rate), nn.Flatten(), nn.LazyLinear(num_classes))
"""


def test_timm(module):
    module("timm", TIMM)
    model = build("timm:tiny", (1, 8, 8), 3, drop_rate=0.25)
    assert isinstance(model[1], nn.Dropout)
    assert model[1].p == 0.25
    assert model[0].in_channels == 1
    with pytest.raises(ModelError, match=r"'timm:huge' cannot be built for .*Unknown model \(huge\)"):
        build("timm:huge", (1, 8, 8), 3)


def test_timm_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ModelError, match=r"cannot import 'timm' .*pip install timm"):
        build("timm:resnet18", (3, 32, 32), 3)


def test_torchvision(module):
    module("torchvision.__init__", "")
    module("torchvision.models", """
        from torch import nn

        def get_model(name, num_classes):
            return nn.Sequential(nn.Flatten(), nn.Linear(192, num_classes))
    """)  # fmt: skip
    assert build("torchvision:any", (3, 8, 8), 3)[1].out_features == 3
    with pytest.raises(ModelError, match=r"'torchvision:any' cannot take samples of shape \(1, 8, 8\)"):
        build("torchvision:any", (1, 8, 8), 3)


def test_a_broken_torchvision(module):
    """One built for another torch raises RuntimeError on import."""
    module("torchvision.__init__", "raise RuntimeError('operator torchvision::nms does not exist')")
    with pytest.raises(ModelError, match=r"nms does not exist.*the torchvision that matches your torch"):
        build("torchvision:resnet18", (3, 32, 32), 3)


@pytest.mark.parametrize("name", ["mine6:Net", "timm:resnet18", "torchvision:resnet18", "os:system"])
def test_code_outside_the_package_is_not_run_unless_trusted(module, tmp_path, name):
    module("mine6", f"open({str(tmp_path / 'ran')!r}, 'w').close()")
    with pytest.raises(ModelError, match=f"model '{name}' is code outside reweigh.*--trust-code.*trust_code=True"):
        build_model(name, (6,), 3)
    assert not (tmp_path / "ran").exists()


def test_the_standard_library_is_refused(tmp_path):
    with pytest.raises(ModelError, match="'os' belongs to Python's standard library"):
        build("os:system", (6,), 3, command=f"touch {tmp_path / 'ran'}")
    assert not (tmp_path / "ran").exists()


def test_only_modules_and_functions_are_called(module, tmp_path):
    module("mine7", "from pathlib import Path\nclass Other:\n    def __init__(self, **options): Path('ran').touch()")
    with pytest.raises(ModelError, match=r"no torch\.nn\.Module class and no function 'Other'"):
        build("mine7:Other", (6,), 3)
