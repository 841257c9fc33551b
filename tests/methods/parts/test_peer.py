"""A second network that does not fit is refused with sizes."""

import pytest

from reweigh.errors import ModelError
from reweigh.memory import free_memory


def test_free_memory_is_what_the_system_says():
    free = free_memory()
    assert free is None or free > 2**20


@pytest.mark.parametrize("method", ["dividemix", "elr+", "co-teaching", "decoupling"])
def test_two_networks_that_do_not_fit(tiny, monkeypatch, method):
    needed = 3 * 15 * 8  # weights, gradients and momentum of fifteen parameters in double precision
    monkeypatch.setattr("reweigh.methods.parts.peer.free_memory", lambda device: needed)
    tiny(method)
    monkeypatch.setattr("reweigh.methods.parts.peer.free_memory", lambda device: needed - 1)
    with pytest.raises(ModelError, match=r"two networks.* it takes 0\.0 GB, and 0\.0 GB are free"):
        tiny(method)
