"""A bias in short stands for the tables of a recipe, and all wrong names are told at once."""

import pytest

from reweigh.compare.grid import name_of, parse
from reweigh.plan.plan import members
from reweigh.recipes.read import check, for_bias, read

pytestmark = pytest.mark.usefixtures("fake_tables")


@pytest.fixture(autouse=True)
def _more_biases(fake_tables, monkeypatch):
    def noise_others(labels, num_classes, seed, *, rate: float):
        pass

    def twofold(labels, num_classes, seed, *, rate: float, factor: float):
        pass

    monkeypatch.setitem(members("biases"), "noise-others", noise_others)
    monkeypatch.setitem(members("biases"), "twofold", twofold)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("noise-0.4", {"bias": [{"name": "noise", "rate": 0.4}]}),
        ("noise-1", {"bias": [{"name": "noise", "rate": 1}]}),
        ("noise-1e-3", {"bias": [{"name": "noise", "rate": 0.001}]}),
        ("noise--0.1", {"bias": [{"name": "noise", "rate": -0.1}]}),  # the check of the recipe will tell
        ("noise-others-0.2", {"bias": [{"name": "noise-others", "rate": 0.2}]}),
        ("tail", {"bias": [{"name": "tail"}]}),
        ("tail+noise-0.3", {"bias": [{"name": "tail"}, {"name": "noise", "rate": 0.3}]}),
        ("candidates-0.3", {"candidates": {"q": 0.3}}),
        ("labeled-40", {"labeled": 40}),
        ("labeled-40+tail", {"bias": [{"name": "tail"}], "labeled": 40}),
        ("clean", {}),
    ],
)
def test_a_name_stands_for_changes_of_the_data(name, changes):
    assert parse([name]) == ({name: changes}, [])


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        (
            "niose-0.4",
            "no bias named 'niose'; there are: candidates, clean, labeled, noise, noise-others, tail, twofold. "
            "Did you mean 'noise'",
        ),
        (
            "claen",
            "no bias named 'claen'; there are: candidates, clean, labeled, noise, noise-others, tail, twofold. Did",
        ),
        ("candidates", "no number; write candidates-NUMBER with the q of candidates"),
        ("labeled-few", "got 'few' for how many labels to keep"),
        ("candidates-0.1+candidates-0.3", "candidates twice; once is enough"),
        ("0.4", "no bias named '0.4'; there are:"),
        ("", "no bias named ''; there are:"),
        ("noise", "no number; write noise-NUMBER with the rate of noise, a number, at least 0, at most 1"),
        ("noise-", "no number; write noise-NUMBER"),
        ("noise-much", "got 'much' for the rate of noise, a number, at least 0, at most 1"),
        ("noise-nan", "got 'nan' for the rate of noise"),
        ("tail-0.4", "tail takes no number, all its options have defaults; write 'tail'"),
        ("twofold-0.4", "twofold needs rate, factor, but a short name has room for one; use data.bias in the recipe"),
        ("clean+noise-0.4", "'clean' means no bias, and cannot be joined with one"),
    ],
)
def test_each_kind_of_mistake(name, mistake):
    ((path, text),) = parse([name])[1]
    assert path == name
    assert text.startswith(mistake)


def test_all_mistakes_of_all_names_come_together():
    _, mistakes = parse(["noise", "noise-0.4", "tial+noise-x", "noise-0.4"])
    assert [path for path, _ in mistakes] == ["noise", "tial+noise-x", "tial+noise-x", "noise-0.4"]
    assert mistakes[-1].text == "named twice; once is enough"


@pytest.mark.parametrize(
    "name", ["noise-0.4", "tail+noise-1", "clean", "noise-others-0.25", "tail+candidates-0.3", "labeled-40"]
)
def test_the_name_of_the_biases_of_a_recipe_stands_for_them(recipe_file, name):
    assert name_of(check(for_bias(read(recipe_file), name, parse([name])[0][name])).source) == name
