"""A run in a few sentences, for a reader in a hurry."""

import math

import numpy as np

from reweigh.fit.run_folder import describe
from reweigh.issues.count import HABIT, Z90
from reweigh.issues.true_labels import accuracy_limits
from reweigh.names import plural
from reweigh.runs.audit import audited, claim
from reweigh.runs.read import Account
from reweigh.runs.tables import Samples
from reweigh.runs.words import duration, in_words, measured, percent

WEAK_MODEL_SHARE = 0.5  # share of labels that look wrong; beyond it the model, not the labels, is in doubt


def headline(account: Account) -> str:
    """The result in two sentences: how many labels are wrong, and how good the model is, measured on which labels."""
    first = wrong_labels(account)
    return f"{first} {reached(account)}" if first else reached(account)


def wrong_labels(account: Account) -> str:
    """How many labels are wrong, by an audit or as estimated, and how many look wrong; empty if nothing is known."""
    if account.samples is None or account.samples.issue is None:
        return ""
    parts = [part for part in (account.samples, account.held_out) if part is not None and part.issue is not None]
    found, labels = sum(len(part.suspects) for part in parts), sum(int(part.labeled.sum()) for part in parts)
    share = found / max(labels, 1)
    weak = "; such a large share usually means a weak model, not bad labels" if share > WEAK_MODEL_SHARE else ""
    listed = f"{found:,} of {labels:,} labels look wrong ({percent(share)}){weak}."
    known = claim(account.path)
    return " ".join(filter(None, [known, listed] if audited(account.path) else [listed, known]))


def reached(account: Account) -> str:
    """The main test metric of the epoch that was kept, and which labels it is measured on."""
    if not account.history:
        return f"{account.method} has not finished an epoch yet."
    if not account.tests:
        return f"{account.method} was trained without a test set."
    kept, judged_by = account.kept, account.tests[0]
    share = kept.get(judged_by, math.nan)
    when = ""
    if account.status != "finished":
        when = f" after epoch {kept['epoch']:.0f} of {account.epochs}"
    elif account.kept_name != "last":
        when = f" after the {account.kept_name} epoch"
    if not math.isfinite(share):
        return f"{account.method} has no valid test result{when}."
    what = "" if judged_by == "test_accuracy" else f"a {in_words(judged_by)} of "
    if judged_by == "test_accuracy" and held_out(account):
        agrees = f"The model ({account.method}) agrees with {percent(share)} of the held-out labels{when}"
        return f"{agrees}; {on_true_labels(account, share)}."
    doubt = ", whose labels may be wrong too" if held_out(account) else ""
    return f"The model ({account.method}) reaches {what}{measured(judged_by, share)} on the test set{when}{doubt}."


def on_true_labels(account: Account, agreement: float) -> str:
    """What the accuracy would be on true labels: by an audit or as estimated, with limits."""
    finding, kept, sizes = account.classes.finding, account.kept, np.array(account.classes.sizes)
    if (audit := audited(account.path)) is not None:
        low, high = accuracy_limits(agreement, audit.wrong.high, 1.0)
        return f"by the audit, it is right for {percent(low)} to {percent(high)} of them"
    if finding is None or len(sizes) != len(finding.share):
        return "some of these may be wrong too"
    if any(finding.low) and (estimate := kept.get("true_accuracy")) is not None:
        error = Z90 * kept.get("true_accuracy_error", math.nan)
        low, high = max(estimate - error, 0.0), min(estimate + error, 1.0)
        if math.isfinite(error):
            return f"on true labels it would be about {percent(min(estimate, 1.0))} ({percent(low)} to {percent(high)})"
    most = float(sizes @ np.array(finding.high)) / max(int(sizes.sum()), 1)
    low, high = accuracy_limits(agreement, min(most, 1.0), HABIT)
    return f"since some of these may be wrong, it is right for {percent(low)} to {percent(high)} of them"


def held_out(account: Account) -> bool:
    """Whether the test samples are a part of the user's data, with labels as doubtful as the others."""
    source = account.recipe.source
    return source.name == "files" and source.options.get("test") is None


def about(account: Account) -> list[str]:
    """Data, bias, state and time of a run, one sentence each."""
    classes, samples, data = account.classes, account.samples, account.recipe.source
    path = data.options.get("path")
    words = [f"Data: {describe(account.recipe)}{f' ({path})' if path else ''}."]
    if classes.sizes:
        small, large = min(classes.sizes), max(classes.sizes)
        spread = f"of {small:,} each" if small == large else f"of {small:,} to {large:,}"
        tested = "" if account.tested is None else f", and {plural(len(account.tested.label), 'test sample')}"
        total, count = sum(classes.sizes), plural(len(classes.names), "class", "classes")
        words.append(f"{plural(total, 'training sample')} in {count} {spread}{tested}.")
    if samples is not None and not samples.labeled.all():
        words.append(few_labels(samples))
    if samples is not None and samples.wrong is not None:
        wrong = int(samples.wrong.sum())
        share = percent(wrong / samples.labeled.sum())
        words.append(f"The true labels are known: {wrong:,} training labels ({share}) are wrong.")
    if classes.finding is not None and (rest := classes.finding.words.removeprefix(claim(account.path)).strip()):
        words.append(rest)  # the headline says the rest
    if account.status != "finished":
        words.append(
            f"The run is not finished ({account.status}, {len(account.history)} of {account.epochs} epochs); "
            "the page shows the results so far."
        )
    if account.history:
        words.append(f"{plural(len(account.history), 'epoch')} took {duration(account.seconds)}.")
    return words


def few_labels(samples: Samples) -> str:
    """How many samples have a label, and for how many of the others the suggested class is right, if known."""
    words = (
        f"Only {int(samples.labeled.sum()):,} of the {len(samples):,} training samples have a label; the others count "
        "as the class that training suggests"
    )
    others = ~samples.labeled
    if samples.true is None or samples.suggested is None:
        return f"{words}."
    right = (samples.suggested == samples.true)[others].mean()
    return f"{words}, which is right for {percent(float(right))} of them."
