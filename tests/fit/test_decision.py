"""Decisions against Bayes' rule by hand, and every mistake in class shares."""

import pytest
import torch

from reweigh.errors import RecipeError
from reweigh.fit.decision import NAMED_SHARES, Decision, read_shares

NAMES = ("cat", "dog", "elk")
GIVEN, ESTIMATED = (0.7, 0.2, 0.1), (0.6, 0.3, 0.1)


def decision(contained: tuple[float, ...], shares: str) -> Decision:
    return Decision(contained, GIVEN, ESTIMATED, GIVEN).meeting(shares, NAMES)


@pytest.mark.parametrize("contained", [GIVEN, (1 / 3,) * 3])
@pytest.mark.parametrize("name", NAMED_SHARES)
def test_shares_follow_bayes_rule(contained: tuple[float, ...], name: str) -> None:
    likelihood = [0.5, 2.0, 4.0]  # p(x | k) of a sample
    wanted = {"estimated": ESTIMATED, "given": GIVEN, "uniform": (1 / 3,) * 3, "as-trained": contained}[name]
    joint = [density * share for density, share in zip(likelihood, wanted, strict=True)]
    logits = (torch.tensor([likelihood]) * torch.tensor(contained)).log() + 5
    found = decision(contained, name).logits(logits).softmax(1)[0].tolist()
    assert found == pytest.approx([each / sum(joint) for each in joint])


def test_logits_as_trained_are_not_touched() -> None:
    logits = torch.randn(50, 3)
    assert torch.equal(decision(GIVEN, "as-trained").logits(logits), logits)


def test_a_class_that_will_not_be_met_is_never_predicted() -> None:
    never = decision(GIVEN, "given").meeting({"cat": 0, "dog": 0.5, "elk": 0.5}, NAMES)
    assert never.logits(torch.tensor([[9.0, 0.0, 0.0]])).softmax(1)[0, 0] == 0


def test_a_class_without_training_samples_stays_finite() -> None:
    empty = Decision((1.0, 0.0), (1.0, 0.0), (1.0, 0.0), (0.5, 0.5))
    for name in NAMED_SHARES[:3]:
        assert bool(
            empty.meeting(name, ("a", "b"))
            .meeting(name, ("a", "b"))
            .logits(torch.zeros(1, 2))
            .softmax(1)
            .isfinite()
            .all()
        )


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ({"cat": 0.5, "dog": 0.5}, "no share for class elk"),
        ({"cat": 0.5, "dog": 0.5, "elk": 0, "ant": 0}, "no class named ant; the classes are cat, dog, elk"),
        ({"cat": 0.5, "dog": 0.7, "elk": -0.2}, "elk: got -0.2; a share is a number from 0 to 1"),
        ({"cat": 0.5, "dog": 0.5, "elk": "many"}, "elk: got 'many'"),
        ({"cat": 0.5, "dog": 0.5, "elk": float("nan")}, "elk: got nan"),
        ({"cat": 50, "dog": 30, "elk": 20}, "cat: got 50; a share is a number from 0 to 1"),
        ({"cat": 0.5, "dog": 0.5, "elk": 0.5}, "the shares sum to 1.5, not to 1; divide each by 1.5"),
    ],
)
def test_wrong_shares_are_refused(shares: dict[str, object], words: str) -> None:
    with pytest.raises(RecipeError, match="class_shares: ") as error:
        read_shares(shares, NAMES)
    assert words in str(error.value)


def test_all_mistakes_come_in_one_message() -> None:
    with pytest.raises(RecipeError) as error:
        read_shares({"cat": -1, "ant": 0.5}, NAMES)
    assert all(words in str(error.value) for words in ("dog, elk", "ant", "cat: got -1"))


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(RecipeError, match=r"got 'unifrom'.*Did you mean 'uniform'\?"):
        decision(GIVEN, "unifrom")
    with pytest.raises(RecipeError, match="got 3"):
        decision(GIVEN, 3)  # pyright: ignore[reportArgumentType]
