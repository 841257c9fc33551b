"""Options that one method takes over from another, or from a function."""

import inspect

import pytest

from reweigh.methods import METHODS
from reweigh.methods.learned import reweighter
from reweigh.methods.variant import extends, variant


def shared(place, *, rate: float = 0.1, depth: int = 3):
    return rate, depth


@extends(shared)
class Extended:
    def __init__(self, setup, *, depth: int = 5, own: str = "a", **options):
        self.made = shared(setup, depth=depth, **options)


def test_options_of_the_base_are_options_too_and_own_ones_win():
    signature = inspect.signature(Extended)
    assert {name: p.default for name, p in signature.parameters.items() if p.kind is p.KEYWORD_ONLY} == {
        "depth": 5,
        "own": "a",
        "rate": 0.1,
    }
    assert Extended(None, rate=0.2).made == (0.2, 5)


def test_an_extension_can_be_extended():
    @extends(Extended)
    class Further(Extended):
        def __init__(self, setup, *, more: int = 1, **options):
            super().__init__(setup, **options)

    assert set(inspect.signature(Further).parameters) == {"setup", "more", "depth", "own", "rate"}


def test_settled_options_of_a_variant_are_gone():
    made = variant(shared, "With three.", depth=3)  # pyright: ignore[reportArgumentType]
    assert set(inspect.signature(made).parameters) == {"place", "rate"}
    assert made.__doc__ == "With three."


@pytest.mark.parametrize("name", ["cmw-net", "cmw-net-sl", "fixmatch+cmw-net", "proden+cmw-net"])
def test_all_that_learn_weights_have_the_options_of_the_reweighter(name):
    options = {p.name for p in inspect.signature(reweighter).parameters.values() if p.kind is p.KEYWORD_ONLY}
    assert options <= set(inspect.signature(METHODS[name]).parameters)
