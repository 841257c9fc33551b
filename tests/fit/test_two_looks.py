"""The default method from data to files and back: its model, its verdict, what it says of the classes."""

import json
from functools import cache

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.metrics import f1_score
from torch import nn

from reweigh import RobustClassifier
from reweigh.data import Dataset, from_arrays
from reweigh.errors import DataError
from reweigh.fit import fit
from reweigh.fit.export import to_onnx
from reweigh.fit.run_folder import begin, load_model
from reweigh.fit.store import load, save
from reweigh.fit.trainer import Trainer
from reweigh.fit.two_looks import confirmed, least_sure
from reweigh.looks import Look
from reweigh.looks import network as looks
from reweigh.plan.check import examine
from reweigh.plan.choose import Facts, chosen
from reweigh.recipes.read import check, read
from reweigh.training import Run
from reweigh.training.state import Keeper
from reweigh.weighting import load_weighting

RECIPE = """
[data]
name = "digits"
train_size = 500
bias = [{ name = "symmetric", rate = 0.4 }]
[model]
name = "mlp"
hidden = [32]
[method]
name = "two-looks"
[train]
epochs = 10
batch_size = 32
looks = 1
[optimizer]
name = "adamw"
lr = 0.01
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """A run of the recipe."""
    folder = tmp_path_factory.mktemp("two-looks")
    (folder / "recipe.toml").write_text(RECIPE)
    return begin(check(read(folder / "recipe.toml", [])), folder / "run")


def test_the_model_of_a_run_is_read_back(outcome):
    again = load_model(outcome.run.path).model
    inputs = torch.randn(7, 1, 8, 8)
    with torch.no_grad():
        assert torch.equal(again(inputs), outcome.fit.model(inputs))


def test_an_ensemble_can_be_exported(outcome):
    onnx = pytest.importorskip("onnx")
    reference = pytest.importorskip("onnx.reference")
    found = load_model(outcome.run.path)
    inputs = torch.rand(3, *found.inputs.shape)
    evaluator = reference.ReferenceEvaluator(onnx.load_from_string(to_onnx(found)))
    (logits,) = evaluator.run(None, {"inputs": inputs.numpy()})
    mean = torch.tensor(found.inputs.mean).view(1, -1, 1, 1)
    std = torch.tensor(found.inputs.std).view(1, -1, 1, 1)
    with torch.no_grad():
        torch.testing.assert_close(torch.tensor(logits), found.model((inputs - mean) / std), rtol=1e-3, atol=1e-4)


def test_what_it_says_of_labels_and_classes(outcome):
    samples, train_set = outcome.fit.samples, outcome.train_set
    wrong = train_set.labels != train_set.true_labels
    assert float((samples.wrong & wrong).sum() / samples.wrong.sum()) > 0.7
    assert torch.equal(samples.wrong, samples.suggested != samples.given)
    by_quality = samples.quality.argsort()
    assert float(samples.weights[by_quality[:100]].max()) < float(samples.weights[by_quality[-100:]].min())
    finding = json.loads(outcome.run.classes.read_text())["finding"]
    assert finding == outcome.fit.finding._asdict()
    stored = finding["share"]
    sizes = train_set.class_sizes
    estimated = float(torch.tensor(stored) @ sizes.float() / sizes.sum())
    assert estimated == pytest.approx(float(wrong.float().mean()), rel=0.3)


def test_the_weighting_function_is_stored_with_what_it_reads(outcome):
    net, origin = load_weighting(outcome.run.weighting)
    assert origin.reads == "doubt"
    doubt = torch.linspace(0, 5, 20)
    with torch.no_grad():
        same = outcome.fit.weighting(doubt.numpy()) == net(doubt, torch.zeros(20, dtype=torch.long)).numpy()
    assert same.all()


def test_another_network_can_start_from_it(outcome):
    from reweigh.fit.start import start_from
    from reweigh.models import build

    model = build("mlp", (1, 8, 8), 10, hidden=(32,))
    start_from(model, outcome.run.path)
    kept = outcome.fit.model.members[int(outcome.fit.model.shares.argmax())]
    assert all(torch.equal(model.state_dict()[name], value) for name, value in kept.state_dict().items())


def test_one_file(outcome, tmp_path):
    save(tmp_path / "fit", outcome.fit, {})
    again, _ = load(tmp_path / "fit")
    assert again.finding == outcome.fit.finding
    inputs = torch.randn(7, 1, 8, 8)
    with torch.no_grad():
        assert torch.equal(again.model(inputs), outcome.fit.model(inputs))


def test_samples_set_apart_are_judged_too():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    X = (rng.normal(size=(200, 5)) + 2 * truth[:, None]).astype(np.float32)
    wrong = rng.random(200) < 0.2
    train_set = from_arrays(X, np.where(wrong, 1 - truth, truth))
    values = chosen(Facts.of(train_set), {"train": {"epochs": 10, "abstain": 0.2}})
    plan, mistakes = examine(values, passed=["data"])
    assert not mistakes
    assert plan.method.name == "two-looks"
    found = fit(train_set, plan)
    assert found.samples.quality.isfinite().all()
    quality = found.samples.quality.numpy()
    assert quality[wrong].mean() < quality[~wrong].mean() - 0.3


CLASSES = 4


def points(n=600, seed=0, spread=2.2):
    """Overlapping clusters in ten dimensions."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(CLASSES, (n,), generator=generator)
    return torch.randn(n, 10, generator=generator) + spread * F.one_hot(labels, 10), labels


def symmetric(labels, rate=0.4):
    generator = torch.Generator().manual_seed(1)
    changed = torch.rand(len(labels), generator=generator) < rate
    return torch.where(changed, (labels + torch.randint(1, CLASSES, labels.shape, generator=generator)) % 4, labels)


def one_way(labels, rate=0.45):
    changed = (torch.rand(len(labels), generator=torch.Generator().manual_seed(1)) < rate) & (labels % 2 == 0)
    return labels + changed.long()


def small(shape, num_classes):
    return nn.Sequential(nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, num_classes))


def trained(labels, inputs=None, method="two-looks", epochs=16, run=None, options=None, train=None, **more):
    """What the trainer makes of points with these labels."""
    data = Dataset(points()[0] if inputs is None else inputs, labels, tuple("abcd"), **more)
    values = {
        "method": {"name": method, **(options or {})},
        "train": {"epochs": epochs, "batch_size": 64, **(train or {})},
        "optimizer": {"name": "adamw", "lr": 5e-3, "schedule": {"name": "cosine"}},
    }
    plan, mistakes = examine(values, passed=["data", "model"])
    assert not mistakes
    return Trainer(plan, small, torch.device("cpu")).train(data, run=run)


@cache
def usual():
    """The outcome for labels of which some are wrong; not to be changed."""
    return trained(symmetric(points()[1]))


def accuracy(found):
    inputs, labels = points(4000, seed=9)
    with torch.no_grad():
        return float((found.model(inputs).argmax(1) == labels).float().mean())


@pytest.mark.parametrize(("corrupted", "margin"), [(symmetric, 0.04), (one_way, 0.03), (lambda labels: labels, -0.01)])
def test_better_than_plain_training(corrupted, margin):
    labels = corrupted(points()[1])
    plain = trained(labels, method="erm", epochs=20)
    ours = usual() if corrupted is symmetric else trained(labels)
    assert accuracy(ours) > accuracy(plain) + margin


def test_the_verdict_on_the_labels():
    inputs, labels = points(spread=3.0)
    given = symmetric(labels)
    found, wrong = trained(given, inputs), given != labels
    assert f1_score(wrong.numpy(), found.verdict.wrong.numpy()) > 0.85
    assert float((found.verdict.suggested == labels).float().mean()) > 0.85
    assert torch.equal(found.verdict.wrong, found.verdict.suggested != given)
    assert float((1 - found.verdict.quality).mean()) == pytest.approx(
        float(found.verdict.wrong.float().mean()), abs=0.002
    )
    assert float(found.weights[~wrong].mean()) > float(found.weights[wrong].mean()) + 0.4
    sizes = torch.bincount(given)
    estimated = float((torch.tensor(found.finding.share) * sizes).sum() / sizes.sum())
    assert estimated == pytest.approx(float(wrong.float().mean()), rel=0.2)


@pytest.mark.parametrize("together", [True, False])
def test_the_first_look_predicts_samples_that_its_networks_did_not_see(together, monkeypatch):
    monkeypatch.setattr(looks, "SIDE_BY_SIDE", 2000 if together else 0)
    found, first = [], looks.Networks.first
    monkeypatch.setattr(looks.Networks, "first", lambda *args: found.append(first(*args)) or found[0])
    given = torch.randint(CLASSES, (600,), generator=torch.Generator().manual_seed(2))  # nothing to learn
    trained(given, torch.randn(600, 10, generator=torch.Generator().manual_seed(3)), epochs=30)
    (look,) = found
    assert len(look.held_out) == 600
    unseen = float((look.unseen.argmax(1) == given[look.held_out]).float().mean())
    assert unseen == pytest.approx(1 / CLASSES, abs=0.06)


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_labels_that_are_hardly_wrong_are_learned_as_they_are(rate, monkeypatch):
    inputs, true = points(spread=4.0)
    begun, again = [], looks.Networks.again

    def watched(self, what, *rest):
        begun.append(torch.equal(what.targets, what.given))
        return again(self, what, *rest)

    monkeypatch.setattr(looks.Networks, "again", watched)
    found = trained(symmetric(true, rate), inputs)
    assert begun == [rate == 0]
    assert (float(found.verdict.wrong.float().mean()) < 0.05) == (rate == 0)


def test_labels_that_a_person_has_corrected_are_no_longer_counted():
    inputs, true = points(spread=4.0)
    given, checked = symmetric(true), torch.arange(600) < 300
    labels = torch.where(checked, true, given)
    found = trained(labels, inputs, trusted=checked, uncorrected=given)
    wrong, share = found.verdict.wrong, torch.tensor(found.finding.share)
    assert not wrong[checked].any()
    assert f1_score((labels != true).numpy(), wrong.numpy()) > 0.9
    truly = float((labels != true).float().mean())
    assert float(share @ labels.bincount().float() / 600) == pytest.approx(truly, abs=0.03)


@pytest.mark.parametrize("single", [True, False])
def test_a_single_network_of_the_first_look_no_longer_counts_in_the_end(single, monkeypatch):
    monkeypatch.setattr(looks, "SIDE_BY_SIDE", 0 if single else 2000)
    monkeypatch.setattr(looks, "MAX_FIRST_WORK", 0.0)
    found = trained(symmetric(points()[1], 0.1))
    assert len(found.model.members) == (1 if single else 8)


STAGES = ["first look", "other folds", "second look"]


@pytest.mark.parametrize(
    ("stage", "small"), [*((stage, 0) for stage in STAGES), ("first look", 600), ("second look", 600)]
)
def test_resumes_in_the_middle_of_every_stage(stage, small, tmp_path, monkeypatch):
    monkeypatch.setattr(looks, "SIDE_BY_SIDE", small)  # up to this number, all folds are trained side by side
    labels = symmetric(points()[1])
    whole = trained(labels, run=lambda: Run.create(tmp_path / "whole", ""))

    class Stopped(Exception):
        pass

    save, stopping = Keeper.end_epoch, {"now": True}

    def end_epoch(self, place, *rest, **named):
        save(self, place, *rest, **named)
        if stopping["now"] and self.stage.name == stage and place.epoch == 2:
            raise Stopped

    monkeypatch.setattr(Keeper, "end_epoch", end_epoch)
    with pytest.raises(Stopped):
        trained(labels, run=lambda: Run.create(tmp_path / "run", ""))
    stopping["now"] = False
    again = trained(labels, run=lambda: Run.open(tmp_path / "run"))
    for ours, theirs in zip(again.model.state_dict().values(), whole.model.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs)
    assert torch.equal(again.verdict.quality, whole.verdict.quality)
    assert again.finding == whole.finding

    def timeless(lines):
        return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]

    assert timeless(again.history) == timeless(whole.history) == timeless(Run.open(tmp_path / "run").read_metrics())
    finished = trained(labels, run=lambda: Run.open(tmp_path / "run"))  # nothing is trained any more
    assert torch.equal(finished.verdict.quality, whole.verdict.quality)


def test_changed_labels_are_not_resumed(tmp_path):
    labels = symmetric(points()[1])
    trained(labels, run=lambda: Run.create(tmp_path / "run", ""), epochs=6)
    with pytest.raises(DataError, match="the training data have changed since it was written"):
        trained(labels.roll(1), run=lambda: Run.open(tmp_path / "run"), epochs=6)


@pytest.mark.parametrize("epochs", [1, 2, 3, 4, 5, 7])
def test_short_trainings(epochs):
    found = trained(points()[1], epochs=epochs)
    assert len(found.history) <= epochs + max(1, round(0.6 * epochs))
    assert found.verdict.quality.isfinite().all()
    assert torch.tensor(found.finding.share).isfinite().all()
    assert accuracy(found) > 0.5
    assert ("Too few epochs or samples" in found.finding.words) == (epochs < 4)


def test_tiny_classes_are_never_held_out():
    inputs, labels = points(204)
    labels = labels.clamp_max(2)
    labels[-3:] = 3
    found = trained(labels, inputs, epochs=6)
    assert not set(found.held_out.tolist()) & {201, 202, 203}
    assert found.verdict.quality.isfinite().all()


def test_nothing_can_be_held_out():
    found = trained(torch.arange(12) % 4, points(12)[0], epochs=6)
    assert found.verdict.quality.isfinite().all()
    assert len(found.held_out) == 0


def test_an_empty_class_and_noise_beyond_one_half():
    inputs, labels = points()
    flipped = torch.where(torch.rand(600, generator=torch.Generator().manual_seed(0)) < 0.6, 1 - labels % 2, labels % 2)
    found = trained(flipped, inputs, epochs=6)
    assert found.verdict.quality.isfinite().all()
    assert found.finding.share[2:] == [0, 0]


def test_weights_of_the_user_count():
    inputs, labels = points(spread=3.0)
    wrong = torch.arange(600) % 2 == 0
    given = torch.where(wrong, (labels + 1) % 4, labels)  # half is wrong the same way, and known to be
    found = trained(given, inputs, sample_weight=torch.where(wrong, 0.0, 1.0))
    with torch.no_grad():
        assert float((found.model(inputs).argmax(1) == labels).float().mean()) > 0.8


def test_soft_labels():
    labels = points()[1]
    soft = trained(labels, epochs=8, soft_labels=0.9 * F.one_hot(labels, 4) + 0.025)
    assert accuracy(soft) > accuracy(trained(labels, epochs=8)) - 0.03


def test_the_weighting_function_starts_as_bayes_rule_and_learns():
    inputs, labels = points(spread=3.0)
    fixed, taught = (trained(one_way(labels), inputs, options={"meta_lr": rate}) for rate in (0.0, 3e-3))
    doubt = torch.linspace(0.05, 8, 50)
    assert fixed.families.num_families == taught.families.num_families == 3  # one way makes class sizes differ
    for family in range(3):
        with torch.no_grad():
            bayes, other = (each.net(doubt, torch.full((50,), family)) for each in (fixed, taught))
        torch.testing.assert_close(bayes, torch.exp(-doubt), atol=0.05, rtol=0)
        assert float((other - bayes).abs().max()) > 0.02


@pytest.mark.parametrize(
    "options", [{"train": {"prior": False}}, {"options": {"mixup": 0.0}}, {"train": {"judge": 0.5}}]
)
def test_options(options):
    found = trained(symmetric(points()[1]), **options)
    assert accuracy(found) > 0.7
    assert not torch.equal(found.model(points()[0]), usual().model(points()[0]))


def test_rare_classes_count_as_much_as_others():
    inputs, labels = points(2000)
    kept = torch.cat([(labels == c).nonzero().flatten()[: (200, 200, 200, 10)[c]] for c in range(4)])
    found = {}
    for prior in (True, False):
        model = trained(labels[kept], inputs[kept], train={"prior": prior}).model
        rare = points(4000, seed=9)
        with torch.no_grad():
            found[prior] = float((model(rare[0][rare[1] == 3]).argmax(1) == 3).float().mean())
    assert found[True] > found[False] + 0.1


def test_the_second_look_counts_as_far_as_the_first_confirms_it():
    labels = torch.arange(40) % 2
    prior, likely = torch.full((2,), 0.5), F.one_hot(labels, 2).float()

    def look(right):
        unseen = torch.where(F.one_hot(labels, 2).bool(), right, 1 - right).log()
        return Look([], unseen, unseen, unseen, torch.arange(40), True, [])

    knows, half = look(0.9), look(0.9**0.5 * 0.5**0.5)  # half the gain, in logarithms
    assert confirmed(knows, knows, likely, prior) == 1
    assert confirmed(knows, half, likely, prior) == pytest.approx(0.5, abs=1e-3)
    assert confirmed(knows, look(0.4), likely, prior) == 0  # random labels: only what has seen them knows them
    assert confirmed(look(0.4), knows, likely, prior) == 1


def test_of_two_scores_those_that_ask_for_a_higher_temperature():
    joint, scores = torch.eye(2) / 2, torch.linspace(-2, 2, 400)[:, None] * torch.tensor([1.0, -1.0])
    labels = (torch.rand(400, generator=torch.Generator().manual_seed(0)) > (2 * scores[:, 0]).sigmoid()).long()
    for several in ([scores, 3 * scores], [3 * scores, scores]):
        assert least_sure(several, labels, joint) is next(each for each in several if each.max() > 3)


def test_random_labels_are_not_predicted_surely():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(600, 8)), rng.integers(0, 2, 600)
    classifier = RobustClassifier(random_state=0, method="two-looks").fit(rows[:300], labels[:300])
    assert classifier.decision_.temperature > 1
    assert classifier.predict_proba(rows[300:]).max(1).mean() < 0.57
