"""Where each table of members lives, and the options that a member takes: read from it, never repeated."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, create_model

from reweigh.names import lookup

if TYPE_CHECKING:
    from reweigh.core.method import Method


class Table(NamedTuple):
    """A table that a recipe chooses from.

    Attributes:
        kind: What one member is, for messages.
        home: Module and attribute; imported when first asked for, because most of them need torch.
        finder: Function that finds a member by name, if there are more than the table lists.
    """

    kind: str
    home: str
    finder: str | None = None


TABLES: dict[str, Table] = {
    "methods": Table("method", "reweigh.methods:METHODS", "reweigh.methods:find"),
    "engines": Table("engine", "reweigh.core.jvp:ENGINES"),
    "weight-nets": Table("weight net", "reweigh.weighting:WEIGHTINGS"),
    "family-rules": Table("family rule", "reweigh.families:FAMILIES"),
    "losses": Table("loss", "reweigh.losses:LOSSES"),
    "meta-sets": Table("meta set", "reweigh.meta_sets:META_SETS"),
    "datasets": Table("dataset", "reweigh.data:DATASETS"),
    "biases": Table("bias", "reweigh.bias:BIASES"),
    "candidates": Table("rule for candidates", "reweigh.bias:CANDIDATES"),
    "transforms": Table("transform", "reweigh.transforms:TRANSFORMS"),
    "features": Table("network for features", "reweigh.features:FEATURES", "reweigh.features:find"),
    "models": Table("model", "reweigh.models:MODELS", "reweigh.models:find"),
    "optimizers": Table("optimizer", "reweigh.training:OPTIMIZERS"),
    "schedules": Table("schedule", "reweigh.training:SCHEDULES"),
}


def members(table: str) -> Mapping[str, Callable[..., Any]]:
    """The members of a table by name."""
    return resolve_name(TABLES[table].home)


def member(table: str, name: str) -> Callable[..., Any]:
    """One member.

    Raises:
        RecipeError: There is none of that name; lists all and suggests the nearest.
        ModelError: The name of a model from elsewhere is not written as one.
    """
    kind, _, finder = TABLES[table]
    return resolve_name(finder)(name) if finder else lookup(members(table), name, kind)


def method_named(name: str) -> "type[Method]":
    """A method; its class attributes describe what it accepts."""
    found: Any = member("methods", name)
    return found


class Options(BaseModel):
    """Base of all options: unknown keys are mistakes, and a string is not a number."""

    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())


def named_member(table: str, name: str) -> str:
    """The name itself if a member of the table has it; otherwise a RecipeError."""
    member(table, name)
    return name


def _annotation(parameter: inspect.Parameter) -> Any:
    """The type to check; an option called like a kind of part (``engine: str``) must name a member of its table."""
    for table, (kind, *_) in TABLES.items():
        if parameter.name == kind.replace(" ", "_") and parameter.annotation is str:
            return Annotated[str, AfterValidator(partial(named_member, table))]
    return Any if parameter.annotation is inspect.Parameter.empty else parameter.annotation


def parameters_of(part: Callable[..., Any]) -> Iterable[inspect.Parameter]:
    """The arguments of a part that are options; a method that learns weights has those of its reweighter too."""
    from reweigh.core.method import Method  # needs torch

    if isinstance(part, type) and Method in part.__mro__:
        from reweigh.methods import options_of_method

        return options_of_method(part).values()
    parameters = inspect.signature(part, eval_str=True).parameters.values()
    return [parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]


@cache
def options_of(part: Callable[..., Any], base: type[Options] = Options) -> type[Options]:
    """The options that a part accepts.

    Args:
        part: a function or class; its positional arguments are supplied by the assembly, the keyword-only ones
            are the options. An option without a default must be given. A part with ``**options`` takes any.
        base: Options that the section of the recipe adds (``data.root``).
    """
    fields: dict[str, Any] = {}
    for parameter in parameters_of(part):
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter.name] = (_annotation(parameter), default)
    kinds = [parameter.kind for parameter in inspect.signature(part).parameters.values()]
    settings = {"extra": "allow"} if inspect.Parameter.VAR_KEYWORD in kinds else {}
    return create_model(getattr(part, "__name__", "Part"), __base__=base, __cls_kwargs__=settings, **fields)


def supplied_to(part: Callable[..., Any]) -> list[str]:
    """What the assembly passes to a part: its positional arguments."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter.name for parameter in inspect.signature(part).parameters.values() if parameter.kind in kinds]
