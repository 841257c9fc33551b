"""A recipe is found by path, by run folder or by name."""

import pytest

from reweigh.errors import RecipeError, ReweighError
from reweigh.recipes.read import find, read
from reweigh.recipes.shipped import about, shipped

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


@pytest.mark.parametrize(("data", "message"), [(b"a = [", "not a TOML file"), (b"\xff\xfe", "not a text in UTF-8")])
def test_a_file_that_is_not_toml(tmp_path, data, message):
    path = tmp_path / "broken.toml"
    path.write_bytes(data)
    with pytest.raises(ReweighError, match=rf"broken\.toml: {message}"):
        read(path)


def test_a_shipped_recipe_opens_with_its_command_and_says_where_it_comes_from():
    for name, path in shipped().items():
        first = path.read_text().splitlines()[0]
        assert first.startswith(("# reweigh train " + name, "# reweigh compare " + name)), path
        assert len(about(path)) > 40, path
