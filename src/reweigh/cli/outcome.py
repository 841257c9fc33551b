"""Print the outcome of a run: its test results, the learned curves, and what to do next."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase as LETTERS

import numpy as np
from rich.text import Text

from reweigh.cli.printing import console, show_table, visible
from reweigh.files import read_json, read_text
from reweigh.fit.run_folder import Outcome, describe, open_run
from reweigh.names import plural
from reweigh.report.figures.weights import curves as curves_of
from reweigh.runs.tables import LABELER_COLUMNS, read_labelers, read_tested
from reweigh.runs.words import describe_families, in_words, judged
from reweigh.training import Run
from reweigh.training.processes import is_first
from reweigh.weighting import load_weighting

STANDARD_ERRORS_90 = 1.645  # on either side of a 90 % interval
MAX_LABELERS = 20  # that are printed
COLORS = ("red", "green", "blue", "magenta", "cyan", "yellow")


def show_outcome(outcome: Outcome) -> None:
    """Print the end of ``reweigh train``; of several processes, only the first does."""
    if not is_first():
        return
    out = console()
    for words in answer(outcome):
        out.print(visible(words))
    out.print()
    result = outcome.result
    kept, best = result.kept, result.best
    tests = [name for name in kept if name.startswith("test_")]
    rows = [[in_words(name), measured(name, kept[name]), measured(name, best[name])] for name in tests]
    title = f"{outcome.plan.method.name} on {describe(outcome.plan)}"
    show_table(
        title, ["test", f"{result.kept_name} epoch ({kept['epoch']})", f"best epoch ({best['epoch']})"], rows, True
    )
    if labelers := read_labelers(outcome.run.labelers):
        few = f", the {MAX_LABELERS} of {len(labelers):,} with the most votes" if len(labelers) > MAX_LABELERS else ""
        show_table(f"Labelers{few}", LABELER_COLUMNS, [each.in_words() for each in labelers[:MAX_LABELERS]])
        out.print("Which samples need another label, and which labeler to ask: next_labels.csv in the run folder.\n")
    samples, unseen = outcome.fit.samples, outcome.fit.unseen if outcome.run.held_out.is_file() else None
    held_out = 0 if unseen is None else int((unseen.given >= 0).sum())
    known = not bool(samples.quality.isnan().all())
    judged_words = judged(int((samples.given >= 0).sum()), held_out) if known else None
    details = (
        why_stopped(outcome.fit.history, outcome.plan.train["epochs"]),
        judged_words,
        trust(outcome),
        learned_curves(outcome.run),
    )
    for words in filter(None, details):
        out.print(words, "" if isinstance(words, Text) else "\n", sep="")
    out.print(f"Run folder: {visible(outcome.run.path)}")


def answer(outcome: Outcome) -> list[str]:
    """How many labels look wrong, what is known about them, and what to do next; empty if labels were not judged."""
    parts = [outcome.fit.samples, outcome.fit.unseen if outcome.run.held_out.is_file() else None]
    judged_parts = [part for part in parts if part is not None and not bool(part.quality.isnan().all())]
    if not judged_parts or not outcome.run.samples.exists():
        return []
    found = sum(int(part.wrong.sum()) for part in judged_parts)
    labels = sum(int((part.given >= 0).sum()) for part in judged_parts)
    words = [f"{found:,} of {labels:,} labels look wrong ({found / max(labels, 1):.1%})."]
    words += [outcome.fit.finding.words] if outcome.fit.finding else []
    path = outcome.run.path
    return [*words, f"Next: reweigh review {path} to look at them, or reweigh issues {path}; reweigh report {path}."]


def why_stopped(history: Sequence[Mapping[str, float]], planned: int) -> str | None:
    """Why training took fewer epochs than planned, or went on with a second look; None if it took just these."""
    rates = [row.get("lr", 0.0) for row in history]
    fell = (place for place in range(2, len(rates)) if rates[place - 2] > rates[place - 1] < rates[place])
    again = next(fell, None)  # a second look begins with the first learning rate
    if again is not None and "judge_keeps" in history[again - 1]:
        first = history[again - 1]
        best = f"held-out labels were predicted best after epoch {first['judge_keeps']:.0f}"
        return (
            f"The first look ended after epoch {first['epoch']:.0f} of {planned}: {best}. The second look, with "
            f"corrected labels, took {plural(len(history) - again, 'epoch')}."
        )
    if len(history) < planned and "judge_keeps" in history[-1]:
        best = f"held-out labels were predicted best after epoch {history[-1]['judge_keeps']:.0f}"
        return f"Training stopped after epoch {history[-1]['epoch']:.0f} of {planned}: {best}."
    return None


def learned_curves(run: Run) -> Text | None:
    """The weight that each family gives to a loss, from a run folder; None if the run has no weighting function."""
    if not run.weighting.exists():
        return None
    weighting, origin = load_weighting(run.weighting)
    classes = read_json(run.classes)
    max_loss = 3 * math.log(len(classes["names"]))  # three times the loss of a guess
    curves = curves_of(weighting, np.linspace(0, max_loss, 121)).tolist()
    if tomllib.loads(read_text(run.recipe, "recipe"))["method"].get("weighting"):
        labels = [f"family {number} of the data where it was learned" for number in range(len(curves))]
        if origin.centers and origin.learned_on:
            labels = [f"classes of about {size:.0f} samples in {origin.learned_on}" for size in origin.centers]
    else:
        found = describe_families(len(curves), classes["families"], classes["names"], classes["sizes"])
        labels = [family.words for family in found]
    return draw(curves, [visible(label) for label in labels], max_loss, origin.reads)


def trust(outcome: Outcome) -> str | None:
    samples, true = outcome.fit.samples, outcome.train_set.true_labels
    if samples.weights is None or true is None or outcome.train_set.candidates is not None:
        return None
    labels, seen, word = samples.given, samples.given >= 0, "label"
    if not bool(seen.all()):
        labels, seen, word = samples.suggested, ~seen, "pseudo-label"
    wrong = labels != true
    if not wrong[seen].any() or wrong[seen].all():
        return None
    right_mean, wrong_mean = (samples.weights[mask].nanmean().item() for mask in (seen & ~wrong, seen & wrong))
    return (
        f"{wrong[seen].double().mean():.0%} of the training {word}s are wrong; "
        f"mean weight of right {word}s {right_mean:.2f}, of wrong ones {wrong_mean:.2f}"
    )


def measured(name: str, value: float) -> str:
    """A metric: a share in percent, with two decimals; a log loss as it is."""
    return f"{value:.3f}" if name.endswith("log_loss") else f"{100 * value:.2f}"


def worth(before: Path, after: Path) -> str | None:
    """What a review was worth, in a sentence; None if the runs were not tested on the same samples."""
    (first, plan), (second, new) = open_run(before), open_run(after)
    old, now = read_tested(first.test), read_tested(second.test)
    before_review, after_review = (
        replace(each.source, added={**each.source.added, "reviewed": None, "decisions": None}) for each in (plan, new)
    )
    if old is None or now is None or len(old.label) != len(now.label) or before_review != after_review:
        return None
    was, is_now = old.predicted == now.label, now.predicted == now.label
    gain = is_now.astype(float) - was
    error = STANDARD_ERRORS_90 * float(np.std(gain, ddof=1)) / np.sqrt(len(gain)) if len(gain) > 1 else float("nan")
    return (
        f"On the same {len(gain):,} held-out samples: {was.mean():.1%} before the review, {is_now.mean():.1%} after; "
        f"a difference of {100 * gain.mean():+.1f} points (90%: {100 * (gain.mean() - error):+.1f} to "
        f"{100 * (gain.mean() + error):+.1f}). Labels of held-out samples may be wrong themselves."
    )


def draw(
    curves: Sequence[Sequence[float]],
    labels: Sequence[str],
    max_loss: float,
    what: str = "loss",
    height: int = 11,
    width: int = 60,
) -> Text:
    """A plot of characters; each curve has its own letter and color, so it can be read without colors.

    Where curves meet, the letter of the first is shown.
    """
    top = max(1.0, *(max(curve) for curve in curves))
    grid: list[list[int | None]] = [[None] * width for _ in range(height)]
    for family in reversed(range(len(curves))):  # the first family is drawn last, on top
        columns = np.linspace(0, len(curves[family]) - 1, width)
        weights = np.interp(columns, range(len(curves[family])), curves[family])
        for column, weight in enumerate(np.clip(weights / top, 0, 1)):
            grid[round((1 - weight) * (height - 1))][column] = family
    text = Text("weight\n")
    for row, cells in enumerate(grid):
        share = top * (1 - row / (height - 1))
        text.append(f"{share:5.2f} ┤" if row % 5 == 0 else "      │")
        for family in cells:
            text.append(" " if family is None else LETTERS[family % 26], COLORS[(family or 0) % len(COLORS)])
        text.append("\n")
    text.append("      └" + "─" * width + "\n")
    text.append("       0" + f"{max_loss:.3g}".rjust(width - 1) + f"  {what}\n")
    for family, label in enumerate(labels):
        text.append("  ").append(LETTERS[family % 26], COLORS[family % len(COLORS)]).append(f"  {label}\n")
    return text
