"""The recipe of a test file, ready to be trained."""

import pytest

from reweigh.recipes.read import check, read


@pytest.fixture
def recipe(request, tmp_path):
    """Checks the ``RECIPE`` of the file with overrides."""
    path = tmp_path / "recipe.toml"
    path.write_text(request.module.RECIPE)
    return lambda *overrides: check(read(path, overrides))
