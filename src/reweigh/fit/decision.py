"""From the logits of a model to probabilities and labels, for the class shares that will be met."""

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from reweigh.errors import DataError, RecipeError
from reweigh.issues.stock import label_rows, take_stock_unseen
from reweigh.losses import BALANCING
from reweigh.names import listed, plural, suggestion
from reweigh.plan import Plan
from reweigh.plan.plan import NAMED_SHARES, method_named

MIN_LABELS = 40  # fewer held-out labels cannot calibrate
MAX_CELLS = 1_000_000  # samples times classes; of more, some samples are left out
EPS_SHARE = 1e-6
TEMPERATURE_SPREAD = 1.0  # standard deviation of log temperature before any label is seen
BIAS_SPREAD = 0.3  # standard deviation of a class bias, likewise
MAX_BIAS = 10 * BIAS_SPREAD
TEMPERATURES = (1 / 30, 30.0)  # lowest and highest
FOLDS = 5  # of held-out labels; the confusion of the others explains those of one
WRONG = tuple(step / 10 for step in range(7))  # shares of labels that may be wrong in no particular direction
MIN_TRUE_PART = 0.1  # of a class that is given may belong to it, at least, if labels are wrong evenly
PARTS = tuple(step / 5 for step in range(1, 6))  # of the wrong labels of a supposed joint that may be wrong indeed


class Calibration(NamedTuple):
    """What turns scores without class shares into probabilities.

    Attributes:
        temperature: Scores are divided by it.
        bias: Shape (C,), added afterward; zero for a class without a held-out label.
        joint: Shape (C, C), share of samples by given (row) and true (column) class that explains the labels.
        labels: Number of held-out labels; 0 if there were too few, and the other values are those of no calibration.
    """

    temperature: float
    bias: Tensor
    joint: Tensor
    labels: int


def calibrate(scores: Tensor, given: Tensor, joint: Tensor | None = None) -> Calibration:
    """The calibration with which scores, passed through the confusion, explain held-out labels.

        p_i(k)  ~  exp(scores_i(k) / temperature + bias_k) share_k,      p(y_i) = sum_k T(y_i | k) p_i(k)

    Wrong labels then do not flatten the probabilities. But flat predictions have several explanations: classes that
    overlap, or sharper predictions and wrong labels. So temperature and biases are fitted for every one of
    ``supposed_joints``, and averaged by how well the labels are explained. A confusion explains labels from which it
    was not learned; those from which it was, it would explain better even by chance.

    >>> scores = torch.linspace(-9, 9, 999)[:, None] * torch.tensor([1.0, -1.0])  # too sure by a factor of 3
    >>> given = (torch.rand(999, generator=torch.Generator().manual_seed(0)) > (scores[:, 0] * 2 / 3).sigmoid()).long()
    >>> given[::5] = 1 - given[::5]  # a fifth are wrong
    >>> found = calibrate(scores, given)
    >>> round(found.temperature, 1), round(1 - float(found.joint.trace()), 2)
    (2.5, 0.2)

    Args:
        scores: Shape (n, C), logits of samples that were not trained on, without class shares.
        given: Shape (n,), their given labels; -1 means no label.
        joint: Shape (C, C), supposed share of samples by given (row) and true (column) class; ``learned_shares`` by
            default.
    """
    classes = scores.shape[1]
    known = (given >= 0).nonzero().flatten()
    if len(known) < MIN_LABELS or classes < 2:
        joint = torch.eye(classes, dtype=torch.float64) / classes if joint is None else joint.double() / joint.sum()
        return Calibration(1.0, torch.zeros(classes, dtype=torch.float64), joint, 0)
    known = known[:: math.ceil(len(known) * classes / MAX_CELLS)]
    scores, given = scores[known].double(), given[known]
    joint = learned_shares(scores, given) if joint is None else joint.double() / joint.sum()
    fold = torch.empty_like(given)
    fold[given.argsort(stable=True)] = torch.arange(len(given)) % FOLDS  # each has its share of every class
    others = [learned_shares(scores[fold != each], given[fold != each]) for each in range(FOLDS)]
    bounds = [
        tuple(map(math.log, TEMPERATURES)),
        *((-MAX_BIAS, MAX_BIAS) if size else (0, 0) for size in torch.bincount(given, minlength=classes)),
    ]
    costs, fits, joints, start = [], [], [], np.zeros(1 + classes)
    for apart, whole in zip(supposed_joints(torch.stack(others)), supposed_joints(joint), strict=True):
        counts = apart.clamp_min(EPS_SHARE**2)
        cost, start = _fitted(scores, counts.log()[fold, given], counts.sum(1).log()[fold], start, bounds)
        costs.append(-cost)
        fits.append(torch.from_numpy(start))
        joints.append(whole)
    weights = torch.tensor(costs, dtype=torch.float64).softmax(0)
    mean = weights @ torch.stack(fits)
    return Calibration(math.exp(mean[0]), mean[1:], torch.einsum("e,eyk->yk", weights, torch.stack(joints)), len(given))


def supposed_joints(joint: Tensor) -> Iterator[Tensor]:
    """Joints that may explain the labels, from one, shape (..., C, C), with the same shares of given labels.

    Some share of all labels is wrong in no particular direction, or some part of the wrong labels of the joint is.
    """
    given, classes = joint.sum(-1), joint.shape[-1]
    for share in WRONG:
        if share < 1 - 1 / classes:  # of more, labels would say which class is not the true one
            yield _evenly_wrong(given, share)
    right = given.diag_embed()
    for part in PARTS:
        yield right + part * (joint - right)


def _evenly_wrong(given: Tensor, share: float) -> Tensor:
    """The joint, shape (..., C, C), of labels of which this share is wrong whatever the class, to any other class.

    Args:
        given: Shape (..., C), shares of the given labels. A class has fewer true samples than given labels if it is
            rare, because it receives more wrong labels than it loses.
    """
    classes = given.shape[-1]
    other = share / (classes - 1)
    true = torch.maximum((given - other) / (1 - share - other), MIN_TRUE_PART * given)
    transition = torch.full((classes, classes), other, dtype=given.dtype).fill_diagonal_(1 - share)
    joint = transition * true[..., None, :]
    return joint * (given / joint.sum(-1).clamp_min(EPS_SHARE**2))[..., None]


def _fitted(
    scores: Tensor, evidence: Tensor, prior: Tensor, start: np.ndarray, bounds: Sequence[tuple[float, float]]
) -> tuple[float, np.ndarray]:
    """The lowest cost, in nats, and the logarithm of the temperature and the class biases that have it.

    Temperature and biases are shrunk to 1 and 0.

    Args:
        evidence: Shape (n, C), logarithm of the share of samples with the given label of a sample, by true class.
        prior: Shape (n, C), logarithm of the share of each true class.
        start: Where the search begins.
    """
    from scipy.optimize import minimize

    def with_slope(values: np.ndarray) -> tuple[float, np.ndarray]:
        at = torch.from_numpy(values).requires_grad_()
        logits = scores / at[0].exp() + at[1:]
        explained = (logits + evidence).logsumexp(1) - (logits + prior).logsumexp(1)
        doubt = (at[0] / TEMPERATURE_SPREAD).square() + (at[1:] / BIAS_SPREAD).square().sum()
        (slope,) = torch.autograd.grad(cost := doubt / 2 - explained.sum(), at)
        return float(cost.detach()), slope.numpy()

    found = minimize(with_slope, start, jac=True, bounds=bounds)
    return found.fun, found.x


def learned_shares(scores: Tensor, given: Tensor) -> Tensor:
    """Share of samples by given (row) and true (column) class, shape (C, C), as held-out predictions see it."""
    known = given >= 0
    classes = scores.shape[1]
    if not bool(known.any()):
        return torch.eye(classes, dtype=torch.float64) / classes
    rows = scores[known].double().softmax(1).float()
    joint = take_stock_unseen(rows, label_rows(given[known], classes)).joint.double()
    return joint / joint.sum()


SUM_TOLERANCE = 1e-3
Shares = tuple[float, ...]


@dataclass(frozen=True)
class Decision:
    """How logits f become probabilities of the classes.

        p(k | x)  ~  exp((f_k(x) - log contained_k) / temperature + bias_k) share_k

    Training learns what tells classes apart; deciding applies how frequent they will be. So the shares can be changed
    without training.

    >>> contained = estimated = (0.9, 0.1)  # plain training: the shares of the labels are in the logits
    >>> decision = Decision(contained, given=contained, estimated=estimated, shares=(0.5, 0.5))
    >>> decision.logits(torch.tensor([[1.0, 0.0]])).softmax(1)
    tensor([[0.2320, 0.7680]])

    Attributes:
        contained: Class shares that the logits contain.
        given: Class shares of the given labels.
        estimated: Class shares of the true labels, as estimated; those of the given labels where labels are right.
        shares: Class shares that will be met; None takes the logits as they are.
        temperature: Temperature of the logits without shares.
        bias: One number per class; empty means none.
        calibrated: Number of held-out labels that temperature and bias were fitted on; 0 means not calibrated.
        wrong: Share of wrong labels that explains the held-out labels best.
    """

    contained: Shares
    given: Shares
    estimated: Shares
    shares: Shares | None = None
    temperature: float = 1.0
    bias: tuple[float, ...] = ()
    calibrated: int = 0
    wrong: float = 0.0

    @property
    def scale(self) -> float:
        """Factor of the logits."""
        return 1.0 if self.shares is None else 1 / self.temperature

    @property
    def offset(self) -> Tensor:
        """What is added to the scaled logits, shape (C,), float64."""
        if self.shares is None:
            return torch.zeros(len(self.contained), dtype=torch.float64)
        wanted = torch.tensor(self.shares, dtype=torch.float64).log()
        return wanted - _logs(self.contained) * self.scale + torch.tensor(self.bias or (0.0,), dtype=torch.float64)

    def logits(self, logits: Tensor) -> Tensor:
        """Logits whose softmax is the probability of each class, shape (n, C), from those of the model."""
        return logits * self.scale + self.offset.to(logits)

    def scores(self, logits: Tensor) -> Tensor:
        """The logits of the model without the class shares that they contain, shape (n, C), float64."""
        return logits.double() - _logs(self.contained)

    def meeting(self, shares: Any, class_names: Sequence[Any]) -> Self:
        """The decision for other class shares.

        Args:
            shares: One of ``NAMED_SHARES``, or a mapping from class to share.
        """
        if isinstance(shares, Mapping):
            return replace(self, shares=read_shares(shares, class_names))
        uniform = (1 / len(self.given),) * len(self.given)
        named = dict(zip(NAMED_SHARES, (self.estimated, self.given, uniform, None), strict=True))
        if not isinstance(shares, str) or shares not in named:
            raise RecipeError(unknown_shares(shares))
        return replace(self, shares=named[shares])

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Any, where: str) -> Self:
        try:
            lists = {name: tuple(map(float, each)) for name, each in content.items() if isinstance(each, list | tuple)}
            found = cls(**{**content, **lists})
            valid = bool(found.logits(torch.zeros(1, len(found.given))).softmax(1).isfinite().all())
            if valid and math.isfinite(found.wrong) and found.calibrated >= 0:
                return found
        except (TypeError, ValueError, AttributeError, RuntimeError, ZeroDivisionError):
            pass
        raise DataError(f"{where}: how to decide is not as this version of reweigh writes it; train again")


def _logs(shares: Shares) -> Tensor:
    return torch.tensor(shares, dtype=torch.float64).clamp_min(EPS_SHARE).log()


def unknown_shares(shares: Any) -> str:
    """The message for a value that is neither a name nor a mapping."""
    hint = suggestion(shares, NAMED_SHARES) if isinstance(shares, str) else ""
    return f"class_shares: got {shares!r}; should be {', '.join(NAMED_SHARES)}, or a mapping from class to share.{hint}"


def read_shares(shares: Mapping[Any, Any], class_names: Sequence[Any]) -> Shares:
    """Shares in the order of the classes, which sum to one exactly."""
    by_name = {str(name): share for name, share in shares.items()}
    names = [str(name) for name in class_names]
    wrong = []
    if missing := [name for name in names if name not in by_name]:
        wrong.append(f"no share for class {listed(missing)}; give each class one")
    if unknown := [name for name in by_name if name not in names]:
        wrong.append(f"no class named {listed(unknown)}; the classes are {listed(names)}")
    values = {name: share for name, share in by_name.items() if name in names}
    numbers = {name: share for name, share in values.items() if isinstance(share, Real) and not isinstance(share, bool)}
    for name, share in values.items():
        if name not in numbers or not 0 <= float(numbers[name]) <= 1:
            wrong.append(f"{name}: got {share!r}; a share is a number from 0 to 1")
    total = sum(map(float, numbers.values()))
    if not wrong and abs(total - 1) > SUM_TOLERANCE:
        wrong.append(f"the shares sum to {total:g}, not to 1; divide each by {total:g}")
    if wrong:
        raise RecipeError(f"class_shares: {'; '.join(wrong)}")
    return tuple(float(numbers[name]) / total for name in names)


def read_costs(costs: Any, class_names: Sequence[Any]) -> np.ndarray:
    """Cost by true (row) and predicted (column) class, shape (C, C); right predictions cost nothing.

    >>> read_costs({"ok": 1, "fraud": 5}, ["fraud", "ok"])  # an alarm if p(fraud) > 1 / 6
    array([[0., 5.],
           [1., 0.]])

    Args:
        costs: A mapping from class to the cost of missing it, or an array of that shape.
    """
    classes = len(class_names)
    allowed = (
        f"a mapping from each of {listed(class_names)} to a cost of at least 0, or an array ({classes}, {classes})"
    )
    if isinstance(costs, Mapping):
        by_name = {str(name): cost for name, cost in costs.items()}
        if by_name.keys() != {str(name) for name in class_names}:
            raise RecipeError(f"costs: got costs of {listed(by_name)}; should be {allowed}")
        costs = np.array([[by_name[str(name)]] * classes for name in class_names]) * (1 - np.eye(classes))
    try:
        matrix = np.asarray(costs, dtype=float)
    except (TypeError, ValueError):
        raise RecipeError(f"costs: got {costs!r}; should be {allowed}") from None
    if matrix.shape != (classes, classes):
        raise RecipeError(f"costs: got an array of shape {matrix.shape}; should be {allowed}")
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise RecipeError(f"costs: got a cost that is negative or not finite; should be {allowed}")
    return matrix


NO_SAMPLES = 0.5  # samples that a class without any counts as, so that it can still be predicted
logger = logging.getLogger(__name__)


def before_training(plan: Plan, labels: Tensor, weights: Tensor | None, class_names: Sequence[str]) -> Decision:
    """The decision as far as it is known before training: the given labels count as right, nothing is calibrated."""
    given = shares_of(labels, weights, len(class_names))
    contained = (1 / len(given),) * len(given) if contains(plan) == "uniform" else given
    return Decision(contained, given, given).meeting(plan.train["class_shares"], class_names)


def after_training(
    first: Decision,
    plan: Plan,
    class_names: Sequence[str],
    weights: Tensor | None,
    labels: Tensor,
    apart: tuple[Tensor, Tensor] | None,
    joint: Tensor | None = None,
) -> tuple[Decision, Tensor | None]:
    """The decision with the class shares of the true labels, calibrated on held-out labels; and the confusion.

    The confusion T(y | k), shape (C, C), is the probability of the given class y (row) if k is the true one (column);
    None if no labels were held out.

    Args:
        weights: Shape (N,), factors by which the method trained on the samples; NaN means 1. None if it has none.
        apart: Logits (n, C) and given labels (n,) of samples that were not trained on; None if there are none.
        joint: Shape (C, C), share of samples by given (row) and true (column) class, if the method knows.
    """
    if weights is not None and contains(plan) == "weighted":
        first = replace(first, contained=shares_of(labels, weights.nan_to_num(1.0), len(class_names)))
    shares = plan.train["class_shares"]
    if apart is None:
        if shares != "as-trained":
            logger.info("probabilities are not calibrated: no labels were held out (train.judge or train.abstain)")
        return first.meeting(shares, class_names), None
    logits, given = apart
    scores = first.scores(logits)
    found = calibrate(scores, given, joint)
    if found.labels == 0:
        known = int((given >= 0).sum())
        logger.info("probabilities are not calibrated: %s, fewer than %d", plural(known, "held-out label"), MIN_LABELS)
        return first.meeting(shares, class_names), None
    lacking = (torch.bincount(given[given >= 0], minlength=len(class_names)) == 0).nonzero().flatten().tolist()
    if lacking:
        logger.info("no held-out label of class %s; its bias is 0", listed(class_names[each] for each in lacking))
    sizes = found.joint.sum(1, keepdim=True)
    truly = torch.where(sizes > 0, found.joint / sizes.clamp_min(EPS_SHARE), torch.eye(len(sizes), dtype=sizes.dtype))
    decision = replace(
        first,
        estimated=tuple((torch.tensor(first.given, dtype=sizes.dtype) @ truly).tolist()),
        temperature=found.temperature,
        bias=tuple(found.bias.tolist()),
        calibrated=found.labels,
        wrong=float(1 - found.joint.trace()),
    )
    return decision.meeting(shares, class_names), found.joint / found.joint.sum(0).clamp_min(EPS_SHARE)


def contains(plan: Plan) -> str:
    """Which class shares the logits contain after training by a plan: "given", "weighted" or "uniform"."""
    balancing = (plan.own_loss or plan.loss.name) in BALANCING
    return "uniform" if plan.train["prior"] or balancing else method_named(plan.method.name).contains


def shares_of(labels: Tensor, weights: Tensor | None, classes: int) -> Shares:
    """Shares of the classes among the labels, shape (N,), where -1 means no label; a weight of 2 counts as two."""
    known = labels >= 0
    factors = torch.ones(len(labels)) if weights is None else weights.cpu()
    counts = torch.zeros(classes, dtype=torch.float64).index_add_(0, labels[known], factors[known].double())
    counts = counts.clamp_min(NO_SAMPLES * float(counts.sum() / known.sum().clamp_min(1)))
    return tuple((counts / counts.sum()).tolist())
