"""Compared methods and biases share all but what the recipe gives them of their own."""

import pytest

from reweigh.recipes.check import check
from reweigh.recipes.read import read
from reweigh.recipes.variants import for_bias, for_method

pytestmark = pytest.mark.usefixtures("fake_tables")


def test_a_method_keeps_the_options_it_has_and_gets_its_own_section(recipe_file):
    contents = read(recipe_file, ["compare.erm.optimizer.lr=0.05", "compare.erm.optimizer.schedule.name=constant"])
    plain = check(for_method(contents, "erm"))
    assert plain.method.options == {}
    assert plain.optimizer.options == {"lr": 0.05, "momentum": 0.9}
    assert plain.optimizer.parts["schedule"][0].name == "constant"
    single = check(for_method(contents, "mw-net"))
    assert single.method.options == {"every": 5, "engine": "forward"}
    assert single.optimizer.options["lr"] == 1
    assert check(for_method(contents, "cmw-net")) == check(contents)


def test_other_biases_keep_the_options_that_the_recipe_has_for_them(recipe_file):
    contents = read(recipe_file, ["data.bias=[{name='tail', factor=5, order='down', seed=3}]"])
    before = dict(contents.values["data"])
    biased = check(for_bias(contents, "x", {"bias": [{"name": "noise", "rate": 0.1}, {"name": "tail", "factor": 7}]}))
    noise, tail = biased.data.parts["bias"]
    assert (noise.name, noise.options, noise.added) == ("noise", {"rate": 0.1}, {"seed": None})
    assert (tail.name, tail.options, tail.added) == ("tail", {"factor": 7.0, "order": "down"}, {"seed": 3})
    assert check(for_bias(contents, "clean", {})).data.parts["bias"] == ()
    assert contents.values["data"] == before


def test_candidates_and_labels_are_chosen_likewise(recipe_file):
    contents = read(recipe_file, ["data.candidates={name='pairs', q=0.5, seed=3}", "data.labeled=9"])
    (rule,) = check(for_bias(contents, "x", {"candidates": {"q": 0.1}})).data.parts["candidates"]
    assert (rule.name, rule.options, rule.added) == ("pairs", {"q": 0.1}, {"seed": 3})
    clean = check(for_bias(contents, "clean", {})).data
    assert (clean.parts["candidates"], clean.added["labeled"]) == ((), None)
    few = check(for_bias(read(recipe_file), "x", {"labeled": 40, "candidates": {"q": 0.1}})).data
    assert (few.parts["candidates"][0].name, few.added["labeled"]) == ("independent", 40)


def test_a_section_that_names_another_part_keeps_what_this_has_too(recipe_file):
    text = (
        recipe_file.read_text()
        + """
[compare.erm.optimizer]
schedule = { name = "constant" }
"""
    )
    recipe_file.write_text(text.replace('name = "cosine"', 'name = "cosine", floor = 0.1'))
    plain = check(for_method(read(recipe_file), "erm"))
    assert (plain.optimizer.parts["schedule"][0].name, plain.optimizer.options["lr"]) == ("constant", 1)
    assert check(for_method(read(recipe_file), "mw-net")).optimizer.parts["schedule"][0].options == {"floor": 0.1}
