"""Two looks find wrong labels and learn without them, end when they are done, and resume in every stage."""

import copy
import logging
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from sklearn.metrics import f1_score
from torch import nn

from reweigh.data import Dataset
from reweigh.errors import DataError
from reweigh.losses import LOSSES
from reweigh.meta_sets import META_SETS
from reweigh.methods import METHODS, build, two_looks
from reweigh.methods.parts.labels import Labels
from reweigh.methods.setup import Setup
from reweigh.training import SCHEDULES, Run, train
from reweigh.training.checkpoint import load, save
from reweigh.weighting import Origin, save_weighting

CLASSES = 4


def points(n=600, seed=0, spread=2.2):
    """Overlapping clusters in ten dimensions."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(CLASSES, (n,), generator=generator)
    return torch.randn(n, 10, generator=generator) + spread * F.one_hot(labels, 10), labels


def symmetric(labels, rate=0.4, seed=1):
    generator = torch.Generator().manual_seed(seed)
    changed = torch.rand(len(labels), generator=generator) < rate
    return torch.where(changed, (labels + torch.randint(1, CLASSES, labels.shape, generator=generator)) % 4, labels)


def one_way(labels, rate=0.45, seed=1):
    changed = (torch.rand(len(labels), generator=torch.Generator().manual_seed(seed)) < rate) & (labels % 2 == 0)
    return labels + changed.long()


def setup(labels, inputs=None, epochs=30, **more):
    """A small network on points with these labels."""
    torch.manual_seed(0)

    def fresh():
        model = nn.Sequential(nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, CLASSES))
        return model, torch.optim.AdamW(model.parameters(), 5e-3)

    inputs = points()[0] if inputs is None else inputs
    data = Dataset(inputs, labels, tuple("abcd"), **more)
    parts = META_SETS["lowest-loss"](), LOSSES["cross-entropy"], None, torch.Generator().manual_seed(0)
    return Setup(*fresh(), data, *parts, torch.device("cpu"), epochs=epochs, fresh=fresh)


def learned(name, labels, epochs=30, inputs=None, run=None, options=None, **more):
    """A method after its training."""
    its = setup(labels, inputs, epochs, **more)
    method = build(name, its, **options or {})
    schedule = SCHEDULES["cosine"](its.optimizer, epochs)
    result = train(method, its.train_set, schedule, run=run, generator=its.generator, epochs=epochs, batch_size=64)
    return method, result


@cache
def usual():
    """The method after its training on labels of which some are wrong; not to be changed."""
    return learned("two-looks", symmetric(points()[1]))[0]


def accuracy(method):
    inputs, labels = points(4000, seed=9)
    with torch.no_grad():
        return float((method.model.eval()(inputs).argmax(1) == labels).float().mean())


@pytest.mark.parametrize(("corrupted", "margin"), [(symmetric, 0.04), (one_way, 0.04), (lambda labels: labels, -0.01)])
def test_better_than_plain_training(corrupted, margin):
    labels = points()[1]
    plain, _ = learned("erm", corrupted(labels), epochs=20)
    ours = usual() if corrupted is symmetric else learned("two-looks", corrupted(labels))[0]
    assert accuracy(ours) > accuracy(plain) + margin


def test_its_verdict_on_the_labels():
    labels = points(spread=3.0)[1]
    given = symmetric(labels)
    method, _ = learned("two-looks", given, inputs=points(spread=3.0)[0])
    wrong = given != labels
    judgment = method.judgment()
    assert f1_score(wrong.numpy(), judgment.wrong.numpy()) > 0.85
    assert float((judgment.suggested == labels).float().mean()) > 0.85
    assert torch.equal(judgment.wrong, judgment.suggested != given)
    weights, doubt = method.sample_weights(), -method._believed(method._stock).clamp_min(1e-6).log()
    with torch.no_grad():
        one_family = torch.zeros(600, dtype=torch.long)
        torch.testing.assert_close(weights, method.weighting()(doubt, one_family))
    assert float((1 - judgment.quality).mean()) == pytest.approx(float(judgment.wrong.float().mean()), abs=0.002)
    assert float(weights[~wrong].mean()) > float(weights[wrong].mean()) + 0.4
    sizes = torch.bincount(given)
    estimated = float((torch.tensor(method.finding().share) * sizes).sum() / sizes.sum())
    assert estimated == pytest.approx(float(wrong.float().mean()), rel=0.2)
    assert float((method._stock.posterior.argmax(1) == labels).float().mean()) > 0.85


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_labels_that_are_hardly_wrong_are_hardly_doubted_and_learned_as_they_are(rate, monkeypatch):
    inputs, true = points(spread=4.0)
    begun = []

    class SecondLook(two_looks.SecondLook):
        def __init__(self, setup, prior, average, given, targets, *rest, **named):
            begun.append(torch.equal(targets, given))
            super().__init__(setup, prior, average, given, targets, *rest, **named)

    monkeypatch.setattr(two_looks, "SecondLook", SecondLook)
    method, _ = learned("two-looks", symmetric(true, rate), inputs=inputs)
    assert begun == [rate == 0]
    assert (float(method.judgment().wrong.float().mean()) < 0.05) == (rate == 0)


@pytest.mark.parametrize("rare", [True, False])
def test_if_classes_are_rare_the_lesser_estimate_counts(rare, monkeypatch):
    inputs, labels = points(1200)
    kept = torch.cat([(labels == c).nonzero().flatten()[: (200, 200, 200, 40 if rare else 190)[c]] for c in range(4)])
    asked, judged = [], Labels.judged

    def asking(*arguments):
        asked.append(arguments[-1])
        return judged(*arguments)

    monkeypatch.setattr(Labels, "judged", asking)
    learned("two-looks", symmetric(labels)[kept], inputs=inputs[kept])
    assert set(asked) == {rare}


def test_labels_that_a_person_has_corrected_are_no_longer_counted():
    inputs, true = points(spread=4.0)
    given = symmetric(true)
    checked = torch.arange(len(true)) < 300
    labels = torch.where(checked, true, given)
    method, _ = learned("two-looks", labels, inputs=inputs, trusted=checked, uncorrected=given)
    wrong, share = method.judgment().wrong, torch.tensor(method.finding().share)
    assert not wrong[checked].any()
    assert f1_score((labels != true).numpy(), wrong.numpy()) > 0.9
    assert float(share @ labels.bincount().float() / 600) == pytest.approx(
        float((labels != true).float().mean()), abs=0.03
    )


def test_of_few_samples_every_one_judges():
    its = setup(symmetric(points()[1]))
    method = build("two-looks", its)
    assert list(method._first.students) == [0, 1, 2, 3]
    assert torch.equal(method._first.judging, torch.arange(600))
    batch = its.train_set.batch(torch.arange(100))
    before = method._first._memory.clone()
    assert not before.any()
    method.start_epoch(0, warm_up=False)
    method.step(batch)
    seen = method._first._memory.sum(1)
    torch.testing.assert_close(seen[:100], torch.full((100,), 3.0))  # by all networks but one
    assert not seen[100:].any()


@pytest.mark.parametrize("single", [True, False])
def test_a_single_network_of_the_first_look_no_longer_counts_in_the_end(single, monkeypatch):
    monkeypatch.setattr(two_looks, "SMALL", 0 if single else 2000)
    method, _ = learned("two-looks", symmetric(points()[1], 0.1))
    assert method._first.members == (1 if single else 4)
    found, latest = method._first.predictions(), method._second.predictions()
    by_second, _ = method._labels.judged(found, latest.softmax(1), latest, weak=single)
    assert torch.equal(method._stock.posterior, by_second.posterior) == single
    inputs, found = points(50, seed=3)[0], method.model.eval()
    assert torch.equal(found(inputs), method._averages[-1].model.eval()(inputs)) == single


def test_it_ends_early_and_what_it_left_is_whole(tmp_path):
    run = Run.create(tmp_path / "run", "")
    method, result = learned("two-looks", symmetric(points()[1]), epochs=60, run=run)
    assert method.finished
    assert len(result.history) == len(run.read_metrics()) < 60
    again, same = learned("two-looks", symmetric(points()[1]), epochs=60, run=Run.open(run.path))
    assert again.finished
    assert len(same.history) == len(result.history)
    inputs = points()[0]
    assert torch.equal(again.model.eval()(inputs), method.model.eval()(inputs))
    rates = [line["lr"] for line in result.history]
    assert rates[0] == 5e-3  # two falls along a cosine, not one
    assert sum(later > earlier for earlier, later in pairwise(rates)) >= 1


def stage(method):
    if method.finished:
        return "done"
    if method._second is not None:
        return "joined" if method._second.joined else "second"
    return "first" if 0 in method._first.students else "folds"


STAGES = ["first", "folds", "second", "joined", "done"]


@pytest.mark.parametrize(("wanted", "small"), [*((stage, 0) for stage in STAGES), ("first", 600), ("second", 600)])
def test_resumes_in_the_middle_of_every_stage(wanted, small, tmp_path, monkeypatch):
    monkeypatch.setattr(two_looks, "SMALL", small)  # up to this number, all folds are trained side by side
    its, elsewhere = (setup(symmetric(points()[1])) for _ in range(2))
    method, other = build("two-looks", its), build("two-looks", elsewhere)
    batches = [its.train_set.batch(index) for index in torch.arange(600).split(120)]
    epoch, reached = 0, 0
    while reached < 2 and not method.finished:  # its second epoch
        method.start_epoch(epoch, warm_up=False)
        for batch in batches:
            method.step(batch)
        method.end_epoch()
        epoch, reached = epoch + 1, reached + (stage(method) == wanted)
    assert stage(method) == wanted
    method.start_epoch(epoch, warm_up=False)
    for batch in batches[:2]:
        method.step(batch)
    save(tmp_path / "middle", copy.deepcopy(method.state_dict()))
    generators = torch.get_rng_state(), its.generator.get_state()
    other.load_state_dict(load(tmp_path / "middle"))
    assert stage(other) == wanted
    ends = []
    for current, parts in ((method, its), (other, elsewhere)):
        torch.set_rng_state(generators[0])
        parts.generator.set_state(generators[1])
        for batch in batches[2:]:
            current.step(batch)
        for later in range(epoch + 1, 30):
            current.end_epoch()
            if current.finished:
                break
            current.start_epoch(later, warm_up=False)
            for batch in batches:
                current.step(batch)
        assert current.finished
        ends.append(current)
    for ours, theirs in zip(*(end.model.state_dict().values() for end in ends), strict=True):
        assert torch.equal(ours, theirs)
    assert torch.equal(ends[0].judgment().quality, ends[1].judgment().quality)
    assert ends[0].finding() == ends[1].finding()


def test_the_model_can_be_built_again():
    method, _ = learned("two-looks", symmetric(points()[1]), epochs=8)
    bare = setup(points()[1]).model
    again = METHODS["two-looks"].wraps(bare)
    again.load_state_dict(method.model.state_dict())
    inputs = points()[0]
    assert torch.equal(again.eval()(inputs), method.model.eval()(inputs))


@pytest.mark.parametrize("epochs", [1, 2, 3, 4, 5, 6, 7, 9, 11])
def test_short_trainings(epochs):
    method, result = learned("two-looks", points()[1], epochs=epochs)
    assert method.finished
    assert len(result.history) <= epochs
    assert method.judgment().quality.isfinite().all()
    assert torch.tensor(method.finding().share).isfinite().all()
    assert accuracy(method) > 0.6


def test_too_short_to_judge_is_said(caplog):
    with caplog.at_level(logging.INFO):
        method, _ = learned("two-looks", points()[1], epochs=3)
    assert "one look, without a judge" in caplog.text
    assert bool((method._fold == -1).all())


def test_tiny_classes_are_never_held_out():
    inputs, labels = points(204)
    labels = labels.clamp_max(2)
    labels[-3:] = 3
    method, _ = learned("two-looks", labels, inputs=inputs, epochs=12)
    assert bool((method._fold[-3:] == -1).all())
    assert method.judgment().quality.isfinite().all()
    assert torch.tensor(method.finding().share).isfinite().all()


def test_nothing_can_be_held_out():
    inputs, labels = points(12)
    labels = torch.arange(12) % 4
    method, _ = learned("two-looks", labels, inputs=inputs, epochs=6)
    assert method.finished
    assert method.judgment().quality.isfinite().all()


def test_an_empty_class_and_noise_beyond_one_half():
    inputs, labels = points()
    two = labels % 2
    flipped = torch.where(torch.rand(600, generator=torch.Generator().manual_seed(0)) < 0.6, 1 - two, two)
    method, _ = learned("two-looks", flipped, inputs=inputs, epochs=12)
    assert method.judgment().quality.isfinite().all()
    assert method.finding().share[2:] == [0, 0]


def test_weights_of_the_user_count():
    inputs, labels = points(spread=3.0)
    wrong = torch.arange(600) % 2 == 0
    given = torch.where(wrong, (labels + 1) % 4, labels)  # half is wrong the same way, and known to be
    weights = torch.where(wrong, 0.0, 1.0)
    method, _ = learned("two-looks", given, inputs=inputs, epochs=12, sample_weight=weights)
    with torch.no_grad():
        right = (method.model.eval()(inputs).argmax(1) == labels).float().mean()
    assert float(right) > 0.8


def test_soft_labels():
    labels = points()[1]
    soft = 0.9 * F.one_hot(labels, 4) + 0.025
    hard, _ = learned("two-looks", labels, epochs=12)
    method, _ = learned("two-looks", labels, epochs=12, soft_labels=soft)
    assert accuracy(method) > accuracy(hard) - 0.03


def test_the_weighting_function_starts_as_bayes_rule_and_learns():
    labels = one_way(points(spread=3.0)[1])
    fixed, _ = learned("two-looks", labels, inputs=points(spread=3.0)[0], options={"meta_lr": 0.0})
    taught, _ = learned("two-looks", labels, inputs=points(spread=3.0)[0])
    doubt = torch.linspace(0.05, 8, 50)
    assert fixed.families().num_families == taught.families().num_families == 3  # one way makes class sizes differ
    for family in range(3):
        with torch.no_grad():
            bayes, other = (each.weighting()(doubt, torch.full((50,), family)) for each in (fixed, taught))
        torch.testing.assert_close(bayes, torch.exp(-doubt), atol=0.05, rtol=0)
        assert float((other - bayes).abs().max()) > 0.02


@pytest.mark.parametrize("apart", [True, False])
def test_trusted_samples_teach_the_weights_and_are_not_doubted(apart):
    inputs, labels = points(spread=3.0)
    given = symmetric(labels, rate=0.6)
    checked = torch.arange(80)
    given[checked] = labels[checked]
    its = setup(given, inputs)
    if apart:
        parts = {"meta_set": META_SETS["clean"](path=""), "clean_set": Dataset(*points(80, 5, 3.0), tuple("abcd"))}
    else:
        parts = {"meta_set": META_SETS["given"](index=tuple(checked.tolist()))}
    method = build("two-looks", replace(its, **parts))
    schedule = SCHEDULES["cosine"](its.optimizer, 30)
    result = train(method, its.train_set, schedule, generator=its.generator, epochs=30, batch_size=64)
    taught = [line.get("train_meta_loss") for line in result.history]
    assert taught[-1] is not None  # to the end: trusted samples are not used up as held-out ones are
    doubted = method.judgment().wrong[checked]
    assert apart or not doubted.any()
    assert accuracy(method) > 0.5


def test_a_weighting_function_from_elsewhere_stays_as_it_is(tmp_path):
    labels = symmetric(points()[1])
    method, _ = learned("two-looks", labels, epochs=12)
    save_weighting(tmp_path / "own", method.weighting(), Origin(reads="doubt"))
    again, _ = learned("two-looks", labels, epochs=12, options={"weighting": str(tmp_path / "own")})
    before, after = method.weighting().state_dict(), again.weighting().state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    save_weighting(tmp_path / "other", method.weighting(), Origin())
    with pytest.raises(DataError, match=r"weighs samples by their loss, .* weighs them by their doubt"):
        build("two-looks", setup(labels), weighting=str(tmp_path / "other"))
    with pytest.raises(DataError, match=r"weighs samples by their doubt, .* weighs them by their loss"):
        build("cmw-net", setup(labels), weighting=str(tmp_path / "own"))


@pytest.mark.parametrize("options", [{"prior": False}, {"mixup": 0.0}])
def test_options(options):
    labels = symmetric(points()[1])
    method, _ = learned("two-looks", labels, options=options)
    assert accuracy(method) > 0.7
    assert not torch.equal(method.model.eval()(points()[0]), usual().model.eval()(points()[0]))


def test_rare_classes_count_as_much_as_others():
    inputs, labels = points(2000)
    kept = torch.cat([(labels == c).nonzero().flatten()[: (200, 200, 200, 10)[c]] for c in range(4)])
    found = {}
    for prior in (True, False):
        method, _ = learned("two-looks", labels[kept], inputs=inputs[kept], options={"prior": prior})
        rare = points(4000, seed=9)
        with torch.no_grad():
            predicted = method.model.eval()(rare[0][rare[1] == 3]).argmax(1)
        found[prior] = float((predicted == 3).float().mean())
    assert found[True] > found[False] + 0.1
