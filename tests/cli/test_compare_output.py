"""The tables of a comparison show mean and spread of what came out, and fit the terminal."""

import re
import statistics
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from reweigh.cli.compare import failures, fitting, show_comparison, spread, table
from reweigh.cli.outcome import learned_curves, trust
from reweigh.compare.carry_out import Row
from reweigh.training import Run
from reweigh.weighting import ClassAwareNet, Origin, save_weighting


def row(method, seed, last=None, seconds=1.0, bias="clean", error=None, folder="runs", **more):
    line = {"epoch": 2, "test_accuracy": last and last / 100, "seconds": seconds} | {
        f"test_{name}": value for name, value in more.items()
    }
    best = None if last is None else last + 1
    status, run = "failed" if error else "finished", f"{folder}/{bias}/{method}-seed{seed}"
    return Row(bias, method, seed, last, best, line, line, seconds, status, error, run, "")


def test_the_spread_is_the_sample_standard_deviation():
    values = [90.0, 92.0, 97.0]
    mean = sum(values) / 3
    deviation = (sum((value - mean) ** 2 for value in values) / 2) ** 0.5
    assert spread(values) == f"{mean:.2f} ± {deviation:.2f}"
    assert deviation == pytest.approx(statistics.stdev(values))
    assert spread([90.0]) == "90.00"
    assert spread([]) == "-"


def test_a_table_has_one_row_per_method():
    rows = [
        row("erm", 0, 80.0, 2.0, balanced_accuracy=0.7, tail_accuracy=0.0),
        row("erm", 1, 82.0, 4.0, balanced_accuracy=0.8, tail_accuracy=0.1),
        row("cmw-net", 0, 90.0, 6.0, balanced_accuracy=0.9, tail_accuracy=None),
        row("cmw-net", 1, error="DivergedError: the loss is nan"),
        row("gce", 0, error="DataError: x"),
        row("gce", 1, error="DataError: x"),
    ]
    columns, cells = table(rows)
    assert columns == ["method", "last epoch", "best epoch", "balanced", "tail", "cost"]
    assert cells == [
        ["erm", "81.00 ± 1.41", "82.00 ± 1.41", "75.00 ± 7.07", "5.00 ± 7.07", "1.00"],
        ["cmw-net (1 of 2)", "90.00", "91.00", "90.00", "-", "2.00"],  # 6 s against 3 s on average
        ["gce (0 of 2)", "-", "-", "-", "-", "-"],
    ]


@pytest.mark.parametrize(("balanced", "mentioned"), [(0.5, True), (0.9, False), (0.97, False)])
def test_neglected_classes_are_mentioned(balanced, mentioned, tmp_path, capsys):
    show_comparison([row("erm", 0, 95.0, balanced_accuracy=balanced, folder=str(tmp_path))], tmp_path)
    assert ("If all matter alike, judge by 'balanced'" in " ".join(capsys.readouterr().out.split())) == mentioned


def test_a_column_of_judged_runs_says_that_the_epoch_was_kept():
    judged = row("erm", 0, 80.0)
    judged.last_epoch["judge_keeps"] = 2.0
    assert table([judged, row("gce", 0, 81.0)])[0][1] == "kept epoch"


def test_without_plain_training_the_cost_is_in_seconds():
    columns, cells = table([row("cmw-net", 0, 90.0, 6.0), row("cmw-net", 1, 90.0, 7.0)])
    assert (columns[-1], cells[0][-1]) == ("seconds", "6.5")


def test_a_table_that_is_too_wide_gets_two_lines_per_row():
    columns, cells = ["method", "last epoch"], [["class-balanced-focal", "81.00 ± 1.41"]]
    assert fitting(columns, cells, 80) == (columns, cells)
    assert fitting(columns, cells, 30) == (["method", "last\nepoch"], [["class-\nbalanced-focal", "81.00\n±1.41"]])


@pytest.mark.parametrize("width", [80, 120])
def test_a_long_tail_is_shown_whole(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes it for a terminal, so that the width counts
    monkeypatch.setenv("NO_COLOR", "1")
    names = ("balanced_accuracy", "head_accuracy", "middle_accuracy", "tail_accuracy")
    tests = [dict.fromkeys(names, 0.1 * seed + 0.25) for seed in range(2)]
    methods = ["erm", "class-balanced-focal", "cmw-net-sl"]
    bias = "long-tail-100"
    show_comparison([row(m, s, 80.0 + s, 2.0, bias, **tests[s]) for m in methods for s in range(2)], Path("runs"))
    output = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out)
    assert all(len(line) <= width for line in output.splitlines())
    assert "…" not in output
    assert output.count("30.00") == 4 * len(methods)
    assert output.count("± 7.07" if width == 120 else "±7.07") == 4 * len(methods)
    assert output.startswith("long-tail-100: test accuracy in percent, mean ± spread over 2 seeds")


def test_runs_that_failed_for_the_same_reason_are_listed_together():
    rows = [row("erm", 0, 80.0), *(row("gce", seed, error="DataError: x\ny") for seed in range(2))]
    rows.append(row("elr", 0, error="DivergedError: z"))
    assert failures(rows).splitlines() == [
        "3 of 4 runs failed",
        "  runs/clean/gce-seed0, runs/clean/gce-seed1",
        "    DataError: x",
        "    y",
        "  runs/clean/elr-seed0",
        "    DivergedError: z",
    ]
    assert failures(rows[:1]) == ""


@pytest.fixture
def learned(tmp_path):
    """Two runs with a learned weighting function, and one with none, under each of three biases."""
    rows = []
    for bias in ("clean", "symmetric-0.2", "symmetric-0.4"):
        for seed in range(2):
            run = Run.create(tmp_path / bias / f"cmw-net-seed{seed}", "[method]\nname = 'cmw-net'\n")
            save_weighting(run.weighting, ClassAwareNet(2), Origin((11.0, 100.0)))
            run.write_classes(["cat", "dog", "owl"], [100, 10, 12], [1, 0, 0])
            rows.append(row("cmw-net", seed, 90.0, bias=bias, folder=tmp_path))
        rows.append(row("erm", 0, 80.0, bias=bias, folder=tmp_path))
    return rows


def test_curves_are_drawn_for_the_first_seed_of_few_biases(learned, capsys):
    show_comparison(learned[:6], Path("runs"))
    titles = [line for line in capsys.readouterr().out.splitlines() if line.startswith("What")]
    assert titles == [
        "What cmw-net learned (labels as given, seed 0):",
        "What cmw-net learned (symmetric-0.2, seed 0):",
    ]
    show_comparison(learned, Path("runs"))
    assert "learned" not in capsys.readouterr().out


def test_curves_are_labeled_from_the_folder(learned):
    run = Run(Path(learned[0].run))
    drawn = str(learned_curves(run))
    assert "a  2 classes of about 11 samples: dog, owl\n" in drawn
    assert "b  1 class of 100 samples: cat\n" in drawn
    run.recipe.write_text("[method]\nweighting = 'there'\n")
    (run.path / "SHA256SUMS").unlink()
    assert "a  family 0 of the data where it was learned\n" in str(learned_curves(run))
    save_weighting(run.weighting, ClassAwareNet(2), Origin((11.0, 100.0), learned_on="digits"))
    assert "a  classes of about 11 samples in digits\n" in str(learned_curves(run))
    assert learned_curves(Run(Path(learned[2].run))) is None


def outcome_with(weights, labels, true_labels, suggested=None):
    return SimpleNamespace(
        fit=SimpleNamespace(samples=SimpleNamespace(given=labels, weights=weights, suggested=suggested)),
        train_set=SimpleNamespace(true_labels=true_labels, candidates=None),
    )


def test_trust_sets_right_labels_against_wrong_ones():
    labels, true = torch.tensor([0, 1, 1, 0]), torch.tensor([0, 1, 0, 0])
    words = trust(outcome_with(torch.tensor([0.8, 0.6, 0.1, float("nan")]), labels, true))  # pyright: ignore
    assert words == "25% of the training labels are wrong; mean weight of right labels 0.70, of wrong ones 0.10"
    for other in [(None, labels, true), (torch.ones(4), labels, None), (torch.ones(4), labels, labels)]:
        assert trust(outcome_with(*other)) is None  # pyright: ignore


def test_candidates_are_not_right_or_wrong():
    labels, true = torch.tensor([0, 1, 1, 0]), torch.tensor([0, 1, 0, 0])
    outcome = outcome_with(torch.ones(4), labels, true)
    outcome.train_set.candidates = torch.ones(4, 2, dtype=torch.bool)
    assert trust(outcome) is None  # pyright: ignore


def test_trust_sets_right_pseudo_labels_against_wrong_ones():
    labels, true = torch.tensor([0, -1, -1, -1]), torch.tensor([0, 1, 0, 0])
    outcome = outcome_with(torch.tensor([float("nan"), 0.6, 0.1, 0.5]), labels, true, torch.tensor([0, 1, 1, 0]))
    words = trust(outcome)  # pyright: ignore
    assert words is not None
    first, second = words.split("; ")
    assert first == "33% of the training pseudo-labels are wrong"
    assert second == "mean weight of right pseudo-labels 0.55, of wrong ones 0.10"
