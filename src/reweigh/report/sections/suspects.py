"""Section: the labels that look wrong, the worst as cards, all of them in a table."""

import math
import shlex
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from reweigh.errors import DataError
from reweigh.names import plural
from reweigh.report.content import Card, Column, Panel, Section, Table
from reweigh.report.inputs import Looks, Shown, on_card
from reweigh.runs.account import Account
from reweigh.runs.tables import Samples
from reweigh.runs.words import UNKNOWN, family_name, percent, sentence
from reweigh.weighting import num_curves

CARDS, ROWS = 50, 500  # of one run
ALL_CARDS, ALL_ROWS = 200, 2000  # of all runs: the page stays small
LEAD = (
    "The labels that look most wrong, the worst first. Quality says how well the given label fits, from 0 (not at all) "
    "to 1. Start at the top, and stop where most labels turn out to be right."
)


def suspects(accounts: Sequence[Account]) -> Section:
    """The labels to look at."""
    cards, rows = min(CARDS, ALL_CARDS // len(accounts)), min(ROWS, ALL_ROWS // len(accounts))
    panels = [panel(account, cards, rows) for account in accounts]
    return Section("Labels to look at first", LEAD, panels, wide=True)


def panel(account: Account, most_cards: int = CARDS, most_rows: int = ROWS) -> Panel:
    """One run."""
    if account.samples is None or account.samples.issue is None or account.samples.quality is None:
        return Panel(["The run does not say which labels look wrong."])
    trained, labels = len(account.samples.suspects), int(account.samples.labeled.sum())
    words = [f"{trained:,} of {labels:,} training labels look wrong ({percent(trained / max(labels, 1))})."]
    if account.held_out is not None:
        unseen, total = len(account.held_out.suspects), int(account.held_out.labeled.sum())
        words.append(
            f"So do {unseen:,} of the {total:,} labels that were held out for testing; those were judged by the final "
            "model, which has not seen them."
        )
    account, held_out = account.with_held_out()
    samples = account.samples
    assert samples is not None
    found, first_unseen = samples.suspects, len(samples) - held_out
    if not len(found):
        return Panel([f"None of the {plural(labels, 'training label')} looks wrong."])
    if samples.wrong is not None:
        hits = int(samples.wrong[found].sum())
        words.append(
            f"Compared with the true labels, {percent(hits / len(found))} of these are indeed wrong, and they are "
            f"{percent(hits / samples.wrong.sum())} of all wrong labels."
        )
    if len(found) > most_rows:
        files = "samples.csv and held_out.csv" if held_out else "samples.csv"
        words.append(f"The table shows the {most_rows:,} worst; {len(found) - most_rows:,} more are in {files}.")
    looks, missing = None, account.no_data
    shown = [Shown()] * min(most_cards, len(found))
    if account.dataset is not None:
        looks = Looks.of_source(account.dataset, account.recipe.source)
        try:
            shown = [show(looks, samples, index) for index in found[:most_cards].tolist()]
        except (DataError, OSError) as error:
            missing = str(error)
    if missing:
        words.append(sentence(f"The samples themselves cannot be shown: {missing}"))
    cards = [
        card(account, looks, index, its, index >= first_unseen)
        for index, its in zip(found.tolist(), shown, strict=False)
    ]
    path = str(account.path)
    commands = [("Go through them and decide", shlex.join(["reweigh", "review", path]))]
    commands.append(("Write them all to a file", shlex.join(["reweigh", "issues", path, "--out", "issues.csv"])))
    return Panel(words, cards=cards, table=table(account, looks, found[:most_rows]), commands=commands)


def show(looks: Looks, samples: Samples, index: int) -> Shown:
    """A sample as a card shows it; the columns that support the suggested label come first."""
    suggested = -1 if samples.suggested is None else int(samples.suggested[index])
    return on_card(looks, index, int(samples.given[index]), suggested)


def card(account: Account, looks: Looks | None, index: int, shown: Shown, held_out: bool) -> Card:
    """A sample with what training, or the final model if it was held out, found out about it."""
    samples, label = account.samples, account.classes.name
    assert samples is not None
    facts = [
        (name, f"{values[index]:.3f}")
        for name, values in (("quality", samples.quality), ("weight", samples.weight))
        if values is not None and np.isfinite(values[index])
    ]
    if held_out:
        facts.append(("held out", "judged by the final model"))
    if samples.true is not None:
        facts.append(("true label", label(int(samples.true[index]))))
    suggested = "" if samples.suggested is None else label(int(samples.suggested[index]))
    return Card(title(samples, looks, index), label(int(samples.given[index])), suggested, facts, shown)


def title(samples: Samples, looks: Looks | None, index: int) -> str:
    """What a sample is called: its row in the user's data, and its file or id if it has one."""
    name = looks.name(index) if looks is not None else samples.name[index] if samples.name is not None else ""
    return f"row {samples.row[index]}" + (f" · {name}" if name else "")


def table(account: Account, looks: Looks | None, rows: np.ndarray) -> Table:
    """The table of some samples, with the columns that the run has."""
    samples, label = account.samples, account.classes.name
    assert samples is not None
    count = 0 if samples.family is None else int(samples.family.max()) + 1
    count = num_curves(account.net, count)
    titles = [title(samples, looks, row) for row in rows.tolist()]
    columns = {"sample": (Column("sample", True), [text.removeprefix("row ") for text in titles])}

    def score(value: float) -> str:
        return f"{value:.3f}" if math.isfinite(value) else UNKNOWN

    def add(name: str, values: np.ndarray | None, shown: Callable[[Any], str], numbers: bool = False) -> None:
        if values is not None:
            columns[name] = (Column(name, numbers), [shown(value) for value in values[rows].tolist()])

    add("given", samples.given, label)
    add("suggested", samples.suggested, label)
    if samples.candidates is not None:
        sets = [", ".join(map(label, samples.candidates[row])) for row in rows]
        columns["candidates"] = (Column("candidates"), sets)
    add("true", samples.true, label)
    add("quality", samples.quality, score, numbers=True)
    add("weight", samples.weight, score, numbers=True)
    add("family", samples.family, lambda value: family_name(value, count) if value >= 0 else UNKNOWN)
    cells = zip(*(values for _, values in columns.values()), strict=True)
    sorted_by = list(columns).index("quality")
    return Table("Labels that look wrong", [column for column, _ in columns.values()], list(cells), sorted_by, True)
