"""Plain training."""

import pytest

from reweigh.methods import build


@pytest.mark.parametrize("name", ["erm", "co-teaching", "cmw-net"])
def test_an_epoch_that_goes_on_trains_though_the_model_came_in_eval_mode(tiny, name):
    setup = tiny("erm").setup
    state = build(name, setup).state_dict()
    setup.model.eval()
    method = build(name, setup)
    method.load_state_dict(state)
    assert method.model.training
    if name == "co-teaching":
        assert method._peer.model.training  # pyright: ignore[reportAttributeAccessIssue]
