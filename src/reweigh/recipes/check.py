"""From the contents of a recipe file to a checked plan, or to all of its mistakes."""

from collections.abc import Mapping

from reweigh.plan import Plan
from reweigh.plan.check import check_name, examine
from reweigh.plan.mistakes import Mistake, raise_all, shown
from reweigh.recipes.read import Contents
from reweigh.recipes.variants import for_method


def check(contents: Contents) -> Plan:
    """The plan that a recipe describes. Nothing is built and no data are read.

    Raises:
        RecipeError: Lists every mistake, those of the overrides included.
    """
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
