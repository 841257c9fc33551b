"""Compared methods and biases share all but what the recipe gives them of their own."""

from reweigh.recipes.check import check
from reweigh.recipes.read import read
from reweigh.recipes.variants import for_bias, for_method


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
    biased = check(for_bias(contents, "x", [{"name": "noise", "rate": 0.1}, {"name": "tail", "factor": 7}]))
    noise, tail = biased.data.parts["bias"]
    assert (noise.name, noise.options, noise.added) == ("noise", {"rate": 0.1}, {"seed": None})
    assert (tail.name, tail.options, tail.added) == ("tail", {"factor": 7.0, "order": "down"}, {"seed": 3})
    assert check(for_bias(contents, "clean", [])).data.parts["bias"] == ()
    assert contents.values["data"] == before


def test_a_long_tail_is_judged_as_one(recipe_file):
    contents = read(recipe_file)
    tail, noise = {"name": "long-tail", "imbalance_factor": 50}, {"name": "noise", "rate": 0.1}
    assert for_bias(contents, "x", [tail, noise]).values["scenario"] == "long-tail"
    assert for_bias(contents, "x", [noise]).values["scenario"] == "noisy-labels"
    other = contents._replace(values={**contents.values, "scenario": "other"})
    assert for_bias(other, "x", [tail]).values["scenario"] == "other"
