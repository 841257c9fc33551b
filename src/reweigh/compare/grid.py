"""Plan a comparison: which runs to make, all checked before the first begins."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from reweigh.compare import bias_names
from reweigh.plan.check import examine
from reweigh.plan.mistakes import Mistake, raise_all
from reweigh.plan.plan import Plan
from reweigh.recipes.check import check, for_bias, for_method
from reweigh.recipes.read import Contents, read


class Key(NamedTuple):
    """A run of a comparison; ``bias`` is "" for the recipe's own."""

    bias: str
    method: str
    seed: int

    def path(self, folder: Path) -> Path:
        """Where the run is: FOLDER/BIAS/METHOD-seedSEED, or FOLDER/METHOD-seedSEED."""
        return folder / self.bias / f"{self.method}-seed{self.seed}"

    def __str__(self) -> str:
        return ", ".join([*([self.bias] if self.bias else []), self.method, f"seed {self.seed}"])


def plan(
    source: str | Path | Contents,
    overrides: Iterable[str] = (),
    methods: Sequence[str] | None = None,
    biases: Sequence[str] | None = None,
    seeds: int = 3,
) -> dict[Key, Plan]:
    """Every run to make; all are checked, none is begun.

    The runs of one bias and seed differ only in the method and its own settings in the recipe: they see the same wrong
    labels, and their classifiers start from the same weights.

    Args:
        source: The recipe: a file, a run, the name of a shipped one, or its contents.
        overrides: ``key=value``, for all runs.
        methods: By name; the recipe's own if None.
        biases: In short, see ``bias_names``; the recipe's own if None.
        seeds: How many, counted from the recipe's.

    Raises:
        RecipeError: With every mistake for any of the methods and biases.
    """
    contents = source if isinstance(source, Contents) else read(source, overrides)
    own = check(contents)
    methods = [own.method.name] if methods is None else methods
    named, mistakes = bias_names.parse(biases or ())
    if seeds < 1:
        mistakes.append(Mistake("seeds", f"got {seeds}; should be at least 1"))
    variants = [(name, for_method(contents, name)) for name in dict.fromkeys(methods)]
    mistakes += [Mistake(name, "named twice; once is enough") for name, _ in variants if methods.count(name) > 1]
    variants += [(name, for_bias(contents, name, changes)) for name, changes in named.items()]
    for name, variant in variants:
        mistakes += [Mistake(f"{name}: {path}", text) for path, text in examine(variant.values)[1]]
    raise_all(mistakes, f"comparison by recipe {contents.source}")
    planned = {}
    for bias in [""] if biases is None else named:
        for method in methods:
            variant = for_method(contents, method)
            recipe = check(for_bias(variant, bias, named[bias]) if bias else variant)
            first = recipe.train["seed"]
            for seed in range(first, first + seeds):
                planned[Key(bias, method, seed)] = replace(recipe, train={**recipe.train, "seed": seed})
    return planned
