"""Choices by the size of the data are sensible everywhere."""

from math import ceil

import pytest
import torch
from pandas import DataFrame
from scipy.sparse import csr_matrix

from reweigh.data import Dataset
from reweigh.data.dataset import Reading
from reweigh.data.inputs import SparseRows
from reweigh.data.tables.encoding import fit_encoding
from reweigh.plan.check import examine
from reweigh.plan.choose import (
    Facts,
    choose,
    chosen,
    default_batch_size,
    default_epochs,
    default_model,
    method,
    scoring,
    trusted_per_class,
    warmup_epochs,
)


@pytest.mark.parametrize("samples", [2, 3, 17, 60, 200, 999, 5000, 100_000, 10**7])
def test_batches_and_epochs(samples):
    batch = default_batch_size(samples)
    assert min(16, samples) <= batch <= min(256, samples)
    epochs = default_epochs(samples, batch)
    assert 20 <= epochs <= 50
    assert ceil(samples / batch) * epochs >= min(1000, 40 * samples / batch)
    assert default_batch_size(samples + 1) >= batch


@pytest.mark.parametrize(
    ("shape", "columns", "trees"),
    [((30,), False, True), ((1280,), False, False), ((1280,), True, True), ((30_000,), True, False)],
)
def test_trees_look_at_tables_not_at_features_of_a_network(shape, columns, trees):
    found = method(Facts(1000, shape, (500, 500), columns=columns), beside=True).values
    assert ("method.beside" in found) == trees


@pytest.mark.parametrize(("epochs", "warm_up"), [(1, 0), (2, 1), (10, 1), (50, 5), (200, 20)])
def test_the_warm_up_is_a_tenth_but_never_all(epochs, warm_up):
    assert warmup_epochs(epochs) == warm_up


@pytest.mark.parametrize(
    ("sizes", "each"), [([5000, 5000], 10), ([8, 8], 4), ([1, 1], 1), ([2, 100, 100], 10), ([0, 6, 6], 3)]
)
def test_few_of_each_class_are_trusted(sizes, each):
    assert trusted_per_class(tuple(sizes)) == each


def facts(shape, samples, **known):
    return Facts(samples, shape, (samples // 2, samples // 2), **known)


def test_a_model_for_each_shape():
    assert default_model(facts((3, 32, 32), 1000, images=True))[0] == "cnn"
    assert default_model(facts((1, 2, 2), 1000, images=True))[0] == "mlp"  # too small to convolve
    assert default_model(facts((20, 5), 1000))[0] == "mlp"
    widths = [default_model(facts((30,), samples))[1]["hidden"][0] for samples in (20, 5000, 100_000)]
    assert widths == sorted(widths)
    assert default_model(facts((200_000,), 100_000))[1]["hidden"][0] * 200_000 <= 4_000_000


def test_text_gets_a_linear_model():
    assert default_model(facts((5000,), 1000, text=True))[1]["hidden"] == []
    assert default_model(facts((5000,), 6000, text=True))[1]["hidden"] != []
    assert default_model(facts((5000,), 1000))[1]["hidden"] != []
    rows = SparseRows(csr_matrix(torch.eye(4).numpy()))
    dataset = Dataset(rows, torch.tensor([0, 1, 0, 1]), ("a", "b"))
    assert Facts.of(dataset).text
    assert Facts.of(dataset.subset(torch.tensor([1, 2]))).text
    frame = DataFrame(
        {"text": ["a long word", "another long one", "and some more", "many words"], "number": [3.5, 1, 2, 9]}
    )
    encoding = fit_encoding(frame, kinds={"text": "text", "number": "number"})
    table = Dataset(encoding.apply(frame), torch.tensor([0, 1, 0, 1]), ("a", "b"), reading=Reading(encoding=encoding))
    assert isinstance(table.inputs, torch.Tensor)
    assert Facts.of(table).text
    assert encoding.words == len(encoding.feature_names) - 1


def test_small_models_train_in_one_thread():
    def threads(shape, samples, **given):
        return chosen(facts(shape, samples), given)["train"].get("num_threads")

    assert threads((1280,), 5000) == 1
    assert threads((20_000,), 5000) is None
    assert threads((20,), 5000, model={"name": "mlp", "hidden": [5000]}) is None  # nothing is known about it
    assert chosen(facts((3, 32, 32), 1000, images=True), {})["train"].get("num_threads") is None


def test_samples_are_held_out_where_a_net_memorizes_at_once():
    assert not scoring(facts((20,), 1000))
    assert not scoring(facts((3, 32, 32), 1000, images=True))
    (choice,) = scoring(facts((1001,), 2000))
    assert choice.values == {"train.scoring": "out-of-fold"}
    assert "2,000 rows with 1,001 features are memorized almost at once" in choice.why
    assert not scoring(facts((1000,), 2000))
    assert not scoring(facts((100_000,), 20_001))  # too much work to begin unasked
    assert not scoring(facts((1001,), 2000, candidates=True))  # nothing is judged


@pytest.mark.parametrize(
    "found",
    [
        facts((4,), 2),
        facts((4,), 10_000),
        facts((5000,), 100),
        facts((1, 8, 8), 500, images=True),
        facts((3, 32, 32), 500, images=True, photos=True),
        facts((4,), 300, candidates=True),
    ],
)
def test_every_choice_is_a_plan(found):
    plan, mistakes = examine(chosen(found, {}), passed=["data"])
    assert mistakes == []
    assert plan.data is None
    assert all(choice.why for choice in choose(found, {}))


def test_what_the_user_gives_wins_and_the_rest_follows():
    given = {"train": {"epochs": 7, "seed": 3}, "method": {"name": "erm"}, "model": {"name": "resnet32"}}
    plan, mistakes = examine(chosen(facts((3, 32, 32), 500, images=True), given), passed=["data"])
    assert mistakes == []
    assert (plan.train["epochs"], plan.train["warmup_epochs"], plan.train["seed"]) == (7, 1, 3)
    assert (plan.method.name, dict(plan.method.options)) == ("erm", {})  # no options of the method that was chosen
    assert plan.model.name == "resnet32"


def test_two_looks_unless_something_else_is_asked_for():
    found = facts((4,), 10_000)
    plan, _ = examine(chosen(found, {}), passed=["data"])
    assert (plan.method.name, plan.train["epochs"], plan.train["warmup_epochs"]) == ("two-looks", 20, 0)
    assert plan.train["scoring"] == "in-training"
    trusted, _ = examine(chosen(found, {"meta_set": {"name": "clean", "path": "here"}}), passed=["data"])
    assert trusted.method.name == "two-looks"  # it learns its weights on samples that the user vouches for
    for given, name in (
        ({"method": {"name": "cmw-net"}}, "cmw-net"),
        ({"meta_set": {"name": "balanced-random"}}, "cmw-net"),
        ({"method": {"every": 3}}, "cmw-net"),  # an option of methods that learn weights
    ):
        plan, _ = examine(chosen(found, given), passed=["data"])
        assert (plan.method.name, plan.train["epochs"], plan.train["warmup_epochs"]) == (name, 25, 2)
        assert plan.method.options["engine"] == "difference"
    wide = examine(chosen(facts((5000,), 100), {}), passed=["data"])[0]
    assert wide.train["scoring"] == "in-training"  # it judges labels by networks that did not see them anyway
    assert method(facts((4,), 300, candidates=True)).values == {"method.name": "proden"}
    assert choose(found, {"train": 3, "method": "x"})  # mistakes that the check reports


def test_families_only_where_sizes_differ():
    for sizes, families in (((500, 520, 480), 1), ((500, 100, 480), 3)):
        found = Facts(sum(sizes), (4,), sizes)
        plan, _ = examine(chosen(found, {"method": {"name": "cmw-net"}}), passed=["data"])
        assert plan.method.options["families"] == families


def test_facts_of_a_dataset():
    images = Dataset(torch.zeros(6, 3, 8, 8, dtype=torch.uint8), torch.arange(6) % 3, ("a", "b", "c"))
    assert Facts.of(images) == Facts(6, (3, 8, 8), (2, 2, 2), images=True, photos=True, pixels=True)
    assert not Facts.of(Dataset(torch.zeros(6, 3, 8, 8), images.labels, images.class_names)).photos
    assert Facts.of(Dataset(torch.zeros(6, 4), images.labels, images.class_names)) == Facts(6, (4,), (2, 2, 2))


def test_very_many_classes_are_not_looked_at_twice_unless_asked() -> None:
    """Two looks keep numbers for each sample and class: 2.4 GB for each of several tables here."""
    facts = Facts(30_000, (2,), (3,) * 10_000)
    many = chosen(facts, {})
    assert many["method"]["name"] == "cmw-net"
    assert "lookahead" in many["method"]
    assert chosen(facts, {"method": {"name": "two-looks"}})["method"] == {"name": "two-looks"}
    assert chosen(Facts(30_000, (2,), (30,) * 1_000), {})["method"] == {"name": "two-looks"}
