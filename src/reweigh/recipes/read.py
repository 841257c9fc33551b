"""Read recipes, by name or file, with changes, and check them: all mistakes in one message."""

import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from reweigh.errors import RecipeError, ReweighError
from reweigh.files import read_text
from reweigh.names import suggestion
from reweigh.plan import Plan
from reweigh.plan.check import Mistake, check_name, examine, raise_all, shown
from reweigh.plan.edit import merge, put, rename
from reweigh.plan.plan import SECTIONS, method_named, options_of


class Contents(NamedTuple):
    """A recipe as written, not yet checked.

    Attributes:
        source: What the user called it, for messages.
        mistakes: What was wrong with the overrides.
    """

    source: str
    values: Mapping[str, Any]
    mistakes: list[Mistake]
    overrides: tuple[str, ...] = ()


def read(source: str | Path, overrides: Iterable[str] = ()) -> Contents:
    """The contents of a recipe.

    Args:
        source: A TOML file, the folder of a run, or the name of a shipped recipe.
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
    """The file of a recipe; a RecipeError if there is none."""
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


def check(contents: Contents) -> Plan:
    """The plan that a recipe describes. Nothing is built and no data are read."""
    plan, mistakes = examine(contents.values)
    raise_all([*contents.mistakes, *mistakes, *_check_compare(contents, mistakes)], f"recipe {contents.source}")
    assert plan is not None
    return plan


def _check_compare(contents: Contents, known: list[Mistake]) -> list[Mistake]:
    """What the sections ``[compare.METHOD]`` add to the mistakes of the recipe itself."""
    compare = contents.values.get("compare", {})
    if not isinstance(compare, Mapping):
        return [Mistake("compare", f"got {shown(compare)}; should be tables named after methods")]
    mistakes = []
    for method, own in compare.items():
        wrong_name = check_name(method, f"compare.{method}", "methods")
        if wrong_name:
            mistakes += wrong_name
        elif not isinstance(own, Mapping):
            mistakes.append(Mistake(f"compare.{method}", f"got {shown(own)}; should be a table of sections"))
        else:
            _, found = examine(for_method(contents, method).values)
            mistakes += [Mistake(f"compare.{method}.{path}", text) for path, text in found if (path, text) not in known]
    return mistakes


def for_method(contents: Contents, method: str) -> Contents:
    """The recipe with ``method``, and with the settings in its section ``[compare.METHOD]``.

    The method keeps those of the written options that mean the same to it, and every option that was typed as an
    override and that it has; everything else stays the same, unless the section gives the method its own, such as a
    learning rate that suits it.
    """
    values = deepcopy(dict(contents.values))
    own = values.pop("compare", {})
    own = own.get(method, {}) if isinstance(own, dict) else {}
    if isinstance(values.get("method"), dict):
        typed = {text.partition("=")[0].removeprefix("method.") for text in contents.overrides}
        known: set[str] = set()
        with suppress(ReweighError):  # there is no such method, which the check reports
            known = set(options_of(method_named(method)).model_fields)
        asked = {key: values["method"][key] for key in typed & known & values["method"].keys()}
        rename(values["method"], method, SECTIONS["method"])
        values["method"] |= asked
    merge(values, own)
    return contents._replace(source=f"{contents.source} with {method}", values=values)


def for_bias(contents: Contents, name: str, changes: Mapping[str, Any]) -> Contents:
    """The recipe with other biases; a correct recipe, so that only the biases can be wrong.

    A bias that the recipe has too keeps its other options there, such as the map of asymmetric noise.

    Args:
        changes: What [data] gets for ``bias``, ``candidates`` and ``labeled``; a missing key means none.
    """
    values = deepcopy(dict(contents.values))
    data = values["data"]
    written = {bias["name"]: bias for bias in data.get("bias", [])}
    data["bias"] = [{**written.get(bias["name"], {}), **bias} for bias in changes.get("bias", [])]
    rule = {"name": "independent", **data.pop("candidates", {})}
    if "candidates" in changes:
        data["candidates"] = {**rule, **changes["candidates"]}
    data.pop("labeled", None)
    if "labeled" in changes:
        data["labeled"] = changes["labeled"]
    return contents._replace(source=f"{contents.source} with {name}", values=values)
