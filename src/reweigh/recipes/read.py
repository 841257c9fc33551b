"""Find a recipe by name or path, read it, and apply overrides such as ``optimizer.lr=0.05``."""

import tomllib
from collections.abc import Iterable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from reweigh.errors import RecipeError
from reweigh.files import read_text
from reweigh.names import suggestion
from reweigh.plan.edit import put
from reweigh.plan.mistakes import Mistake


class Contents(NamedTuple):
    """A recipe as written, not yet checked.

    Attributes:
        source: What the user called it, for messages.
        values: The TOML tables, overrides applied.
        mistakes: What was wrong with the overrides.
        overrides: The overrides themselves, as typed.
    """

    source: str
    values: Mapping[str, Any]
    mistakes: list[Mistake]
    overrides: tuple[str, ...] = ()


def read(source: str | Path, overrides: Iterable[str] = ()) -> Contents:
    """The contents of a recipe.

    Args:
        source: A TOML file, the folder of a run, or the name of a shipped recipe.
        overrides: ``key=value`` with a dotted key; see ``apply``.

    Raises:
        RecipeError: There is no such recipe, or the file is not TOML.
    """
    path = find(source)
    try:
        values = tomllib.loads(read_text(path, "recipe"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise RecipeError(f"recipe {path}: not a TOML file: {error}") from error
    except OSError as error:
        raise RecipeError(f"recipe {path}: cannot be read: {error.strerror}") from error
    overrides = tuple(overrides)
    return Contents(str(source), values, apply(overrides, values), overrides)


def find(source: str | Path) -> Path:
    """The file of a recipe.

    Raises:
        RecipeError: There is none.
    """
    path = Path(source)
    if path.is_dir() and (path / "recipe.toml").is_file():
        return path / "recipe.toml"
    own_data = f"To train on your own data, pass it by name: --data {source}"
    if path.is_file():
        from reweigh.data.tables.frames import SUFFIXES

        if path.name.endswith(SUFFIXES):
            raise RecipeError(
                f"recipe {source}: a table, not a recipe, which is a TOML file. {own_data} --label COLUMN"
            )
        return path
    recipes = shipped()
    if str(source) in recipes:
        return recipes[str(source)]
    if path.is_dir():
        raise RecipeError(
            f"recipe {source}: a folder without recipe.toml; should be a file or the folder of a run. {own_data}"
        )
    raise RecipeError(
        f"no recipe named {str(source)!r} and no such file; shipped recipes are: {', '.join(recipes)}."
        f"{suggestion(str(source), recipes)}"
    )


def title(source: str | Path) -> str:
    """A short name for runs of a recipe: that of its file, or of its run."""
    path = find(source)
    return path.parent.name if path.name == "recipe.toml" else path.stem


def apply(overrides: Iterable[str], values: dict[str, Any]) -> list[Mistake]:
    """Put each ``key=value`` into ``values``; return what could not be applied.

    A key is a dotted path, with a number for an item of a list. A value is read as TOML, or else is a string.
    Names come first: another ``method.name`` chooses another method, and keeps of the written options those that
    mean the same to it; options given as overrides are always kept, and checked.
    """
    mistakes = []
    for override in sorted(overrides, key=lambda text: not text.partition("=")[0].endswith("name")):
        key, equals, text = override.partition("=")
        if not equals or not all(key.split(".")):
            mistakes.append(Mistake(f"override {override!r}", "should be key=value, such as optimizer.lr=0.05"))
            continue
        mistakes += put(values, key.split("."), parse(text))
    return mistakes


def parse(text: str) -> Any:
    """A value of TOML; what is not TOML is a string, so that names need no quotes."""
    try:
        table = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    return table["value"] if len(table) == 1 else text


def shipped() -> dict[str, Path]:
    """Name -> file, in order of name."""
    return {path.stem: path for path in sorted(Path(__file__).parent.glob("*.toml"))}


def comment(path: Path) -> str:
    """The opening comment of a recipe: the command that runs it, what it is for, where the settings come from."""
    return "\n".join(takewhile(lambda line: line.startswith("#"), read_text(path, "recipe").splitlines()))


def about(path: Path) -> str:
    """What a shipped recipe is for: the paragraph below its command."""
    return " ".join(line.removeprefix("# ") for line in comment(path).split("\n#\n")[1].splitlines())
