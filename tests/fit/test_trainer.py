"""A recipe becomes the objects that it names, with the options that it gives."""

from pathlib import Path

import pytest
import torch
from torch import nn

from reweigh.data import Dataset
from reweigh.errors import DataError, RecipeError
from reweigh.fit.source import data_root, read_source, read_training_set
from reweigh.fit.trainer import Trainer, builder, find_device
from reweigh.plan.check import examine
from reweigh.plan.choose import Facts, chosen
from reweigh.plan.edit import to_values
from reweigh.recipes.read import Contents, check, read

RECIPE = """
[data]
name = "digits"
[model]
name = "mlp"
hidden = [16]
[method]
name = "cmw-net"
every = 3
[train]
epochs = 10
batch_size = 64
seed = 5
[optimizer]
name = "sgd"
lr = 0.2
schedule = { name = "cosine", floor = 0.5 }
"""


def assemble(plan, trust_code=False):
    torch.manual_seed(plan.train["seed"])
    train_set, _, trusted, _ = read_source(plan)
    return Trainer(plan, builder(plan.model, trust_code), torch.device("cpu"), trusted).assemble(train_set)


def read_data(data, seed):
    return read_training_set(data, seed)[0]


def test_every_part_has_its_options(recipe):
    assembly = assemble(recipe("augment=[{name='flip'}]"))
    model = assembly.method.model
    assert [tuple(layer.weight.shape) for layer in model.modules() if isinstance(layer, torch.nn.Linear)] == [
        (16, 64), (10, 16),
    ]  # fmt: skip
    assert assembly.schedule.start_epoch(0) == 0.2
    assert assembly.schedule.start_epoch(5) == pytest.approx(0.2 * 0.75)
    assert assembly.setup.augment is not None


def test_the_seed_decides_the_model(recipe):
    def weights(*overrides):
        return next(assemble(recipe(*overrides)).method.model.parameters())

    assert torch.equal(weights(), weights())
    assert not torch.equal(weights(), weights("train.seed=6"))


def test_the_bias_follows_the_seed_of_the_run_or_its_own(recipe):
    def labels(*overrides):
        checked = recipe('data.bias=[{name="symmetric", rate=0.4}]', *overrides)
        train = read_data(checked.source, checked.train["seed"])
        assert train.true_labels is not None
        assert 0.3 < (train.labels != train.true_labels).double().mean() < 0.4  # a tenth of the draws hit the label
        return train.labels

    assert torch.equal(labels(), labels())
    assert not torch.equal(labels(), labels("train.seed=6"))
    assert torch.equal(labels("data.bias.0.seed=9"), labels("data.bias.0.seed=9", "train.seed=6"))
    assert torch.equal(labels("data.bias.0.seed=5"), labels())


def test_biases_follow_one_another(recipe):
    checked = recipe('data.bias=[{name="long-tail", imbalance_factor=10}, {name="symmetric", rate=0.4}]')
    train, test = read_training_set(checked.source, 0)
    assert len(train) < 1257 * 0.6
    assert len(test) == 540
    assert train.true_labels is not None
    assert torch.bincount(train.true_labels).max() >= 8 * torch.bincount(train.true_labels).min()


def test_noise_that_needs_posteriors_gets_them(recipe):
    checked = recipe('data.bias=[{name="feature-dependent-rival", rate=0.2, kind="I"}]')
    train = read_data(checked.source, 0)
    assert train.true_labels is not None
    assert (train.labels != train.true_labels).double().mean() == pytest.approx(0.2, abs=0.04)


def test_foreign_inputs_come_from_the_dataset_named(recipe):
    open_set = 'data.bias=[{name="open-set", rate=0.5}]'
    with pytest.raises(RecipeError, match=r"data\.foreign: missing"):
        read_data(recipe(open_set).source, 0)
    with pytest.raises(RecipeError, match=r"data\.foreign: no dataset named 'digitz'.*Did you mean 'digits'\?"):
        recipe(open_set, "data.foreign=digitz")
    plain, patched = (read_data(recipe(*more).source, 0) for more in ((), (open_set, "data.foreign=digits")))
    everything = torch.arange(len(plain))
    changed = (plain.inputs[everything] != patched.inputs[everything]).flatten(1).any(1)
    assert 0.45 < changed.double().mean() <= 0.5


def test_a_bias_that_empties_a_class_is_an_error(recipe):
    with pytest.raises(DataError, match="training set"):
        read_data(recipe('data.bias=[{name="asymmetric", rate=1.0, map={1 = 2}}]').source, 0)


def test_the_root_of_the_data(monkeypatch):
    monkeypatch.delenv("REWEIGH_DATA", raising=False)
    assert data_root(None) == Path("data")
    monkeypatch.setenv("REWEIGH_DATA", "/from/environment")
    assert data_root(None) == Path("/from/environment")
    assert data_root("/from/recipe") == Path("/from/recipe")


def test_devices():
    assert find_device("cpu") == torch.device("cpu")
    assert find_device("auto").type in ("cpu", "cuda", "mps")
    with pytest.raises(RecipeError, match=r"device: 'cuda:99' is not available here; allowed: auto, cpu"):
        find_device("cuda:99")


@pytest.mark.parametrize("name", ["timm:resnet18", "torchvision:resnet18", "some.package:Model"])
def test_a_model_from_elsewhere_takes_any_options(recipe, name):
    checked = recipe(f"model.name={name}", "model.width=3", "model.layers=[1, 2]")
    assert (checked.model.name, checked.model.options) == (name, {"width": 3, "layers": [1, 2]})
    values = to_values(checked)["model"]
    assert {key: values[key] for key in ("name", "width", "layers")} == {"name": name, "width": 3, "layers": [1, 2]}
    assert checked == check(Contents("again", to_values(checked), []))


def test_a_model_from_elsewhere_is_built(recipe):
    named = assemble(recipe("model.hidden=[7]")).method.model
    foreign = recipe("model.name=reweigh.models.mlp:mlp", "model.hidden=[7]")
    model = assemble(foreign, trust_code=True).method.model
    assert all(one.equal(other) for one, other in zip(named.parameters(), model.parameters(), strict=True))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["model.name=timm:"], r"model\.name: .*write timm:NAME, torchvision:NAME or package\.module:Class"),
        (["model.name=a:B", "model.num_classes=3"], r"model\.num_classes: comes from the data; remove it"),
        (["model.name=resnet23"], r"model\.name: no model named 'resnet23'.*Did you mean 'resnet3"),
    ],
)
def test_mistakes_with_models_from_elsewhere(recipe, overrides, message):
    with pytest.raises(RecipeError, match=message):
        recipe(*overrides)


def test_a_clean_set_is_read_like_the_training_data(tmp_path):
    import pandas as pd

    rows = pd.DataFrame({"a": [0.0, 1, 2, 3, 4, 5] * 20, "b": ["x", "y"] * 60, "kind": ["u", "v", "w"] * 40})
    rows.to_csv(tmp_path / "train.csv", index=False)
    rows[:9].to_csv(tmp_path / "clean.csv", index=False)
    (tmp_path / "r.toml").write_text(
        f"""
        data = {{ name = "files", path = "{tmp_path / "train.csv"}", label = "kind" }}
        model = {{ name = "mlp", hidden = [4] }}
        method = {{ name = "cmw-net", every = 1 }}
        meta_set = {{ name = "clean", path = "{tmp_path / "clean.csv"}", label = "kind" }}
        train = {{ epochs = 1 }}
        optimizer = {{ name = "sgd" }}
        """
    )
    train, _, clean, _ = read_source(check(read(str(tmp_path / "r.toml"), [])))
    assert len(clean) == 9
    assert clean.class_names == train.class_names
    assert clean.shape == train.shape


X = torch.randn(20, 3, generator=torch.Generator().manual_seed(0))
SAMPLES = Dataset(X, (X[:, 0] > 0).long(), ("a", "b"))


def planned(**given):
    plan, mistakes = examine(chosen(Facts.of(SAMPLES), given), passed=["data", "model"])
    assert not mistakes
    return plan


def linear(shape, classes):
    return nn.Linear(shape[0], classes)


def test_plain_training_is_adamw_with_a_cosine():
    """Full batches, so that the order of samples does not matter."""
    plan = planned(method={"name": "erm"}, train={"epochs": 4, "batch_size": 20, "seed": 3}, optimizer={"lr": 0.1})
    trained = Trainer(plan, linear, torch.device("cpu")).train(SAMPLES)
    torch.manual_seed(3)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for epoch in range(4):
        optimizer.param_groups[0]["lr"] = 0.1 * (1 + torch.cos(torch.tensor(torch.pi * epoch / 4)).item()) / 2
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(X), SAMPLES.labels).backward()
        optimizer.step()
    assert torch.allclose(trained.model.weight, model.weight, atol=1e-5)
    assert [line["epoch"] for line in trained.history] == [1, 2, 3, 4]


def test_the_global_generators_end_as_they_were():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    Trainer(planned(train={"epochs": 1}), linear, torch.device("cpu")).train(SAMPLES)
    assert torch.equal(torch.rand(3), expected)


def test_a_clean_set_is_what_is_trusted():
    clean = SAMPLES.subset(torch.arange(4))
    plan = planned(meta_set={"name": "clean", "path": "elsewhere"})
    setup = Trainer(plan, linear, torch.device("cpu"), clean).assemble(SAMPLES).setup
    assert setup.clean_set is clean
    assert len(setup.meta_set.choose(clean.labels, None, torch.Generator())) == 4
    weighing = planned(method={"name": "cmw-net"})
    assert Trainer(weighing, linear, torch.device("cpu")).assemble(SAMPLES).setup.meta_set.judge == "training"


def trained(recipe, *changes: str) -> tuple[nn.Module, set[torch.dtype]]:
    """A small convolutional network after an epoch, and what its outputs in training were."""
    plan = recipe("model.name=cnn", "train.epochs=1", "train.warmup_epochs=0", "train.looks=0", *changes)
    generator, labels = torch.Generator().manual_seed(0), torch.arange(60) % 3
    samples = Dataset(torch.randn(60, 3, 8, 8, generator=generator), labels, ("a", "b", "c"))
    seen: set[torch.dtype] = set()

    def build(shape: tuple[int, ...], classes: int) -> nn.Module:
        model = builder(plan.model)(shape, classes)
        model.register_forward_hook(
            lambda module, inputs, outputs: seen.add(outputs.dtype) if module.training else None
        )
        return model

    return Trainer(plan, build, torch.device("cpu")).train(samples).model, seen


def apart(some: nn.Module, other: nn.Module) -> float:
    return max(float((a - b).abs().max()) for a, b in zip(some.parameters(), other.parameters(), strict=True))


def test_precision_memory_format_and_compilation(recipe, monkeypatch):
    usual, kinds = trained(recipe)
    assert kinds == {torch.float32}
    half, kinds = trained(recipe, "train.precision=bf16")
    assert torch.bfloat16 in kinds
    assert {param.dtype for param in half.parameters()} == {torch.float32}
    assert 0 < apart(half, usual) < 0.05
    other, _ = trained(recipe, "model.channels_last=false")
    for model, last in ((usual, True), (other, False)):
        filters = next(param for param in model.parameters() if param.dim() == 4)
        assert filters.is_contiguous(memory_format=torch.channels_last) == last
    rebuilt = builder(recipe("model.name=cnn").model)((3, 8, 8), 3).eval()  # as a run is read: equal to the last bit
    rebuilt.load_state_dict(usual.state_dict())
    images = torch.randn(16, 3, 8, 8)
    assert torch.equal(rebuilt(images), usual(images))
    assert apart(other, usual) < 1e-4
    compiled: list[nn.Module] = []

    def compile(model: nn.Module) -> None:
        compiled.append(model)
        model._compiled_call_impl = model._call_impl

    monkeypatch.setattr(nn.Module, "compile", compile)
    model, _ = trained(recipe, "model.compile=true")
    assert len(compiled) == 1
    assert model._compiled_call_impl is None
    assert apart(model, usual) < 1e-5
