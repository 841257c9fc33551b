"""The resolved recipe reads back as the same recipe."""

import tomllib

import pytest

from reweigh.plan.edit import inline, to_toml
from reweigh.recipes.read import check, read

pytestmark = pytest.mark.usefixtures("fake_tables")


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["data.root=elsewhere", "data.bias.0.seed=7", "augment=[{name='flip'}]", "train.checkpoint_steps=5"],
        ["data.candidates={name='pairs', q=0.3, seed=2}", "data.labeled=40"],
        ["data.candidates.name=independent", "data.candidates.q=1"],
        ["method.name=erm", "data.bias=[]", "optimizer.lr=inf", "model.width=wide"],
    ],
)
def test_round_trip(recipe_file, overrides):
    recipe = check(read(recipe_file, overrides))
    again = recipe_file.with_name("again.toml")
    again.write_text(to_toml(recipe))
    assert check(read(again)) == recipe
    assert to_toml(check(read(again))) == to_toml(recipe)


def test_every_default_is_spelled_out_but_none(recipe_file):
    text = to_toml(check(read(recipe_file)))
    assert "momentum = 0.9" in text
    assert "root" not in text


def test_inline_reads_back():
    value = {"name": "asymmetric", "rate": 0.4, "map": {"ankle boot": ["a", 'b"ä']}, "flag": True, "list": [{"x": 1}]}
    assert tomllib.loads(f"value = {inline(value)}")["value"] == value
