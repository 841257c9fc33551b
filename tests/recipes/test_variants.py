"""Compared methods share all but what the recipe gives them of their own."""

from reweigh.recipes.check import check
from reweigh.recipes.read import read
from reweigh.recipes.variants import for_method


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
