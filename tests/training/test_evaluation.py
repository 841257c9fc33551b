import pytest
import torch
from torch import nn

from reweigh.training import predict


def test_predicts_in_chunks_without_leaving_a_trace(tiny, monkeypatch):
    monkeypatch.setattr("reweigh.data.dataset.SAMPLES_AT_ONCE", 20)
    data = tiny.dataset()
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3)).train()
    model[1].eval()  # a frozen layer
    before = {name: value.clone() for name, value in model.state_dict().items()}
    random_state = torch.get_rng_state()
    logits = predict(model, data)
    assert [module.training for module in model.modules()] == [True, True, False, True, True]
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert torch.equal(random_state, torch.get_rng_state())
    assert not logits.requires_grad
    expected = torch.stack([model.eval()(data.inputs[i : i + 1])[0] for i in range(len(data))])
    torch.testing.assert_close(logits, expected.detach())


def test_modes_return_after_an_error(tiny):
    model = nn.Sequential(nn.Linear(5, 3)).train()
    with pytest.raises(RuntimeError):
        predict(model, tiny.dataset())
    assert model.training
