import pytest
import torch

from reweigh.bias.asymmetric import CIFAR100_SUPERCLASS, MAPS, asymmetric, named
from reweigh.errors import DataError

CIFAR10 = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("rate", [0.2, 0.8])
def test_the_transition_is_that_of_the_map(name, rate, matrix_within_binomial):
    num_classes, targets = MAPS[name]
    labels = torch.arange(400 * num_classes)[torch.randperm(400 * num_classes)] % num_classes
    found = asymmetric(labels, num_classes, 5, rate=rate, map=name)
    wanted = torch.eye(num_classes)
    for source, choices in targets.items():
        wanted[source, source] -= rate
        for target in choices:
            wanted[source, target] += rate / len(choices)
    assert matrix_within_binomial(found, labels, wanted)


def test_the_noise_of_the_paper_on_cifar10(ten_classes, within_binomial):
    for rate in (0.2, 0.4, 0.6, 0.8):
        found = asymmetric(ten_classes, 10, 0, rate=rate, map="cifar10")
        assert within_binomial(int(found.flipped.sum()), len(ten_classes), 0.4 * rate)
        sizes = torch.bincount(found.labels, minlength=10)
        assert sizes[[0, 1, 5, 7]].min() > sizes[[6, 8]].max() > sizes[[2, 3, 4, 9]].max()


def test_all_of_a_class_at_rate_one():
    labels = torch.arange(1000) % 10
    after = asymmetric(labels, 10, 0, rate=1.0, map={"3": 5}).labels
    assert set(after[labels == 3].tolist()) == {5}
    assert torch.equal(after[labels != 3], labels[labels != 3])


def test_one_way_and_both_ways(ten_classes):
    one, both = (asymmetric(ten_classes, 10, 0, rate=0.4, map=name) for name in ("cifar10", "cifar10-two-way"))
    assert one.transition[5, 5] == 1
    assert both.transition[5, 3] > 0.3


@pytest.mark.parametrize(
    "given", [{"cat": "dog", "dog": "cat"}, {3: 5, 5: 3}, {"3": "5", "5": "3"}, {"cat": 5, "dog": 3}]
)
def test_a_map_by_name_or_number(given, ten_classes):
    found = asymmetric(ten_classes, 10, 2, CIFAR10, rate=0.4, map=given)
    again = asymmetric(ten_classes, 10, 2, rate=0.4, map={3: 5, 5: 3})
    assert torch.equal(found.labels, again.labels)


def test_a_name_that_looks_like_a_number_is_a_name():
    labels = torch.tensor([0, 1] * 10)
    assert set(asymmetric(labels, 2, 0, ("1", "0"), rate=1.0, map={"1": "0"}).labels.tolist()) == {1}


def test_several_targets_share_the_flips(ten_classes, matrix_within_binomial):
    wanted = torch.eye(10)
    wanted[3, 3], wanted[3, 5], wanted[3, 7] = 0.4, 0.3, 0.3
    found = asymmetric(ten_classes, 10, 2, CIFAR10, rate=0.6, map={"cat": ["dog", 7]})
    assert matrix_within_binomial(found, ten_classes, wanted)


@pytest.mark.parametrize(("given", "message"), [
    ({}, "map: it is empty"),
    ({3: 3}, "map: class 3 is mapped to itself or to nothing; give other classes"),
    ({3: []}, "map: class 3 is mapped to itself or to nothing"),
])  # fmt: skip
def test_maps_that_do_nothing(given, message):
    with pytest.raises(DataError, match=message):
        asymmetric(torch.tensor([0, 3]), 10, 0, rate=0.4, map=given)


def test_unknown_classes_are_all_named():
    with pytest.raises(DataError) as error:
        asymmetric(torch.tensor([0, 3]), 10, 0, CIFAR10, rate=0.4, map={"kat": "dog", "cat": 12})
    assert "map: no class 'kat', 12; there are names airplane, automobile, " in str(error.value)
    assert "Did you mean 'cat'?" in str(error.value)


def test_names_without_class_names():
    with pytest.raises(DataError, match="there are numbers 0 to 9"):
        asymmetric(torch.tensor([0, 3]), 10, 0, rate=0.4, map={"cat": "dog"})


def test_an_unknown_map_and_one_of_another_size():
    with pytest.raises(DataError, match=r"no map named 'cifar'; there are: cifar10, .* Did you mean 'cifar10'\?"):
        asymmetric(torch.tensor([0, 3]), 10, 0, rate=0.4, map="cifar")
    with pytest.raises(DataError, match="'cifar100' is for 100 classes, the data have 10"):
        asymmetric(torch.tensor([0, 3]), 10, 0, rate=0.4, map="cifar100")


def test_superclasses_have_five_members_and_maps_stay_within():
    assert [CIFAR100_SUPERCLASS.count(group) for group in range(20)] == [5] * 20
    for name, many in (("cifar100", 4), ("cifar100-next", 1)):
        for source, choices in named(name, 100).items():
            assert len(set(choices)) == many
            assert source not in choices
            assert all(CIFAR100_SUPERCLASS[target] == CIFAR100_SUPERCLASS[source] for target in choices)


def test_the_next_class_runs_through_the_whole_superclass():
    place, seen = 4, []
    for _ in range(5):
        seen.append(place)
        (place,) = named("cifar100-next", 100)[place]
    assert seen == [4, 30, 55, 72, 95]  # beaver, dolphin, otter, seal, whale
    assert place == 4


def test_fives_are_successive_numbers():
    for place, (after,) in named("cifar100-fives", 100).items():
        assert after == (place + 1 if place % 5 < 4 else place - 4)


@pytest.mark.parametrize(
    ("names", "name"),
    [
        ([str(k) for k in range(10)], "mnist"),
        (["T-shirt", "trouser", "pullover", *"defghij"], "fashion-mnist"),
        (["airplane", "automobile", "bird", *"defghij"], "cifar10"),
    ],
)
def test_well_known_data_have_a_usual_map(names: list[str], name: str) -> None:
    labels = torch.arange(1000) % 10
    usual = asymmetric(labels, 10, 0, names, rate=0.4)
    assert torch.equal(usual.labels, asymmetric(labels, 10, 0, rate=0.4, map=name).labels)


def test_other_data_have_none() -> None:
    with pytest.raises(DataError, match="which classes are confused"):
        asymmetric(torch.arange(100) % 10, 10, 0, list("abcdefghij"), rate=0.4)
    with pytest.raises(DataError, match="which classes are confused"):  # STL-10 begins as CIFAR-10 does
        asymmetric(torch.arange(100) % 10, 10, 0, ["airplane", "bird", "car", *"defghij"], rate=0.4)
