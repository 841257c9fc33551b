"""Report every mistake in a recipe in one message."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import astuple
from typing import Any, NamedTuple, get_args

from annotated_types import Ge, Gt, Le, Lt
from pydantic import ValidationError

from reweigh.errors import RecipeError
from reweigh.names import plural, suggestion
from reweigh.plan.tables import Options

_LIMITS: dict[type, str] = {Ge: "at least", Gt: "above", Le: "at most", Lt: "below"}
_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}


class Mistake(NamedTuple):
    """One mistake: where it is, what was given, what is allowed, and the nearest remedy."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


def shown(value: Any) -> str:
    """A value as a recipe would write it, cut to a readable length."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def unknown_key(
    path: str, key: str, known: Iterable[str], problem: str, got: Any, beside: Iterable[str] = ()
) -> Mistake:
    """A key that nothing reads; ``beside`` are keys that are not listed, but may be meant."""
    names = sorted(known)
    there_are = f"there are: {', '.join(names)}" if names else "it has none"
    text = f"{problem} {there_are}; got {shown(got)}.{suggestion(key, [*names, *beside])}"
    return Mistake(f"{path}.{key}" if path else key, text)


def check_options(
    model: type[Options], raw: Mapping[str, Any], path: str, owner: str, beside: Iterable[str] = ()
) -> tuple[Options | None, list[Mistake]]:
    """The checked options, or None and every mistake in them.

    Checked as JSON: strict about types, yet an array is a tuple and a whole number is a number, as in TOML.

    Args:
        path: where ``raw`` is in the recipe.
        owner: whose options they are, for the message about an unknown key.
        beside: other keys that may be in the same table.
    """
    try:
        return model.model_validate_json(json.dumps(raw, default=str)), []
    except ValidationError as error:
        return None, _translate(error, model, raw, path, owner, list(beside))


def _translate(
    error: ValidationError, model: type[Options], raw: Any, path: str, owner: str, beside: list[str]
) -> list[Mistake]:
    mistakes: dict[str, Mistake] = {}
    for fault in error.errors(include_url=False):
        key, *rest = fault["loc"] or ("",)
        # Of the inner steps only list indices and keys are part of the recipe; the others name branches of a union.
        own = raw.get(key) if isinstance(raw, dict) else None
        keys = own if isinstance(own, dict) else ()
        where = ".".join([path, str(key), *(str(step) for step in rest if isinstance(step, int) or step in keys)])
        if fault["type"] == "extra_forbidden":
            text = f"{owner} has no option {key!r};"
            mistake = unknown_key(path, str(key), model.model_fields, text, fault["input"], beside)
            mistake = Mistake(mistake.path, mistake.text + _by_value(model, path, mistake.text, fault["input"]))
        elif fault["type"] == "missing":
            mistake = Mistake(where, f"missing; expected {expected(model, str(key))}")
        elif fault["type"] == "value_error":
            cause = fault.get("ctx", {}).get("error")
            mistake = Mistake(where, str(cause) if isinstance(cause, RecipeError) else _got(fault["input"], str(cause)))
        else:
            mistake = Mistake(where, _got(fault["input"], fault["msg"]) + _nearest(fault))
        if where in mistakes and fault["type"] not in ("extra_forbidden", "missing"):  # another branch of a union
            mistake = Mistake(where, f"{mistakes[where].text}, or {_allowed(fault['msg'])}")
        mistakes[where] = mistake
    return list(mistakes.values())


def _by_value(model: type[Options], path: str, said: str, value: Any) -> str:
    """A sentence that suggests the option which can have this value, if no name was near enough to be suggested."""
    able = [name for name, field in model.model_fields.items() if value in get_args(field.annotation)]
    meant = isinstance(value, str) and len(able) == 1 and "Did you mean" not in said
    return f" Did you mean {path}.{able[0]} = {value!r}?" if meant else ""


def _got(value: Any, message: str) -> str:
    return f"got {shown(value)}; {_allowed(message)}"


def _allowed(message: str) -> str:
    return message.removeprefix("Input ").removeprefix("Value error, ")


def _nearest(fault: Any) -> str:
    if fault["type"] in ("list_type", "tuple_type"):
        return f", such as [{shown(fault['input'])}]"
    if fault["type"] != "literal_error":
        return ""
    return "." + suggestion(str(fault["input"]), re.findall(r"'([^']*)'", fault["ctx"]["expected"]))


def expected(model: type[Options], key: str) -> str:
    """What an option may be, in words."""
    field = model.model_fields[key]
    word = _WORDS.get(field.annotation, re.sub(r"\w+\.", "", str(field.annotation)))  # type: ignore[arg-type]
    limits = [f"{_LIMITS[type(limit)]} {astuple(limit)[0]}" for limit in field.metadata if type(limit) in _LIMITS]
    return ", ".join([word, *limits])


def raise_all(mistakes: list[Mistake], what: str) -> None:
    """Raise one RecipeError that lists all mistakes of ``what``, if there are any."""
    if mistakes:
        head = f"{what}: {plural(len(mistakes), 'mistake')}"
        raise RecipeError("\n".join([head, *(f"  {mistake}" for mistake in mistakes)]))
