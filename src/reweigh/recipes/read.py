"""Find a recipe by name or path, read it, and apply ``key=value`` overrides."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from reweigh.errors import RecipeError
from reweigh.files import read_text
from reweigh.names import suggestion
from reweigh.plan.mistakes import Mistake
from reweigh.recipes.overrides import apply
from reweigh.recipes.shipped import shipped


class Contents(NamedTuple):
    """A recipe as written, not yet checked.

    Attributes:
        source: what the user called it, for messages.
        values: the TOML tables, overrides applied.
        mistakes: what was wrong with the overrides.
    """

    source: str
    values: Mapping[str, Any]
    mistakes: list[Mistake]


def read(source: str | Path, overrides: Iterable[str] = ()) -> Contents:
    """The contents of a recipe.

    Args:
        source: a TOML file, the folder of a run, or the name of a shipped recipe.
        overrides: ``key=value`` with a dotted key; see ``reweigh.recipes.overrides``.

    Raises:
        RecipeError: there is no such recipe, or the file is not TOML.
    """
    path = find(source)
    try:
        values = tomllib.loads(read_text(path, "recipe"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise RecipeError(f"recipe {path}: not a TOML file: {error}") from error
    except OSError as error:
        raise RecipeError(f"recipe {path}: cannot be read: {error.strerror}") from error
    return Contents(str(source), values, apply(overrides, values))


def find(source: str | Path) -> Path:
    """The file of a recipe.

    Raises:
        RecipeError: there is none.
    """
    path = Path(source)
    if path.is_dir() and (path / "recipe.toml").is_file():
        return path / "recipe.toml"
    if path.is_file():
        return path
    recipes = shipped()
    if str(source) in recipes:
        return recipes[str(source)]
    if path.is_dir():
        raise RecipeError(f"recipe {source}: a folder without recipe.toml; should be a file or the folder of a run")
    raise RecipeError(
        f"no recipe named {str(source)!r} and no such file; shipped recipes are: {', '.join(recipes)}."
        f"{suggestion(str(source), recipes)}"
    )


def title(source: str | Path) -> str:
    """A short name for what is made by a recipe: that of its file, or of its run."""
    path = find(source)
    return path.parent.name if path.name == "recipe.toml" else path.stem
