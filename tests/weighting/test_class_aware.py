"""The weight net against its definition, sample by sample."""

import torch

from reweigh.weighting import ClassAwareNet


def test_one_head_for_each_family() -> None:
    torch.manual_seed(0)
    net = ClassAwareNet(3)
    losses, family = torch.rand(20) * 5, torch.randint(3, (20,))
    slow = []
    for value, k in zip(losses, family, strict=True):
        hidden = torch.relu(net.hidden.weight[:, 0] * value + net.hidden.bias)
        slow.append(torch.sigmoid(hidden @ net.heads.weight[k] + net.heads.bias[k]))
    torch.testing.assert_close(net(losses, family), torch.stack(slow))


def test_as_small_as_the_papers() -> None:
    assert sum(p.numel() for p in ClassAwareNet(3).parameters()) == 503  # 100 + 100, and 3 times 100 + 1


def test_double_losses_meet_a_float_net() -> None:
    assert ClassAwareNet(1)(torch.rand(4, dtype=torch.float64), torch.zeros(4, dtype=torch.int64)).shape == (4,)


def test_it_can_start_from_a_known_curve() -> None:
    points = torch.tensor([0.0, 0.1, 0.5, 2.0, 6.0])

    def curve(losses: torch.Tensor) -> torch.Tensor:
        return torch.exp(-losses).clamp_max(0.95)

    net = ClassAwareNet.following(curve, points, 2)
    middles = (points[1:] + points[:-1]) / 2
    for family in (0, 1):
        at = torch.full((5,), family)
        torch.testing.assert_close(net(points, at), curve(points))
        between = (torch.logit(curve(points))[1:] + torch.logit(curve(points))[:-1]) / 2
        torch.testing.assert_close(torch.logit(net(middles, at[:4])), between)
