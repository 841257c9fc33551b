"""Stateful: what a class and its bases list comes back, and nothing else."""

import torch

from reweigh.core.method import Stateful


class Counter(Stateful):
    state = ("_count",)

    def __init__(self):
        self._count, self.unlisted = 0, "as made"


class Busy(Counter):
    state = ("weights", "_inner", "_several", "_later", "names")

    def __init__(self):
        super().__init__()
        self.weights = torch.zeros(2)
        self._inner, self._several = Counter(), [Counter(), Counter()]
        self._later: torch.Tensor | None = None
        self.names: list[str] = []


def used() -> Busy:
    busy = Busy()
    busy._count, busy.unlisted, busy.names = 3, "changed", ["a", "b"]
    busy.weights, busy._later = torch.tensor([1.0, 2.0]), torch.tensor(5.0)
    busy._inner._count, busy._several[1]._count = 7, 9
    return busy


def test_attributes_of_bases_objects_and_lists_come_back():
    restored = Busy()
    restored.load_state_dict(used().state_dict())
    assert (restored._count, restored._inner._count, [each._count for each in restored._several]) == (3, 7, [0, 9])
    assert restored.weights.tolist() == [1, 2]
    assert restored._later is not None
    assert restored._later.item() == 5
    assert restored.names == ["a", "b"]
    assert restored.unlisted == "as made"


def test_names_in_the_state_have_no_underscore():
    assert list(Busy().state_dict()) == ["count", "weights", "inner", "several", "later", "names"]


def test_a_list_of_plain_values_may_change_its_length():
    busy, restored = used(), used()
    busy.names = ["c"]
    restored.load_state_dict(busy.state_dict())
    assert restored.names == ["c"]


def test_restored_tensors_are_copies():
    state = used().state_dict()
    restored = Busy()
    restored.load_state_dict(state)
    restored.weights += 1
    assert state["weights"].tolist() == [1, 2]
