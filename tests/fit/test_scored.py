"""Scores come with the predictions, in batches as in one, and a model that abstains is judged by them."""

import torch

from reweigh.data import Dataset
from reweigh.fit.metrics import metrics
from reweigh.fit.scored import judged_by, scored
from reweigh.models import build
from reweigh.models.selective import SelectiveModel


def _data() -> Dataset:
    generator = torch.Generator().manual_seed(0)
    return Dataset(torch.randn(50, 6, generator=generator), torch.arange(50) % 3, ("a", "b", "c"))


def test_a_plain_model_and_a_selective_one(monkeypatch):
    monkeypatch.setattr("reweigh.data.dataset.SAMPLES_AT_ONCE", 7)
    torch.manual_seed(0)
    data, plain = _data(), build("mlp", (6,), 3)
    model = SelectiveModel(plain).train()
    for each in (plain, model):
        logits, scores, _ = scored(each, data)
        assert model.training
        assert model.selection.training
        each.eval()
        with torch.no_grad():
            expected = each(data.inputs)
            selection = model.eval()(data.inputs, heads=True).selection
        torch.testing.assert_close(logits, expected)
        wanted = expected.softmax(1).amax(1) if each is plain else selection.sigmoid()
        torch.testing.assert_close(scores, wanted.double(), rtol=1e-5, atol=1e-6)
        model.train()


def test_a_model_that_abstains_is_judged_by_its_scores_too():
    torch.manual_seed(0)
    data = _data()
    model = SelectiveModel(build("mlp", (6,), 3))
    sizes, device = data.class_sizes, torch.device("cpu")
    logits, scores, _ = scored(model, data)
    found = judged_by({"": data}, sizes, device, abstains=True)(model)
    assert found == metrics(logits, data.labels, sizes, scores)
    assert "error_at_80" in found
    plain = judged_by({"": data}, sizes, device, abstains=False)(model)
    assert plain == {name: found[name] for name in ("accuracy", "balanced_accuracy")}
