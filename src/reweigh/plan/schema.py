"""The sections of a plan: which table each one chooses from, and what it adds to the options of the chosen part."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, Lt
from pydantic import AfterValidator, ValidationInfo, field_validator

from reweigh.names import suggestion
from reweigh.plan.tables import Options, named_member


class DataOptions(Options):
    """What [data] adds to the options of the dataset.

    Attributes:
        root: folder of the data files; otherwise the environment variable REWEIGH_DATA, otherwise ``data``.
        foreign: the dataset that open-set noise takes its inputs from.
        reviewed: run folder or file with decisions of reviewers; their labels replace the given ones and are trusted.
        decisions: Number of lines of that file to use, from its start; None uses all.
        posteriors: .npy file with the probability of each class for each training sample, shape (N, C), that
            feature-dependent noise is drawn from; by default those of a quick linear probe.
        labeled: number of labels to keep, the same in each class; the others are removed. None keeps all.
        clean: Samples of each class to set apart before any bias, as trusted samples of the meta set ``clean``.
        further_tests: further data to test on after each epoch, by name, in any format that ``read`` knows; a folder
            with a test part is taken for that. Their numbers are ``test_NAME_accuracy`` and so on.
    """

    root: str | None = None
    foreign: Annotated[str, AfterValidator(partial(named_member, "datasets"))] | None = None
    reviewed: str | None = None
    decisions: Annotated[int, Ge(1)] | None = None
    posteriors: str | None = None
    labeled: Annotated[int, Ge(1)] | None = None
    clean: Annotated[int, Ge(1)] | None = None
    further_tests: dict[str, str] | None = None

    @field_validator("further_tests", mode="before")
    @classmethod
    def _plain_names(cls, tests: Any) -> Any:
        if not isinstance(tests, dict | None):
            raise ValueError("give each a name, such as data.further_tests.ilsvrc12=PATH")
        if wrong := [name for name in tests or () if not re.fullmatch("[a-z][a-z0-9]*", name)]:
            raise ValueError(f"{wrong[0]!r} is not a valid name; use lowercase letters and digits, such as ilsvrc12")
        return tests


class BiasOptions(Options):
    """What an entry of ``data.bias``, or ``data.candidates``, adds to the options of the bias.

    Attributes:
        seed: of the bias; otherwise the seed of the run.
    """

    seed: Annotated[int, Ge(0)] | None = None


class FeatureOptions(Options):
    """What [features] adds to the options of the network.

    Attributes:
        cache: whether features are stored on disk, so that another run on the same samples takes seconds.
        memory_gb: gigabytes that features may take in memory; more are read from the cache as they are needed.
        views: number of views of each photo for which features are computed: 1 is the photo itself; 2 also its mirror
            image, one of which is drawn each time; more also random distortions, for methods that need them. The time
            grows in proportion; predictions are made from the photo itself.
    """

    cache: bool = True
    memory_gb: Annotated[float, Ge(0)] = 2.0
    views: Annotated[int, Ge(1)] = 1


class ModelOptions(Options):
    """What [model] adds to the options of the model.

    Attributes:
        start: run folder or safetensors file whose weights the model starts from; otherwise it starts at random.
        logits: last layer of the model: "linear" as it is, or "cosine", whose logits are cosines times 30.
        channels_last: keep images and filters with their channels last in memory. By default, models of reweigh
            do: on the CPU, steps take 10 to 40 % less time.
        compile: compile the model with ``torch.compile``, which takes a minute and then saves time on a GPU; passes
            that look ahead run as written.
        trains: What is trained: "all" of the model, or its "last-layer" alone, on features that stay as they start.
    """

    start: str | None = None
    logits: Literal["linear", "cosine"] = "linear"
    channels_last: bool | None = None
    compile: bool = False
    trains: Literal["all", "last-layer"] = "all"


NAMED_SHARES = ("estimated", "given", "uniform", "as-trained")


class TrainOptions(Options):
    """What [train] adds to the options of ``reweigh.training.train``.

    Attributes:
        device: "auto" takes a GPU if there is one.
        num_threads: of torch on the CPU; runs are bit-identical only with the same number.
        looks: How often, along training, predictions for the training samples are recorded; label quality comes from
            them. 0 means never. None: 1 for "two-looks", otherwise 10.
        scoring: Where label quality comes from: predictions made "in-training", or those of further models, trained
            briefly without the sample ("out-of-fold").
        judge: Share of the samples of each class that is not trained on and judges, after each epoch, which epoch's
            model is kept; 0 keeps the last epoch. "two-looks" holds out such a share in turn. None: 0.25 for
            "two-looks", otherwise 0.
        prior: Correct the loss for the class shares, so that rare classes count as much as frequent ones. It aims at
            balanced accuracy. None: true for "two-looks", otherwise false.
        abstain: Share of the samples of each class that is not trained on; how sure the model is of them sets the
            threshold for a wanted coverage (``reweigh predict --coverage``).
        aim: What to optimize and to report first: "accuracy", "balanced" (balanced accuracy: all classes matter alike)
            or "log-loss" (good probabilities).
        class_shares: Class shares of the data that will be predicted: "estimated" (those of the true labels), "given"
            (those of the given labels), "uniform", a table from class to share, or "as-trained", which takes the
            predictions of the model as they are.
        scale: Shrink the schedule: a quarter of it with 0.25. Epochs, warm-up and milestones are multiplied by it, and
            the learning rate of the weight net is divided by it. The recipe of the run has the resulting numbers.
        branch: Run, or checkpoint of a run, to continue from with another method: its model, optimizer, random
            generators and epochs so far.
    """

    device: str = "auto"
    num_threads: Annotated[int, Ge(1)] | None = None
    looks: Annotated[int, Ge(0)] | None = None
    scoring: Literal["in-training", "out-of-fold"] = "in-training"
    judge: Annotated[float, Ge(0), Le(0.5)] | None = None
    prior: bool | None = None
    abstain: Annotated[float, Gt(0), Lt(1)] | None = None
    aim: Literal["accuracy", "balanced", "log-loss"] = "accuracy"
    class_shares: str | dict[str, float] = "as-trained"
    scale: Annotated[float, Gt(0), Le(1)] = 1.0
    branch: str | None = None

    @field_validator("class_shares", mode="before")
    @classmethod
    def _known_shares(cls, shares: Any) -> Any:
        if not isinstance(shares, dict) and shares not in NAMED_SHARES:
            hint = suggestion(shares, NAMED_SHARES) if isinstance(shares, str) else ""
            raise ValueError(f"should be {', '.join(NAMED_SHARES)}, or a table from class to share.{hint}")
        return shares

    @field_validator("device")
    @classmethod
    def _device_exists(cls, device: str) -> str:
        if not re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", device):
            raise ValueError("should be auto, cpu, mps, cuda or cuda:0, cuda:1, ...")
        return device

    @field_validator("warmup_epochs", check_fields=False)
    @classmethod
    def _warm_up_ends(cls, warmup_epochs: int, info: ValidationInfo) -> int:
        if warmup_epochs > info.data.get("epochs", warmup_epochs):
            raise ValueError(f"should be at most train.epochs, {info.data['epochs']}")
        return warmup_epochs


@dataclass(frozen=True)
class Slot:
    """A key of a recipe whose value chooses a member of a table by name.

    Attributes:
        table: the table to choose from.
        many: a list of choices instead of one.
        default: what an absent section means; None if it must be there, or is optional.
        optional: may be absent, and then nothing is chosen.
        short: may be the name alone, for a member with its defaults.
        adds: Options that the slot adds to those of the member.
        slots: choices within the choice.
    """

    table: str
    many: bool = False
    default: Any = None
    optional: bool = False
    short: bool = False
    adds: type[Options] = Options
    slots: "Mapping[str, Slot]" = field(default_factory=dict)


SECTIONS: dict[str, Slot] = {
    "data": Slot(
        "datasets",
        adds=DataOptions,
        slots={
            "bias": Slot("biases", many=True, default=[], adds=BiasOptions),
            "candidates": Slot("candidates", optional=True, adds=BiasOptions),
        },
    ),
    "augment": Slot("transforms", many=True, default=[]),
    "features": Slot("features", optional=True, short=True, adds=FeatureOptions),
    "model": Slot("models", adds=ModelOptions),
    "method": Slot("methods"),
    "loss": Slot("losses", default={"name": "cross-entropy"}),
    "meta_set": Slot("meta-sets", default={"name": "lowest-loss"}),
    "optimizer": Slot("optimizers", slots={"schedule": Slot("schedules", default={"name": "constant"})}),
}
