"""A recipe is found by path, by run folder or by name."""

import re

import pytest

from reweigh.errors import RecipeError, ReweighError
from reweigh.plan.edit import slot_at
from reweigh.plan.plan import SECTIONS
from reweigh.recipes.read import about, apply, find, parse, read, shipped

pytestmark = pytest.mark.usefixtures("fake_tables")


def test_a_file_a_run_folder_and_a_shipped_name(recipe_file):
    assert find(recipe_file) == recipe_file
    run = recipe_file.with_name("run")
    run.mkdir()
    (run / "recipe.toml").write_text("")
    assert find(run) == run / "recipe.toml"
    assert find("demo") == shipped()["demo"]


def test_a_wrong_name_suggests_the_nearest():
    with pytest.raises(RecipeError, match=r"no recipe named 'dmo' and no such file; .* Did you mean 'demo'\?"):
        find("dmo")


def test_a_folder_that_is_no_run(tmp_path):
    with pytest.raises(RecipeError, match=r"a folder without recipe\.toml"):
        find(tmp_path)


@pytest.mark.parametrize(("data", "message"), [(b"a = [", "not a TOML file"), (b"\xff\xfe", "not UTF-8")])
def test_a_file_that_is_not_toml(tmp_path, data, message):
    path = tmp_path / "broken.toml"
    path.write_bytes(data)
    with pytest.raises(ReweighError, match=rf"broken\.toml: {message}"):
        read(path)


def test_data_instead_of_a_recipe(tmp_path):
    (tmp_path / "claims.csv").write_text("a,b\n1,2\n")
    for source, more in ((tmp_path / "claims.csv", " --label COLUMN"), (tmp_path, "")):
        with pytest.raises(RecipeError, match=re.escape(f"--data {source}{more}")):
            read(source)


def test_a_shipped_recipe_opens_with_its_command_and_says_where_it_comes_from():
    for name, path in shipped().items():
        first = path.read_text().splitlines()[0]
        assert first.startswith(("# reweigh train " + name, "# reweigh compare " + name)), path
        assert 40 < len(about(path)) < 220, path


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("1e-3", 0.001),
        ("true", True),
        ("[1, 2]", [1, 2]),
        ("{name = 'noise', rate = 0.2}", {"name": "noise", "rate": 0.2}),
        ("'3'", "3"),
        ("cmw-net", "cmw-net"),
        ("", ""),
        ("[1,", "[1,"),
        ("1\nother = 2", "1\nother = 2"),
    ],
)
def test_values_are_toml_or_else_strings(text, value):
    assert parse(text) == value


def values():
    return {
        "data": {"name": "digits", "bias": [{"name": "noise", "rate": 0.4}]},
        "method": {"name": "cmw-net", "families": 2, "every": 5},
    }


def test_dotted_paths_reach_tables_and_lists():
    table = values()
    assert not apply(["data.bias.0.rate=0.2", "optimizer.schedule.name=cosine", "method.every=7"], table)
    assert table["data"]["bias"] == [{"name": "noise", "rate": 0.2}]
    assert table["optimizer"] == {"schedule": {"name": "cosine"}}
    assert table["method"]["every"] == 7


def test_another_name_keeps_only_the_options_that_it_has():
    table = values()
    apply(["method.name=mw-net"], table)
    assert table["method"] == {"name": "mw-net", "every": 5}


def test_another_optimizer_keeps_its_own_learning_rate(monkeypatch):
    monkeypatch.undo()
    table = {"optimizer": {"name": "sgd", "lr": 0.02, "weight_decay": 5e-3, "schedule": {"name": "cosine"}}}
    apply(["optimizer.name=adamw"], table)
    assert table["optimizer"] == {"name": "adamw", "schedule": {"name": "cosine"}}


def test_options_given_beside_a_new_name_are_kept_for_the_check():
    table = values()
    apply(["method.families=4", "method.name=mw-net"], table)
    assert table["method"] == {"name": "mw-net", "every": 5, "families": 4}


def test_a_name_of_a_list_item_and_an_unknown_name():
    table = values()
    apply(["data.bias.0.name=tail", "method.name=typo"], table)
    assert table["data"]["bias"] == [{"name": "tail"}]
    assert table["method"] == {"name": "typo", "families": 2, "every": 5}


@pytest.mark.parametrize(
    ("override", "path"),
    [
        ("epochs", "override 'epochs'"),
        ("=3", "override '=3'"),
        ("a..b=3", "override 'a..b=3'"),
        ("data.bias.1.rate=0.2", "data.bias.1"),
        ("data.bias.x=0.2", "data.bias.x"),
        ("data.name.x=1", "data.name.x"),
    ],
)
def test_what_cannot_be_applied_is_a_mistake(override, path):
    (mistake,) = apply([override], values())
    assert mistake.path == path


def test_slots_are_found_by_path():
    assert slot_at(["method"]) is SECTIONS["method"]
    assert slot_at(["data", "bias", "0"]) is SECTIONS["data"].slots["bias"]
    assert slot_at(["train"]) is None
    assert slot_at([]) is None
