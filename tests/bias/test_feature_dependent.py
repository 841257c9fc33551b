import pytest
import torch

from reweigh.bias.feature_dependent import MISTAKE, feature_dependent, feature_dependent_rival
from reweigh.errors import DataError

KINDS = ("I", "II", "III")


@pytest.fixture(scope="module")
def posteriors() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return (3 * torch.randn(30_000, 5, generator=generator)).double().softmax(1)


@pytest.fixture(scope="module")
def labels(posteriors) -> torch.Tensor:
    """The likeliest class, but for one sample in twenty."""
    likeliest = posteriors.argmax(1)
    return torch.where(torch.arange(len(likeliest)) % 20 == 0, (likeliest + 1) % 5, likeliest)


@pytest.mark.parametrize(
    ("kind", "values"), [("I", [0.5, 0.375, 0.0]), ("II", [1, 0.875, 0]), ("III", [1, 17 / 24, 0])]
)
def test_the_three_curves(kind, values):
    torch.testing.assert_close(MISTAKE[kind](torch.tensor([0.0, 0.5, 1.0])), torch.tensor(values, dtype=torch.float32))


def by_loop(rows: list[list[float]], kind: str, factor: float) -> list[list[float]]:
    """PLC's recipe sample by sample: the probability of each label."""
    result = []
    for row in rows:
        ranked = sorted(range(len(row)), key=lambda c: -row[c])
        d = row[ranked[0]] - row[ranked[1]]
        tau = {"I": -0.5 * d * d + 0.5, "II": 1 - d**3, "III": 1 - (d**3 + d**2 + d) / 3}[kind]
        keep = min(1.0, max(0.0, (1 - tau) / factor))
        result.append([keep if c == ranked[0] else 1 - keep if c == ranked[1] else 0.0 for c in range(len(row))])
    return result


def factor_by_scan(rows, labels, kind, rate) -> float:
    """The factor on a fine grid whose expected rate is nearest to the wanted one."""
    rows, labels = rows[::31], labels[::31].tolist()
    rows = rows.tolist()

    def expected(factor: float) -> float:
        chances = by_loop(rows, kind, factor)
        return sum(1 - chance[label] for chance, label in zip(chances, labels, strict=True)) / len(labels)

    return min((0.05 * 1.05**step for step in range(90)), key=lambda factor: abs(expected(factor) - rate))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rate", [0.35, 0.7])
def test_the_rate_is_the_wanted_one(kind, rate, labels, posteriors, within_binomial):
    for bias in (feature_dependent, feature_dependent_rival):
        found = bias(labels, 5, 1, posteriors, rate=rate, kind=kind)
        assert within_binomial(int(found.flipped.sum()), len(labels), rate)
        assert found.rate == pytest.approx(float((found.labels != labels).double().mean()))


@pytest.mark.parametrize("kind", KINDS)
def test_the_transition_is_that_of_the_recipe(kind, labels, posteriors):
    factor = factor_by_scan(posteriors, labels, kind, 0.4)
    chances = torch.tensor(by_loop(posteriors.tolist(), kind, factor))
    wanted = torch.stack([chances[labels == c].mean(0) for c in range(5)])
    found = feature_dependent(labels, 5, 1, posteriors, rate=0.4, kind=kind)
    assert (found.transition - wanted).abs().max() < 0.04  # the grid of factors is 5 % wide


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_two_likeliest_classes_are_given(kind, labels, posteriors):
    found = feature_dependent(labels, 5, 1, posteriors, rate=0.4, kind=kind)
    two = posteriors.topk(2).indices
    assert (found.labels[:, None] == two).any(1).all()


@pytest.mark.parametrize("kind", KINDS)
def test_ambiguous_samples_are_flipped_more(kind, labels, posteriors):
    top = posteriors.topk(2).values
    margin = top[:, 0] - top[:, 1]
    for bias in (feature_dependent, feature_dependent_rival):
        flipped = bias(labels, 5, 1, posteriors, rate=0.35, kind=kind).flipped.double()
        assert flipped[margin < 0.3].mean() > flipped[margin > 0.7].mean() + 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_the_rival_is_the_likeliest_other_class(kind, labels, posteriors):
    found = feature_dependent_rival(labels, 5, 1, posteriors, rate=0.3, kind=kind)
    for row in found.flipped.nonzero().flatten().tolist()[:200]:
        others = [(float(value), c) for c, value in enumerate(posteriors[row]) if c != labels[row]]
        assert int(found.labels[row]) == max(others)[1]


def test_no_noise_at_rate_zero_even_from_a_bad_probe(labels):
    uniform = torch.full((len(labels), 5), 0.2)
    assert feature_dependent_rival(labels, 5, 1, uniform, rate=0.0, kind="II").rate < 1e-9


def test_seeded_and_pure(labels, posteriors):
    before = labels.clone(), posteriors.clone()
    first, again, other = (feature_dependent(labels, 5, seed, posteriors, rate=0.4, kind="I") for seed in (0, 0, 1))
    assert torch.equal(first.labels, again.labels)
    assert not torch.equal(first.labels, other.labels)
    assert torch.equal(labels, before[0])
    assert torch.equal(posteriors, before[1])


def test_a_rate_that_cannot_be_had(labels, posteriors):
    with pytest.raises(
        DataError, match=r"rate: 0.01 is not possible with these posteriors, only 0.05\d to 0.9\d\d; give better"
    ):
        feature_dependent(labels, 5, 1, posteriors, rate=0.01, kind="I")


def test_bad_posteriors(labels, posteriors):
    with pytest.raises(DataError, match="needs them"):
        feature_dependent(labels, 5, 1, rate=0.4, kind="I")
    with pytest.raises(DataError, match=r"shape \(10, 5\); give \(30000, 5\)"):
        feature_dependent(labels, 5, 1, posteriors[:10], rate=0.4, kind="I")
    with pytest.raises(DataError, match=r"row 0 does not .* sum 9 \(wrong rows: 30,000 of 30,000\)"):
        feature_dependent(labels, 5, 1, posteriors * 9, rate=0.4, kind="I")
    broken = posteriors.clone()
    broken[7, 0] = float("nan")
    with pytest.raises(DataError, match=r"row 7 does not .* sum nan \(wrong rows: 1 of 30,000\)"):
        feature_dependent(labels, 5, 1, broken, rate=0.4, kind="I")
    with pytest.raises(DataError, match="kind: no kind 'IV'; there are: I, II, III"):
        feature_dependent(labels, 5, 1, posteriors, rate=0.4, kind="IV")  # pyright: ignore
