"""Plan a comparison: which runs to make, with short names for biases; all are checked before the first begins."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from reweigh.errors import RecipeError
from reweigh.names import lookup
from reweigh.plan.check import Mistake, examine, expected, raise_all
from reweigh.plan.plan import Part, Plan, member, members, options_of
from reweigh.recipes.read import Contents, check, for_bias, for_method, read

CLEAN = "clean"
# what is not a bias of the labels but is named like one, and what its number means
OTHERS = {"candidates": "the q of candidates, a number, at least 0, at most 1", "labeled": "how many labels to keep"}

Changes = dict[str, Any]  # what [data] of a recipe gets for ``bias``, ``candidates`` and ``labeled``


def parse(names: Iterable[str]) -> tuple[dict[str, Changes], list[Mistake]]:
    """What each name stands for, and every mistake in any of the names.

    A name is ``NAME-NUMBER``, the number being the one option of the bias that has no default; several are joined by
    ``+`` and follow one another. ``candidates-Q`` and ``labeled-COUNT`` come after all biases, wherever they stand.
    The check of the recipe reports a number that is not allowed.
    """
    found: dict[str, Changes] = {}
    mistakes: list[Mistake] = []
    for name in names:
        if name in found:
            mistakes.append(Mistake(name, "named twice; once is enough"))
            continue
        found[name] = {}
        for text in map(str.strip, name.split("+") if name != CLEAN else ()):
            word, _, number = text.partition("-")
            try:
                if word not in OTHERS:
                    found[name].setdefault("bias", []).append(_one(text))
                elif word in found[name]:
                    raise RecipeError(f"{word} twice; once is enough")
                else:
                    value = _number(word, number, OTHERS[word])
                    found[name][word] = {"q": value} if word == "candidates" else value
            except RecipeError as error:
                mistakes.append(Mistake(name, str(error)))
    return found, mistakes


def name_of(data: Part) -> str:
    """A short name for the biases of a recipe's [data]; options that have defaults are omitted."""
    biases = data.parts["bias"]
    words = [(bias.name, *(bias.options[option] for option in required(bias.name))) for bias in biases]
    words += [("candidates", rule.options["q"]) for rule in data.parts["candidates"]]
    if data.added["labeled"] is not None:
        words.append(("labeled", data.added["labeled"]))
    return "+".join("-".join(f"{x:g}" if isinstance(x, float) else str(x) for x in word) for word in words) or CLEAN


def required(bias: str) -> list[str]:
    fields = options_of(member("biases", bias)).model_fields
    return [option for option, field in fields.items() if field.is_required()]


def _one(text: str) -> dict[str, Any]:
    known = [name for name in members("biases") if text == name or text.startswith(f"{name}-")]
    if not known:
        if text == CLEAN:
            raise RecipeError(f"{CLEAN!r} means no bias, and cannot be joined with one")
        word = re.sub(r"-[\d.]*$", "", text)
        lookup(dict.fromkeys([*members("biases"), *OTHERS, CLEAN]), word, "bias")  # raises, and says what there is
    name = max(known, key=len)  # symmetric-others-0.4 is not a symmetric bias
    number = text[len(name) + 1 :]
    options = required(name)
    if len(options) > 1:
        raise RecipeError(
            f"{name} needs {', '.join(options)}, but a short name has room for one; use data.bias in the recipe"
        )
    if not options:
        if number:
            raise RecipeError(f"{name} takes no number, all its options have defaults; write {name!r}")
        return {"name": name}
    wanted = f"the {options[0]} of {name}, {expected(options_of(member('biases', name)), options[0])}"
    return {"name": name, options[0]: _number(name, number, wanted)}


def _number(name: str, number: str, wanted: str) -> int | float:
    if not number:
        raise RecipeError(f"no number; write {name}-NUMBER with {wanted}")
    try:
        value = int(number) if number.isdecimal() else float(number)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise RecipeError(f"got {number!r} for {wanted}")
    return value


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
        biases: In short, see ``parse``; the recipe's own if None.
    """
    contents = source if isinstance(source, Contents) else read(source, overrides)
    own = check(contents)
    methods = [own.method.name] if methods is None else methods
    named, mistakes = parse(biases or ())
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
