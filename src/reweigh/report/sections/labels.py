"""Sections about labels: those that look wrong, how many are, candidate labels, near-duplicates and outliers."""

import math
import shlex
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from reweigh.data.viewer import Shown, Viewer
from reweigh.errors import DataError
from reweigh.names import plural
from reweigh.report.content import Card, Column, Panel, Section, Table, each_run
from reweigh.runs.read import Account
from reweigh.runs.tables import LABELER_COLUMNS, Samples
from reweigh.runs.words import UNKNOWN, family_name, percent, score, sentence
from reweigh.weighting import num_curves

MAX_CARDS, MAX_ROWS = 50, 500  # of one run
MAX_CARDS_OF_ALL, MAX_ROWS_OF_ALL = 200, 2000  # of all runs: the page stays small
MAX_NEIGHBOR_ROWS = 200
MAX_PAIR_CARDS = 12  # pairs of near-duplicates with a picture
SUSPECTS_LEAD = (
    "The labels that look most wrong, the worst first. Quality says how well the given label fits, from 0 (not at all) "
    "to 1. Start at the top, and stop where most labels turn out to be right."
)


def suspects(accounts: Sequence[Account]) -> Section:
    """The labels to look at."""
    cards, rows = min(MAX_CARDS, MAX_CARDS_OF_ALL // len(accounts)), min(MAX_ROWS, MAX_ROWS_OF_ALL // len(accounts))
    panels = [suspects_panel(account, cards, rows) for account in accounts]
    return Section("Labels to look at first", SUSPECTS_LEAD, panels, wide=True)


def suspects_panel(account: Account, most_cards: int = MAX_CARDS, most_rows: int = MAX_ROWS) -> Panel:
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
    if len(found) > most_cards:
        below = f"the table below them has {min(len(found), most_rows):,}"
        words.append(f"The cards show the {most_cards:,} worst of {len(found):,}; {below}, and the review shows all.")
    looks, missing = None, account.no_data
    shown = [Shown()] * min(most_cards, len(found))
    if account.dataset is not None:
        looks = Viewer(account.dataset)
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
    return Panel(words, cards=cards, table=suspects_table(account, looks, found[:most_rows]), commands=commands)


def show(looks: Viewer, samples: Samples, index: int) -> Shown:
    """A sample as a card shows it; the columns that support the suggested label come first."""
    suggested = -1 if samples.suggested is None else int(samples.suggested[index])
    return looks.card(index, int(samples.given[index]), suggested)


def card(account: Account, looks: Viewer | None, index: int, shown: Shown, held_out: bool) -> Card:
    """A sample with what training, or the final model if it was held out, found out about it."""
    samples, label = account.samples, account.classes.name
    assert samples is not None
    facts = [
        (name, score(float(values[index])))
        for name, values in (("quality", samples.quality), ("weight", samples.weight))
        if values is not None and np.isfinite(values[index])
    ]
    if held_out:
        facts.append(("held out", "judged by the final model"))
    if samples.votes is not None:
        facts.append(("votes", samples.votes[index]))
    if samples.true is not None:
        facts.append(("true label", label(int(samples.true[index]))))
    suggested = samples.suggestion(index, label)
    return Card(title(samples, looks, index), label(int(samples.given[index])), suggested, facts, shown)


def title(samples: Samples, looks: Viewer | None, index: int) -> str:
    """What a sample is called: its row in the user's data, and its file or id if it has one."""
    name = looks.name(index) if looks is not None else samples.name[index] if samples.name is not None else ""
    return f"row {samples.row[index]}" + (f" · {name}" if name else "")


def suspects_table(account: Account, looks: Viewer | None, rows: np.ndarray) -> Table:
    """The table of some samples, with the columns that the run has."""
    samples, label = account.samples, account.classes.name
    assert samples is not None
    count = 0 if samples.family is None else int(samples.family.max()) + 1
    count = num_curves(account.net, count)
    titles = [title(samples, looks, row) for row in rows.tolist()]
    columns = {"sample": (Column("sample", True), [text.removeprefix("row ") for text in titles])}

    def known(value: float) -> str:
        return score(value) if math.isfinite(value) else UNKNOWN

    def add(name: str, values: np.ndarray | None, shown: Callable[[Any], str], numbers: bool = False) -> None:
        if values is not None:
            columns[name] = (Column(name, numbers), [shown(value) for value in values[rows].tolist()])

    add("given", samples.given, label)
    if samples.suggested is not None:
        suggestions = [samples.suggestion(row, label) for row in rows.tolist()]
        columns["suggested"] = (Column("suggested"), suggestions)
    if samples.candidates is not None:
        sets = [", ".join(map(label, samples.candidates[row])) for row in rows]
        columns["candidates"] = (Column("candidates"), sets)
    if samples.votes is not None:
        columns["votes"] = (Column("votes"), [str(samples.votes[row]) for row in rows.tolist()])
    add("true", samples.true, label)
    add("quality", samples.quality, known, numbers=True)
    add("weight", samples.weight, known, numbers=True)
    add("family", samples.family, lambda value: family_name(value, count) if value >= 0 else UNKNOWN)
    cells = zip(*(values for _, values in columns.values()), strict=True)
    sorted_by = list(columns).index("quality")
    return Table("Labels that look wrong", [column for column, _ in columns.values()], list(cells), sorted_by, True)


WRONG_LABELS_LEAD = (
    "How many labels of each class are wrong, as estimated from predictions for samples whose label the model had not "
    "learned. The limits are wide if wrong labels cannot be told from overlapping classes, and small classes borrow "
    "from all others. Only an audit of labels drawn at random is sure (reweigh audit)."
)


def wrong_labels_panel(account: Account) -> Panel:
    """One run."""
    classes, samples, finding = account.classes, account.samples, account.classes.finding
    if finding is None:
        return Panel(["The method does not estimate how many labels are wrong."])
    flagged = None
    if samples is not None and samples.issue is not None:
        flagged = np.bincount(samples.given[samples.issue], minlength=len(classes.names))
    columns = [Column("class"), *(Column(name, True) for name in ("samples", "look wrong", "estimate", "from", "to"))]
    order = sorted(range(len(classes.names)), key=lambda label: -finding.share[label])
    rows = [
        [
            classes.name(label),
            f"{classes.sizes[label]:,}",
            UNKNOWN if flagged is None else f"{flagged[label]:,}",
            *(percent(shares[label]) for shares in (finding.share, finding.low, finding.high)),
        ]
        for label in order
    ]
    return Panel([], table=Table("Wrong labels by class", columns, rows, sorted_by=-1))


wrong_labels = each_run("Wrong labels by class", WRONG_LABELS_LEAD, wrong_labels_panel, optional=True)


CANDIDATES_LEAD = (
    "Each training sample came with several candidate labels, one of which is right. The candidate that the model "
    "predicted most during training counts as its label; the more candidates, the harder it is to find the right one."
)


LABELERS_LEAD = (
    "How often each labeler is right, as estimated from the votes of the others and from the model. Labelers who "
    "repeat each other count as one. The run folder has all votes, the least credible first (votes.csv), and the "
    "samples that need another label, and which labeler to ask (next_labels.csv)."
)
MAX_LABELERS = 100  # that are shown


def labelers_panel(account: Account) -> Panel:
    """One run."""
    if not account.labelers:
        return Panel(["One label per sample."])
    number, shown = len(account.labelers), account.labelers[:MAX_LABELERS]
    words = [f"The {len(shown):,} of {number:,} labelers with the most votes."] if len(shown) < number else []
    columns = [Column(name, numbers=1 <= place < 5) for place, name in enumerate(LABELER_COLUMNS)]
    return Panel(words, table=Table("Labelers", columns, [each.in_words() for each in shown]))


labelers = each_run("Labelers", LABELERS_LEAD, labelers_panel, optional=True, wide=True)


def candidates_panel(account: Account) -> Panel:
    """One run."""
    samples = account.samples
    if samples is None or samples.candidates is None:
        return Panel(["The samples of this run have one label each."])
    counts, classes = np.array([len(each) for each in samples.candidates]), len(account.classes.names)
    words = [f"{plural(len(samples), 'training sample')} with {counts.mean():.2f} candidates on average."]
    if empty := int((counts == classes).sum()):
        words.append(f"{plural(empty, 'sample')} can be of any class, so these sets carry no information.")
    if samples.true is not None:
        words.append(f"The likeliest candidate is the right one for {percent(share_found(samples))} of the samples.")
    if samples.issue is not None and (strange := int(samples.issue.sum())):
        words.append(f"For {plural(strange, 'sample')} the likeliest class is not a candidate; look at these first.")
    return Panel(words, table=candidates_table(samples, counts))


candidates = each_run("Candidate labels", CANDIDATES_LEAD, candidates_panel, optional=True)


def candidates_table(samples: Samples, counts: np.ndarray) -> Table:
    """A row for each number of candidates."""
    columns = [Column("candidates", True), Column("samples", True)]
    if samples.true is not None:
        columns.append(Column("right one found", True))
    rows = []
    for count in np.unique(counts).tolist():
        chosen = counts == count
        row = [str(count), f"{int(chosen.sum()):,}"]
        rows.append(row if samples.true is None else [*row, percent(share_found(samples, chosen))])
    return Table("Samples by the number of their candidates", columns, rows)


def share_found(samples: Samples, chosen: np.ndarray | slice = slice(None)) -> float:
    """The share of samples whose likeliest candidate is the true label."""
    assert samples.true is not None
    return float((samples.given == samples.true)[chosen].mean())


NEIGHBORS_LEAD = (
    "Found by comparing each sample with its nearest neighbors, regardless of labels. Of near-duplicates with "
    "different labels, at least one is wrong. Near-duplicates with the same label count twice, and if one of them is "
    "in the test set, the test is too easy."
)


def neighbors(accounts: Sequence[Account]) -> Section | None:
    """Near-duplicates and outliers; None if no run looked for them."""
    if all(account.samples is None or account.samples.near_duplicate_of is None for account in accounts):
        return None
    return Section("Near-duplicates and outliers", NEIGHBORS_LEAD, [neighbors_panel(account) for account in accounts])


def neighbors_panel(account: Account) -> Panel:
    """One run."""
    samples, held_out, looks = account.samples, account.held_out, None
    if samples is not None and held_out is not None:
        samples = samples.with_more(held_out)
    if (shown := account.with_held_out()[0].dataset) is not None and shown.is_images:
        looks = Viewer(shown)
    if samples is None or samples.near_duplicate_of is None or samples.outlier is None:
        return Panel(["This run did not look for near-duplicates and outliers."])
    pairs = pairs_of(samples)
    differ = sum(samples.given[a] != samples.given[b] for a, b in pairs)
    alone = np.flatnonzero(samples.outlier)
    words = [
        f"{plural(len(pairs), 'pair')} of near-duplicates, {differ:,} of them with different labels; "
        f"{plural(len(alone), 'sample')} far from all others (outliers)."
    ]
    tested = len(samples) if held_out is None else len(samples) - len(held_out)
    if across := sum(a < tested <= b for a, b in pairs):
        words.append(
            f"{plural(across, 'pair of these has', 'pairs of these have')} one sample in training and the other among "
            "those held out for testing, so the test is too easy."
        )
    label = account.classes.name

    def cells(what: str, index: int) -> list[str]:
        return [what, title(samples, None, index), label(int(samples.given[index]))]

    pairs = sorted(pairs, key=lambda pair: samples.given[pair[0]] == samples.given[pair[1]])
    cards = [
        pair_card(account, looks, samples, pair)
        for pair in pairs[:MAX_PAIR_CARDS]
        if looks and shown and pair[1] < len(shown)
    ]
    rows = [
        [
            *cells("other label" if samples.given[a] != samples.given[b] else "near-duplicate", a),
            title(samples, None, b),
            label(int(samples.given[b])),
        ]
        for a, b in pairs
    ]
    rows += [[*cells("outlier", index), "", ""] for index in alone.tolist()]
    if not rows:
        return Panel(words)
    if len(rows) > MAX_NEIGHBOR_ROWS:
        words.append(
            f"The table shows the first {MAX_NEIGHBOR_ROWS}; all are in samples.csv (near_duplicate_of, is_outlier)."
        )
    columns = [Column(name) for name in ("what", "sample", "given label", "nearly the same as", "its given label")]
    return Panel(
        words,
        cards=cards,
        table=Table("Near-duplicates and outliers", columns, rows[:MAX_NEIGHBOR_ROWS], folded=len(rows) > 10),
    )


def pair_card(account: Account, looks: Viewer, samples: Samples, pair: tuple[int, int]) -> Card:
    """Two images that are nearly the same, side by side."""
    titles = ", ".join(title(samples, None, index) for index in pair)
    labels = dict.fromkeys(account.classes.name(int(samples.given[index])) for index in pair)
    try:
        both = looks.side_by_side(pair)
    except (DataError, OSError):  # the files are gone
        both = Shown()
    return Card(titles, " | ".join(labels), "", (), both)


def pairs_of(samples: Samples) -> list[tuple[int, int]]:
    """Indices of near-duplicates, each pair once, the smaller index first."""
    assert samples.near_duplicate_of is not None
    known = samples.row.astype(str).tolist() if samples.name is None else list(samples.name)
    index = {name: place for place, name in enumerate(known)}
    found = {
        (min(place, index[other]), max(place, index[other]))
        for place, other in enumerate(samples.near_duplicate_of.tolist())
        if other in index
    }
    return sorted(found)
