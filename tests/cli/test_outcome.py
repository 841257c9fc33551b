"""The end of ``reweigh train`` says the answer first, and why training ended when it did."""

import json

import pytest

from reweigh.cli.outcome import why_stopped


def test_the_answer_comes_first(own):
    said = json.loads((own / "told.json").read_text())["table.csv"]
    place = [said.index(words) for words in ("labels look wrong", "Next: reweigh review", "best epoch", "Run folder:")]
    assert place == sorted(place)


def history(*rates, keeps=2):
    return [{"epoch": place, "lr": rate, "judge_keeps": keeps} for place, rate in enumerate(rates, start=1)]


@pytest.mark.parametrize(
    ("rows", "planned", "words"),
    [
        (history(3, 2, 1), 3, None),
        (history(1, 2, 3, 2, 1), 5, None),  # a schedule with warm-up
        (
            history(3, 2, 1),
            9,
            "Training stopped after epoch 3 of 9: held-out labels were predicted best after epoch 2.",
        ),
        (history(9, 8, 7, 9, 6), 9, "The first look ended after epoch 3 of 9"),
        ([{"epoch": 1, "lr": 1.0}], 9, None),  # without a judge
    ],
)
def test_why_training_stopped(rows, planned, words):
    found = why_stopped(rows, planned)
    assert found == words or (words is not None and (found or "").startswith(words))
