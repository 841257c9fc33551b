"""A plan: the tables of members, the options of each, the sections that choose from them, and what was chosen."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from annotated_types import Ge, Gt, Le, Lt
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo, create_model, field_validator

from reweigh.names import lookup, suggestion

if TYPE_CHECKING:
    from reweigh.core.method import Method


class Table(NamedTuple):
    """A table that a recipe chooses from.

    Attributes:
        kind: What one member is, for messages.
        home: Module and attribute; imported when first asked for, because most of them need torch.
        finder: Function that finds a member by name, if there are more than the table lists.
    """

    kind: str
    home: str
    finder: str | None = None


TABLES: dict[str, Table] = {
    "methods": Table("method", "reweigh.methods:METHODS", "reweigh.methods:find"),
    "engines": Table("engine", "reweigh.core.jvp:ENGINES"),
    "weight-nets": Table("weight net", "reweigh.weighting:WEIGHTINGS"),
    "losses": Table("loss", "reweigh.losses:LOSSES"),
    "meta-sets": Table("meta set", "reweigh.meta_sets:META_SETS"),
    "datasets": Table("dataset", "reweigh.data:DATASETS"),
    "biases": Table("bias", "reweigh.bias:BIASES"),
    "candidates": Table("rule for candidates", "reweigh.bias:CANDIDATES"),
    "transforms": Table("transform", "reweigh.transforms:TRANSFORMS"),
    "features": Table("network for features", "reweigh.features:FEATURES", "reweigh.features:find"),
    "models": Table("model", "reweigh.models:MODELS", "reweigh.models:find"),
    "optimizers": Table("optimizer", "reweigh.training:OPTIMIZERS"),
    "schedules": Table("schedule", "reweigh.training:SCHEDULES"),
}


def members(table: str) -> Mapping[str, Callable[..., Any]]:
    return resolve_name(TABLES[table].home)


def member(table: str, name: str) -> Callable[..., Any]:
    """One member."""
    kind, _, finder = TABLES[table]
    return resolve_name(finder)(name) if finder else lookup(members(table), name, kind)


def method_named(name: str) -> "type[Method]":
    """A method; its class attributes describe what it accepts."""
    found: Any = member("methods", name)
    return found


class Options(BaseModel):
    """Base of all options: unknown keys are mistakes, and a string is not a number."""

    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())


def named_member(table: str, name: str) -> str:
    """The name itself if a member of the table has it; otherwise a RecipeError."""
    member(table, name)
    return name


def _annotation(parameter: inspect.Parameter) -> Any:
    """The type to check; an option called like a kind of part (``engine: str``) must name a member of its table."""
    for table, (kind, *_) in TABLES.items():
        if parameter.name == kind.replace(" ", "_") and parameter.annotation is str:
            return Annotated[str, AfterValidator(partial(named_member, table))]
    return Any if parameter.annotation is inspect.Parameter.empty else parameter.annotation


def parameters_of(part: Callable[..., Any]) -> Iterable[inspect.Parameter]:
    """The arguments of a part that are options; a method that learns weights has those of its reweighter too."""
    from reweigh.core.method import Method  # needs torch

    if isinstance(part, type) and Method in part.__mro__:
        from reweigh.methods import options_of_method

        return options_of_method(part).values()
    parameters = inspect.signature(part, eval_str=True).parameters.values()
    return [parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]


@cache
def options_of(part: Callable[..., Any], base: type[Options] = Options) -> type[Options]:
    """The options that a part accepts.

    Args:
        part: a function or class; its positional arguments are supplied by the assembly, the keyword-only ones
            are the options. An option without a default must be given. A part with ``**options`` takes any.
        base: Options that the section of the recipe adds (``data.root``).
    """
    fields: dict[str, Any] = {}
    for parameter in parameters_of(part):
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter.name] = (_annotation(parameter), default)
    kinds = [parameter.kind for parameter in inspect.signature(part).parameters.values()]
    settings = {"extra": "allow"} if inspect.Parameter.VAR_KEYWORD in kinds else {}
    return create_model(getattr(part, "__name__", "Part"), __base__=base, __cls_kwargs__=settings, **fields)


@dataclass(frozen=True)
class Part:
    """A member of a table with its options.

    Attributes:
        options: Keyword arguments of the member, defaults included.
        added: What the section of the plan adds to them (``data.root``, the seed of a bias).
        parts: Choices within the choice: the biases of the data, the schedule of the optimizer.
    """

    table: str
    name: str
    options: Mapping[str, Any]
    added: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, "tuple[Part, ...]"] = field(default_factory=dict)

    def bind(self) -> Callable[..., Any]:
        """The member with its options bound; it is called with what only the training knows."""
        return partial(member(self.table, self.name), **self.options)


@dataclass(frozen=True)
class Plan:
    """Everything that determines a training. As TOML it is a recipe.

    Attributes:
        data: Where the samples come from; None if the caller passes them.
        model: The classifier; None if the caller passes a network.
        features: A frozen network that turns samples into features, which the model is trained on; None trains on the
            samples themselves.
        train: Options of ``reweigh.training.train``, and those of ``TrainOptions``.
    """

    data: Part | None
    model: Part | None
    augment: tuple[Part, ...]
    method: Part
    loss: Part
    meta_set: Part
    optimizer: Part
    train: Mapping[str, Any]
    features: Part | None = None

    @property
    def own_loss(self) -> str | None:
        """The name of the loss that the method brings along in place of the one in the section [loss]."""
        return method_named(self.method.name).own_loss

    @property
    def source(self) -> Part:
        """The section [data] of a plan that has one, as every recipe does."""
        assert self.data is not None
        return self.data


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
    """

    cache: bool = True
    memory_gb: Annotated[float, Ge(0)] = 2.0


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
