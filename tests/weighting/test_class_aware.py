"""The weight net against its definition, sample by sample."""

import torch

from reweigh.weighting import ClassAwareNet
from reweigh.weighting.nets import _fitted


def test_one_head_for_each_family() -> None:
    torch.manual_seed(0)
    net = ClassAwareNet(3)
    losses, family = torch.rand(20) * 5, torch.randint(3, (20,))
    slow = []
    for value, k in zip(losses, family, strict=True):
        hidden = torch.relu(net.hidden.weight[:, 0] * value + net.hidden.bias)
        slow.append(torch.sigmoid(hidden @ net.heads.weight[k] + net.heads.bias[k]))
    torch.testing.assert_close(net(losses, family), torch.stack(slow))


def test_losses_are_read_in_units() -> None:
    torch.manual_seed(0)
    net, losses, family = ClassAwareNet(2), torch.rand(20) * 40, torch.randint(2, (20,))
    expected = net(losses / 30, family)
    net.unit = 30.0
    torch.testing.assert_close(net(losses, family), expected)


def test_as_small_as_the_papers() -> None:
    assert sum(p.numel() for p in ClassAwareNet(3).parameters()) == 503  # 100 + 100, and 3 times 100 + 1


def test_double_losses_meet_a_float_net() -> None:
    assert ClassAwareNet(1)(torch.rand(4, dtype=torch.float64), torch.zeros(4, dtype=torch.int64)).shape == (4,)


def test_a_curve_is_fitted_once_and_the_nets_share_nothing() -> None:
    points = torch.linspace(0, 3, 50)
    _fitted.cache_clear()
    first, second = (ClassAwareNet.following(lambda losses: torch.exp(-losses), points, 2) for _ in range(2))
    other = ClassAwareNet.following(lambda losses: torch.exp(-2 * losses), points, 2)
    assert (_fitted.cache_info().misses, _fitted.cache_info().hits) == (2, 1)
    with torch.no_grad():
        first.hidden.weight.zero_()
    _fitted.cache_clear()
    fresh = ClassAwareNet.following(lambda losses: torch.exp(-losses), points, 2)
    assert all(torch.equal(mine, its) for mine, its in zip(second.parameters(), fresh.parameters(), strict=True))
    assert not torch.equal(other.heads.weight, fresh.heads.weight)


def test_it_can_start_from_a_known_curve() -> None:
    points = torch.linspace(0, 5, 200)
    before = torch.get_rng_state()
    net, again = (ClassAwareNet.following(lambda losses: torch.exp(-losses), points, 2) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    for family in (0, 1):
        at = torch.full((200,), family)
        assert (net(points, at) - torch.exp(-points)).abs().max().item() < 0.05
        assert torch.equal(net(points, at), again(points, at))
