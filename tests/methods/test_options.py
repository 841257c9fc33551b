"""Options of methods: their own, those of the reweighter, and how both reach their places."""

import inspect

import pytest

from reweigh.methods import METHODS, build, options_of_method
from reweigh.methods.setup import SUPPLIED, keyword_only
from reweigh.reweighter import Reweighter

LEARNING = [name for name in METHODS if METHODS[name].learns_weights]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_a_class_whose_options_are_written_out(name):
    parameters = list(inspect.signature(METHODS[name]).parameters.values())
    assert parameters[0].name == "setup"
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters[1:])


@pytest.mark.parametrize("name", LEARNING)
def test_all_that_learn_weights_have_the_options_of_the_reweighter_but_settled_ones(name):
    withheld = SUPPLIED | METHODS[name].fixed.keys()
    assert {*keyword_only(Reweighter)} - withheld <= options_of_method(METHODS[name]).keys()
    assert METHODS[name].fixed.keys() <= keyword_only(Reweighter).keys()
    assert not options_of_method(METHODS[name]).keys() & METHODS[name].fixed.keys()


def test_options_reach_the_reweighter_and_the_method(tiny):
    method = tiny("cmw-net-sl", families=2, every=3, hidden=7, mixup=0.0).method
    assert method.weight_net().num_families == 2
    assert method.weight_net().hidden.out_features == 7
    assert method._reweighter._learner.every == 3
    assert method.mixup == 0.0


def test_an_option_of_its_own_wins_over_that_of_the_reweighter(tiny):
    assert options_of_method(METHODS["fixmatch+cmw-net"])["normalize"].default == "mean"
    assert options_of_method(METHODS["cmw-net"])["normalize"].default == "weight-sum"


@pytest.mark.parametrize("name", ["erm", "cmw-net", "l2rw"])
def test_an_unknown_option_is_an_error(tiny, name):
    with pytest.raises(TypeError, match="nonsense"):
        build(name, tiny("erm").setup, nonsense=1)
