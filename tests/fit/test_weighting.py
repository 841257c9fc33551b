"""The learned function as users call and draw it."""

import numpy as np
import pytest
import torch

from reweigh.families import by_size
from reweigh.fit.weighting import Weighting
from reweigh.weighting import ClassAwareNet

SIZES = torch.tensor([10, 500, 12, 100])


@pytest.fixture
def net():
    torch.manual_seed(0)
    return ClassAwareNet(3)


def test_it_is_the_net_on_arrays(net):
    weighting = Weighting(net, by_size(SIZES, 3))
    assert weighting.family_of_class.tolist() == [0, 2, 0, 1]
    losses = np.array([[0.0, 1.0], [2.0, 30.0]])
    family = np.array([[0, 1], [2, 2]])
    for row, column in np.ndindex(2, 2):
        one = net(torch.tensor([losses[row, column]]), torch.tensor([family[row, column]]))
        assert weighting(losses, family)[row, column] == pytest.approx(one.item())
    assert weighting(1.5).shape == ()
    assert weighting([0, 1, 2], 2).shape == (3,)
    assert "3 families" in repr(weighting)


def test_curves_from_elsewhere_are_matched_by_rank(net):
    two = Weighting(net, by_size(torch.tensor([10, 500]), 3))
    assert two.num_families == 2
    assert two(1.0, 1) == pytest.approx(net(torch.tensor([1.0]), torch.tensor([2])).item())


def test_the_figure_is_the_users_to_restyle(net):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    _, ax = pyplot.subplots()
    weighting = Weighting(net, by_size(SIZES, 3))
    assert weighting.plot(5.0, list("abcd"), ax) is ax
    lines = ax.get_lines()
    assert [line.get_label() for line in lines] == ["a, c (mean size 11)", "d (mean size 100)", "b (mean size 500)"]
    x, y = lines[1].get_data()
    assert np.allclose(y, weighting(x, 1))
    assert (x[0], x[-1]) == (0, 5)
    pyplot.close("all")
