"""Where each table of members lives; the names in a table are read from it, never repeated."""

from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

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
