"""Each section says the right numbers, and says so where it has none."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from reweigh.data.tables.decide import ReadAs
from reweigh.data.viewer import Shown
from reweigh.issues.audit import Audited, Estimate
from reweigh.issues.verdict import Finding
from reweigh.report.figures.classes import counts
from reweigh.report.sections import SECTIONS, accuracy
from reweigh.report.sections.accuracy import class_accuracy, frequency, most_confused, on_true_labels
from reweigh.report.sections.setup import columns_panel as columns_of
from reweigh.report.sections.weights import described, lower_share, tendency
from reweigh.runs.tables import Labeler
from reweigh.runs.words import Family, percent
from reweigh.weighting import Origin

DRAW = np.random.default_rng(0)
BARE = {"samples": None, "tested": None, "net": None, "dataset": None, "history": [], "status": "running"}


def with_finding(account):
    share = [number / 20 for number in range(10)]
    finding = Finding(share, [value / 2 for value in share], [value * 2 for value in share], "Some are wrong.")
    return replace(account, classes=replace(account.classes, finding=finding))


def with_neighbors(account):
    """The first two samples of the first class, and one of each of two classes, are pairs; the last is an outlier."""
    samples = account.samples
    same = np.flatnonzero(samples.given == 0)[:2]
    differ = [np.flatnonzero(samples.given == label)[2] for label in (1, 2)]
    near = np.full(len(samples), "", dtype=object)
    for a, b in (same, differ):
        near[a], near[b] = str(samples.row[b]), str(samples.row[a])
    alone = np.arange(len(samples)) == len(samples) - 1
    return replace(account, samples=replace(samples, name=None, near_duplicate_of=near, outlier=alone))


def with_gradients(account):
    """Four epochs, of which the last two measured both gradients."""
    numbers = [{}, {}, *({"train_squared_gradient": 4.0 / n, "train_squared_meta_gradient": 1.0 * n} for n in (1, 2))]
    return replace(account, history=[{"epoch": epoch + 1.0, **line} for epoch, line in enumerate(numbers)])


@pytest.mark.parametrize("name", [name for name in SECTIONS if name != "columns"])
def test_a_section_of_a_full_and_of_a_bare_run(name, account, plain, partial):
    if name == "wrong-labels":
        account = with_finding(account)
    if name == "neighbors":
        account = with_neighbors(account)
    if name == "convergence":
        account = with_gradients(account)
    if name == "labelers":
        account = replace(account, labelers=[Labeler("ann", 90, 0.9, 0.8, 0.95, 0.88, 0.9, "", "")])
    section = SECTIONS[name]([partial if name == "candidates" else account, plain, replace(account, **BARE)])
    assert section.title
    assert section.lead
    assert section.together or section.overlaid or len(section.panels) == 3
    for panel in section.panels:
        assert panel.words or panel.plots or panel.cards or panel.code or panel.table
        for plot in panel.plots:
            assert sum(letter.isdigit() for letter in plot.alternative) >= 4, "an alternative tells numbers"


def test_how_columns_were_read(account):
    assert SECTIONS["columns"]([account]) is None  # digits are not a table
    read = [ReadAs("price", "number", ("€ 1", "€ 2"), 3, "in €"), ReadAs("id", "drop", odd="counts the rows")]
    assert columns_of(read).table.rows == [
        ("price", "number", "€ 1 | € 2", "3", "in €"),
        ("id", "left out", "", "0", "counts the rows"),
    ]


def test_wrong_labels_by_class_the_worst_first(account, plain):
    (panel,) = SECTIONS["wrong-labels"]([with_finding(account)]).panels
    assert [row[0] for row in panel.table.rows] == list(reversed(account.classes.names))
    for label, (name, size, flagged, *shares) in zip(range(9, -1, -1), panel.table.rows, strict=True):
        own = account.samples.given == label
        assert (name, size) == (account.classes.names[label], f"{account.classes.sizes[label]:,}")
        assert flagged == f"{sum(account.samples.issue[own]):,}"
        assert shares == [percent(label / 20), percent(label / 40), percent(label / 10)]
    assert SECTIONS["wrong-labels"]([plain]) is None


def test_pairs_with_different_labels_come_first(account, plain):
    found = with_neighbors(account)
    (panel,) = SECTIONS["neighbors"]([found]).panels
    assert "2 pairs of near-duplicates, 1 of them with different labels; 1 sample far from all others" in panel.words[0]
    names = account.classes.names
    assert [(row[0], row[2], row[4]) for row in panel.table.rows] == [
        (
            "other label",
            *(
                names[found.samples.given[place]]
                for place in sorted(np.flatnonzero(found.samples.given == label)[2] for label in (1, 2))
            ),
        ),
        ("near-duplicate", names[0], names[0]),
        ("outlier", names[found.samples.given[-1]], ""),
    ]
    assert [len(card.given.split(" | ")) for card in panel.cards] == [2, 1]
    assert all(card.shown.image.startswith("data:image/png") for card in panel.cards)
    assert SECTIONS["neighbors"]([plain]) is None


def test_candidates_are_counted_against_a_loop(partial, plain):
    samples = partial.samples
    (panel,) = SECTIONS["candidates"]([partial]).panels
    right = [given == true for given, true in zip(samples.given, samples.true, strict=True)]
    assert f"for {percent(sum(right) / len(right))} of the samples" in " ".join(panel.words)
    for count, total, found in panel.table.rows:
        those = [right[row] for row, each in enumerate(samples.candidates) if len(each) == int(count)]
        assert (total, found) == (f"{len(those):,}", percent(sum(those) / len(those)))
    assert sum(int(row[1].replace(",", "")) for row in panel.table.rows) == len(samples)
    everything = replace(samples, candidates=[tuple(range(10))] * len(samples), true=None)
    words = SECTIONS["candidates"]([replace(partial, samples=everything)]).panels[0].words
    assert f"{len(samples):,} samples can be of any class" in " ".join(words)
    assert SECTIONS["candidates"]([plain]) is None
    assert partial.dataset is not None, partial.no_data


@pytest.mark.parametrize("column", ["suggested", "quality", "issue", "weight", "family", "loss", "true"])
def test_a_run_without_a_column(column, account):
    for name in ("weighting", "weights", "losses", "confusion", "suspects"):
        SECTIONS[name]([replace(account, samples=replace(account.samples, **{column: None}))])


def test_curves_are_drawn_to_the_loss_of_a_guess_at_least(account):
    easy = replace(account, samples=replace(account.samples, loss=np.full(len(account.samples), 1e-3)))
    (panel,) = SECTIONS["weighting"]([easy]).panels
    assert f"at loss {math.log(len(account.classes.names)):.1f}" in panel.plots[0].alternative


def test_lower_share_against_a_loop():
    wrong, right = DRAW.integers(0, 9, 30), DRAW.integers(0, 9, 40)
    slow = np.mean([(w < r) + 0.5 * (w == r) for w in wrong for r in right])
    assert lower_share(wrong, right) == pytest.approx(slow)


def test_class_accuracy_against_a_loop():
    labels, predicted = DRAW.integers(-1, 4, 200), DRAW.integers(0, 4, 200)
    slow = [np.mean(predicted[labels == label] == label) if (labels == label).any() else np.nan for label in range(4)]
    np.testing.assert_allclose(class_accuracy(labels, predicted, 4), slow)
    assert np.isnan(class_accuracy(labels, predicted, 5)[4])


def test_accuracy_of_a_class_on_true_labels(account, monkeypatch):
    known = with_finding(account)
    name = known.classes.names[3]
    words = on_true_labels(known, 3, 0.5).replace("\N{NO-BREAK SPACE}", " ")
    assert words.startswith(
        f" Of those of “{name}”, 7.5% to 30.0% are wrong, so that on true labels the model is right "
    )
    assert words.endswith("for about 58.8%, 32.3% to 80.0%.")  # 0.5 / 0.85; 0.5 - 0.59 * 0.3; 0.5 + 0.3
    assert on_true_labels(replace(known, classes=replace(known.classes, finding=None)), 3, 0.5) == ""
    wrong = Estimate(0.2, 0.1, 0.3)
    found = Audited(100, 40, 0, wrong, None, None, {name: wrong}, 10)
    monkeypatch.setattr(accuracy, "audited", lambda path: found)
    audited = on_true_labels(known, 3, 0.5).replace("\N{NO-BREAK SPACE}", " ")
    assert audited.startswith(f" By the audit, 20% (10% to 30%) of those of “{name}” are wrong")
    assert audited.endswith("the model is right for 20.0% to 80.0%.")


def test_the_largest_confusions_in_words(account):
    matrix = np.array([[5, 2, 0], [0, 9, 0], [7, 0, 1]])
    rows, columns = (index.repeat(matrix.ravel()) for index in np.indices((3, 3)).reshape(2, -1))
    assert most_confused(rows, columns, ["a", "b", "c"], "is {} taken for") == (
        "“c” is mostly taken for “a” (7 of 8), “a” is often taken for “b” (2 of 7)"
    )
    assert [frequency(share) for share in (0.51, 0.5, 0.25, 0.24, 0.05, 0.04)] == [
        "mostly",
        "often",
        "often",
        "sometimes",
        "sometimes",
        "rarely",
    ]
    assert most_confused(rows, rows, ["a", "b", "c"], "is") == ""
    words = SECTIONS["confusion"]([account]).panels[0].words[1]
    given, suggested = account.samples.given, account.samples.suggested
    changed = counts(given, suggested, 10)
    np.fill_diagonal(changed, 0)
    assert f"({changed.max():,} of " in words


def test_a_matrix_too_large_to_read_is_told_in_words(account):
    """A matrix of so many classes would take 80 GB."""
    many = replace(account.classes, names=tuple(map(str, range(100_000))), sizes=(), families=())
    panel = SECTIONS["confusion"]([replace(account, classes=many)]).panels[0]
    assert not panel.plots
    assert panel.words[-1] == "A matrix of 100,000 classes would be too large to read."


def test_what_a_curve_does():
    assert tendency(np.array([0.5, 0.1])) == "the weight falls with the loss"
    assert tendency(np.array([0.5, 0.9])) == "the weight rises with the loss"
    assert "hardly depends on the loss" in tendency(np.array([0.5, 0.51]))


def test_families_of_the_run_or_of_where_the_function_was_learned(account):
    assert [family.name for family in described(account)] == ["small classes", "medium classes", "large classes"]
    elsewhere = replace(
        account,
        classes=replace(account.classes, families=()),
        origin=Origin((10.0, 20.0, 3000.0), learned_on="other data"),
    )
    assert described(elsewhere)[2] == Family("large classes", "classes of about 3,000 samples in other data")


def test_the_table_of_issues(account):
    panel = SECTIONS["suspects"]([account]).panels[0]
    assert panel.table is not None
    names = [column.name for column in panel.table.columns]
    assert names == ["sample", "given", "suggested", "true", "quality", "weight", "family"]
    found = int(account.samples.issue.sum())
    assert len(panel.table.rows) == min(found, 500)
    assert f"{found:,} of 1,257" in panel.words[0]
    quality = [float(row[4]) for row in panel.table.rows]
    assert quality == sorted(quality)
    hits = account.samples.wrong[account.samples.issue].mean()
    assert f"{100 * hits:.1f}% of these are indeed wrong" in panel.words[1]
    assert [command for _, command in panel.commands] == [
        f"reweigh review {account.path}",
        f"reweigh issues {account.path} --out issues.csv",
    ]


def test_more_issues_than_a_page_should_hold(account):
    everything = replace(account.samples, issue=np.ones(len(account.samples), bool))
    crowded = replace(account, samples=everything)
    panel = SECTIONS["suspects"]([crowded]).panels[0]
    assert panel.table is not None
    assert len(panel.table.rows) == 500
    assert "757 more are in samples.csv" in " ".join(panel.words)
    assert len(SECTIONS["suspects"]([crowded]).panels[0].cards) == 50
    assert len(SECTIONS["suspects"]([crowded] * 8).panels[0].cards) == 25


def test_no_issue_at_all(account):
    clean = replace(account, samples=replace(account.samples, issue=np.zeros(len(account.samples), bool)))
    assert SECTIONS["suspects"]([clean]).panels[0].words == ["None of the 1,257 training labels looks wrong."]


def test_the_gallery_with_and_without_its_data(account):
    with_images = SECTIONS["suspects"]([account]).panels[0]
    assert with_images.cards
    assert all(card.shown.image for card in with_images.cards)
    lost = replace(account, dataset=None, no_data="the folder is gone")
    without = SECTIONS["suspects"]([lost]).panels[0]
    assert without.words[-1] == "The samples themselves cannot be shown: the folder is gone."
    assert [card._replace(shown=Shown()) for card in with_images.cards] == without.cards
    origin = account.dataset.origin  # called by their rows in the data
    assert [card.title for card in without.cards] == [f"row {int(origin[n])}" for n in account.samples.suspects[:50]]


def test_the_cost_beside_plain_training(account, plain):
    table = SECTIONS["setup"]([account, plain]).together
    assert table is not None
    times = account.seconds / plain.seconds
    assert [row[-1] for row in table.rows] == [f"{times:.2f} times", "1.00 times"]
    alone = SECTIONS["setup"]([account]).together
    assert alone is not None
    assert [column.name for column in alone.columns] == ["run", "method", "epochs", "total", "per epoch"]


def test_curves_and_a_number_that_is_not_finite(account):
    panel = SECTIONS["history"]([account]).panels[0]
    captions = [plot.caption for plot in panel.plots]
    assert captions == ["Loss", "Test accuracy, %", "Mean weight of a sample", "Gradient norm"]
    assert not panel.words
    broken = replace(account, history=[account.history[0], {**account.history[1], "train_loss": math.nan}])
    assert "first in epoch 2" in SECTIONS["history"]([broken]).panels[0].words[0]


def test_runs_of_different_lengths_are_overlaid(account, plain):
    longer = replace(account, name="longer", history=[*account.history, {**account.history[-1], "epoch": 3}])
    section = SECTIONS["history"]([longer, plain, replace(account, **BARE)])
    drawn = {plot.caption: plot for plot in section.overlaid}
    assert list(drawn) == ["All runs: training loss", "All runs: accuracy on the test set, %"]
    lines = drawn["All runs: training loss"].figure.axes[0].get_lines()
    assert [line.get_label() for line in lines] == ["longer", plain.name]
    for line, each in zip(lines, (longer, plain), strict=True):
        known = line.get_ydata()[np.isfinite(line.get_ydata())]
        np.testing.assert_array_equal(known, [epoch["train_loss"] for epoch in each.history])
    assert SECTIONS["history"]([account]).overlaid == ()


def test_the_hardest_and_the_easiest_class(account):
    samples = account.samples
    means = [samples.loss[samples.given == label].mean() for label in range(10)]
    assert SECTIONS["losses"]([account]).panels[0].words == [
        f"The hardest class is “{np.argmax(means)}” with a mean loss of {max(means):.2f}, "
        f"the easiest “{np.argmin(means)}” with {min(means):.2f}."
    ]


def test_losses_of_many_classes_are_those_of_the_hardest(account):
    many = replace(account.classes, names=tuple(f"class {n}" for n in range(40)), sizes=(), families=())
    samples = replace(account.samples, given=np.arange(len(account.samples)) % 40)
    panel = SECTIONS["losses"]([replace(account, classes=many, samples=samples)]).panels[0]
    assert panel.words[1] == "The figure shows the 12 of 40 classes with the highest mean loss."
    assert panel.plots[0].alternative.count(" and ") == 12 + 1


def test_the_error_where_it_may_abstain(account):
    tested = account.tested
    panel = SECTIONS["abstaining"]([account]).panels[0]
    order = np.argsort(-tested.score, kind="stable")
    wrong = (tested.label != tested.predicted)[order]
    surest = wrong[: round(0.9 * len(wrong))].mean()
    assert f"of the most confident 90%, {100 * surest:.1f}% are" in panel.words[0]
    assert f"{100 * wrong.mean():.1f}% at 100%" in panel.plots[0].alternative
    assert not panel.commands
    line = panel.plots[0].figure.axes[0].get_lines()[0].get_ydata()
    assert line[-1] == pytest.approx(100 * wrong.mean())


def test_a_run_that_can_abstain_says_how(account, tmp_path):
    (tmp_path / "abstain.csv").write_text("")
    panel = SECTIONS["abstaining"]([replace(account, path=tmp_path)]).panels[0]
    assert panel.commands[0][1] == f"reweigh predict {tmp_path} DATA --coverage 0.9"


def test_without_scores_nothing_is_drawn(account):
    for score in (None, np.full(540, np.nan)):
        unknown = replace(account, tested=replace(account.tested, score=score))
        assert not SECTIONS["abstaining"]([unknown]).panels[0].plots


def test_the_smallest_gradients_so_far_beside_the_rate(account, plain):
    meta, model = SECTIONS["convergence"]([with_gradients(account)]).panels[0].plots
    lines = [line.get_ydata().tolist() for line in model.figure.axes[0].lines]
    assert lines == [[4, 2], [4, pytest.approx(4 / math.sqrt(2))]]
    lines = [line.get_ydata().tolist() for line in meta.figure.axes[0].lines]
    assert lines == [[1, 1], [1, pytest.approx(1 / math.sqrt(2))]]  # it rose, so the smallest stays
    assert "4 in epoch 3, 2 in epoch 4" in model.alternative
    assert SECTIONS["convergence"]([account, plain]) is None


def test_losses_by_family(account):
    _, family = SECTIONS["losses"]([account]).panels[0].plots
    of_class = np.array(account.classes.families)
    for number in set(account.classes.families):
        own = account.samples.loss[np.isin(account.samples.given, np.flatnonzero(of_class == number))]
        assert f"classes {np.median(own):.2f}" in family.alternative


def test_weighting_functions_of_several_runs_in_one_figure(account, plain):
    from reweigh.weighting import ClassAwareNet

    other, one = (
        replace(account, name="other", net=ClassAwareNet(3)),
        replace(account, name="one", net=ClassAwareNet(1)),
    )
    (plot,) = SECTIONS["weighting"]([account, other, one, plain]).overlaid
    assert len(plot.figure.axes) == 3
    assert all(len(axes.lines) == 3 for axes in plot.figure.axes)
    assert np.array_equal(plot.figure.axes[0].lines[2].get_ydata(), plot.figure.axes[2].lines[2].get_ydata())
    assert SECTIONS["weighting"]([account, plain]).overlaid == []
    for runs in ([account, one], [one, account]):  # as many runs with one family as with three
        (plot,) = SECTIONS["weighting"](runs).overlaid
        assert [len(axes.lines) for axes in plot.figure.axes] == [2, 2, 2]


def test_the_map_says_what_it_draws(account):
    panel = SECTIONS["map"]([account]).panels[0]
    number, framed = len(account.samples), int(account.samples.issue.sum())
    assert panel.plots[0].caption == f"Samples (all {number:,} by PCA of their features), {framed} labels framed"
    assert SECTIONS["map"]([replace(account, dataset=None, no_data="the file is gone")]) is None


def test_a_map_of_constant_features(account):
    same = replace(account.dataset, inputs=torch.zeros_like(account.dataset.inputs))
    assert SECTIONS["map"]([replace(account, dataset=same)]).panels[0].plots
