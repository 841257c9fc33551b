"""Choose what the user leaves open, by fixed rules on the kind and size of the data; the same on every machine."""

from collections.abc import Mapping
from math import ceil, log2, prod
from typing import Any, NamedTuple

import torch

from reweigh.data import Dataset
from reweigh.data.inputs import Rows, SparseRows
from reweigh.errors import RecipeError
from reweigh.families import sizes_differ
from reweigh.features import is_network
from reweigh.meta_sets import META_SETS
from reweigh.methods import METHODS, options_of_method
from reweigh.models.efficientnet_lite import WIDTH, installed
from reweigh.plan.edit import merge, put


class Facts(NamedTuple):
    """What the rules look at.

    Attributes:
        photos: Whether they are photos: images of bytes in color, which may be mirrored and shifted, unlike digits.
        pixels: Whether they are images of bytes, in gray or color, as a pretrained network takes them.
        sparse: Whether they are stored without their zeros.
        text: Whether most of their features are words; taken for granted if they are sparse.
        networks_only: Whether boosted trees cannot look too: the user has a network, or training is to go on later.
        columns: Whether the features were made here from the columns of a table.
    """

    samples: int
    shape: tuple[int, ...]
    class_sizes: tuple[int, ...]
    images: bool = False
    photos: bool = False
    candidates: bool = False
    pixels: bool = False
    sparse: bool = False
    text: bool = False
    networks_only: bool = False
    columns: bool = False

    @classmethod
    def of(cls, dataset: Dataset) -> "Facts":
        pixels = dataset.is_images and dataset.dtype == torch.uint8 and dataset.shape[0] in (1, 3)
        source = dataset.inputs.inputs if isinstance(dataset.inputs, Rows) else dataset.inputs
        sparse, encoding = isinstance(source, SparseRows), dataset.reading.encoding
        return cls(
            len(dataset),
            dataset.shape,
            tuple(dataset.class_sizes.tolist()),
            images=dataset.is_images,
            photos=pixels and dataset.shape[0] == 3,
            candidates=dataset.candidates is not None,
            pixels=pixels,
            sparse=sparse,
            text=sparse or (encoding is not None and 2 * encoding.words > prod(dataset.shape)),
            columns=encoding is not None,
        )

    @property
    def is_table(self) -> bool:
        """Whether samples are rows of numbers with few columns."""
        return len(self.shape) == 1 and not self.text and self.shape[0] <= TABLE_WIDTH

    def as_features(self, width: int) -> "Facts":
        """The facts of the same samples behind a frozen network."""
        return self._replace(shape=(width,), images=False, photos=False, pixels=False, sparse=False, text=False)


class Pace(NamedTuple):
    """How fast a small network learns.

    Attributes:
        batch: Samples in a batch, at least and at most.
        lr: Learning rate of AdamW, falling along a cosine.
        steps: Steps of training on small data, within the limits of EPOCHS.
    """

    batch: tuple[int, int]
    lr: float
    steps: int


USUAL = Pace((16, 256), 1e-3, 1000)
OF_TABLES = Pace((64, 256), 4e-3, 500)  # half the time, and no worse: steps of 16 rows are mostly overhead
TABLE_WIDTH = 500  # features at most; more are words, pixels, or features of a network
EPOCHS = (20, 50)  # at least, at most
WIDTHS = ((2_000, 64), (20_000, 128))  # samples below this number: width of the hidden layers; otherwise 256
DROPOUT = 0.2
FIRST_LAYER = 4_000_000  # parameters of it, at most
ONE_THREAD = 1_000_000  # parameters of it at most: the steps of a smaller model are too short to be shared by threads
ROWS_PER_FEATURE = 2
JUDGE_SHARE = 0.1  # share of the samples that judges,
MIN_JUDGED_SAMPLES = 2_000  # if there are this many in classes of MIN_JUDGED_CLASS or more; fewer cannot decide
MIN_JUDGED_CLASS = 3  # samples of a class, without which none of it is held out
TREES = "boosted-trees"  # a model, and what looks beside networks
SPARE_META = 10  # steps per step of the weights on tables and texts: a tenth faster than 5, accuracy is the same
TREE_CLASSES = 30  # at most for boosted trees: each iteration makes a tree for each class
MAX_TREE_CLASSES = 1000  # if the user asks for them
TREE_WORK = 20_000_000  # samples times features times trees of an iteration, likewise
LINEAR_WORK = 1_000_000  # likewise for logistic regression too, which is ahead where there are few samples
MAX_POSTERIORS = 50_000_000  # samples times classes at most for two looks, which keep several numbers for each
MOST_ROWS = 20_000  # more rows make out-of-fold models too slow to be the default

MIN_PHOTO_SIDE = 16  # pixels; smaller images have too little in them,
MIN_GRAY_SIDE = 64  # and smaller gray ones are digits and the like, which photos teach nothing about
PRETRAINED = "efficientnet-lite0"
FROM_PIXELS = ("simclr", "cmw-net-sl+")  # methods that distort images, besides those that learn without labels
WORTH = "on 5,000 photos of CIFAR-10 with 40% wrong labels they reach 78% where a small network reaches 49%"

WEIGHING = options_of_method(METHODS["cmw-net-sl"]).keys() - options_of_method(METHODS["two-looks"]).keys()


class Choice(NamedTuple):
    """Some values of a plan by dotted key, and why they were chosen."""

    values: dict[str, Any]
    why: str


def chosen(facts: Facts, given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a plan: the sections that the user has given, and ``choose`` for everything else.

    Raises:
        RecipeError: Boosted trees are to learn too many classes.
    """
    given, classes = with_trees(given), len(facts.class_sizes)
    if str(_section(given, "method").get("beside")).startswith(TREES) and classes > MAX_TREE_CLASSES:
        raise RecipeError(
            f"boosted trees make a tree for each class in each iteration, and there are {classes:,} classes (allowed "
            f"are at most {MAX_TREE_CLASSES:,}); leave them out: method.beside=none"
        )
    values: dict[str, Any] = {}
    for choice in choose(facts, given):
        for key, value in choice.values.items():
            put(values, key.split("."), value)
    merge(values, given)
    return values


def with_trees(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The sections of the user with the model "boosted-trees" as the options of two looks that it stands for.

    >>> with_trees({"model": {"name": "boosted-trees"}})
    {'method': {'name': 'two-looks', 'beside': 'boosted-trees', 'only': True}}
    """
    if _section(given, "model").get("name") != TREES:
        return given
    method = {"name": "two-looks", "beside": TREES, "only": True, **_section(given, "method")}
    if method["name"] != "two-looks":
        raise RecipeError(f"model: 'boosted-trees' are trained by the method 'two-looks' only, got {method['name']!r}")
    return {**{key: value for key, value in given.items() if key != "model"}, "method": method}


def choose(facts: Facts, given: Mapping[str, Any]) -> list[Choice]:
    """Everything that a plan needs apart from the data.

    Args:
        given: The sections that the user has written; other choices follow from the method and from [train].
    """
    found = features(facts, given)
    if (width := feature_width(found, given)) is not None:
        facts = facts.as_features(width)
    train = _section(given, "train")
    wanted = _section(given, "method")
    name = wanted.get("name")
    trusted = META_SETS.get(_section(given, "meta_set").get("name", ""))
    weigh = name not in (None, "two-looks") or not WEIGHING.isdisjoint(wanted)
    weigh = weigh or ("meta_set" in given and (trusted is None or not trusted.vouched))
    beside = "model" not in given and width is None and not facts.networks_only
    how = method(facts, weigh, asked=name == "two-looks", beside=beside)
    two_looks = (name or how.values["method.name"]) == "two-looks"
    pace = OF_TABLES if two_looks and beside and facts.is_table else USUAL
    batch_size = _whole(train.get("batch_size")) or default_batch_size(facts.samples, pace)
    epochs = _whole(train.get("epochs")) or default_epochs(facts.samples, batch_size, pace)
    per_class = trusted_per_class(facts.class_sizes)
    trusting = {"meta_set.name": "lowest-loss", "meta_set.per_class": per_class, "meta_set.judge": "training"}
    another = _section(given, "optimizer").get("name", "adamw") != "adamw"  # which brings its own learning rate
    adamw = {} if another else {"optimizer.name": "adamw", "optimizer.lr": pace.lr}
    model, options = default_model(facts)
    small = "on the features" if width else f"for images{better(facts, given)}" if model == "cnn" else "for tables"
    return [
        *found,
        Choice(
            {"model.name": model, **{f"model.{key}": value for key, value in options.items()}},
            f"a small network {small}" if options.get("hidden") != [] else "a linear model: words of a text add up",
        ),
        how,
        *([] if two_looks else [Choice(trusting, "where weights are learned, on the easiest samples of each class")]),
        Choice(
            {
                "train.epochs": epochs,
                "train.batch_size": batch_size,
                "train.warmup_epochs": 0 if two_looks else warmup_epochs(epochs),
                "train.seed": 0,
            },
            f"{epochs * ceil(facts.samples / batch_size):,} steps"
            + (" at most in a look" if two_looks else "; the first tenth of the epochs is warm-up"),
        ),
        Choice({**adamw, "optimizer.schedule.name": "cosine"}, "usual for small networks"),
        decision(train),
        *([] if two_looks else [*judge(facts), *scoring(facts)]),
        *([] if "model" in given else threads(facts, model, options)),
        *augment(facts),
    ]


def features(facts: Facts, given: Mapping[str, Any]) -> list[Choice]:
    """A pretrained network in front of the model, if its weights are installed and the user wants no other way."""
    if not wants_features(facts, given) or not installed():
        return []
    return [Choice({"features.name": PRETRAINED}, "a frozen pretrained network; the model is trained on its features")]


def better(facts: Facts, given: Mapping[str, Any]) -> str:
    """How to get pretrained features if they are the better way and not installed; otherwise nothing."""
    if installed() or not wants_features(facts, given):
        return ""
    return f"; pip install 'reweigh[pretrained]' for features: {WORTH}"


def wants_features(facts: Facts, given: Mapping[str, Any]) -> bool:
    """Whether pretrained features are the better way: for images, unless these are tiny and gray."""
    asked = given.get("features", {})
    named = not isinstance(asked, Mapping) or "name" in asked  # an option such as features.size leaves the choice open
    if not facts.pixels or named or {"model", "augment"} & given.keys():
        return False
    if min(facts.shape[1:]) < (MIN_PHOTO_SIDE if facts.photos else MIN_GRAY_SIDE):
        return False
    name = str(_section(given, "method").get("name"))
    return name not in FROM_PIXELS and not (name in METHODS and METHODS[name].unlabeled)


def feature_width(found: list[Choice], given: Mapping[str, Any]) -> int | None:
    """The number of features that the model gets; None if it gets the samples themselves. A guess if unknown yet."""
    asked = given.get("features")
    name = asked.get("name") if isinstance(asked, Mapping) else asked
    return WIDTH if found or is_network(name) else None


def method(facts: Facts, weigh: bool = False, asked: bool = False, beside: bool = False) -> Choice:
    """How to train.

    Args:
        weigh: Whether to learn weights in a single training, because the user names an option of methods that do,
            another way to choose trusted samples, or another method.
        beside: Whether other classifiers may look too: the user has no network, and there is no frozen one.
    """
    if facts.candidates:
        return Choice({"method.name": "proden"}, "finds the right one of the candidates")
    cheap: dict[str, Any] = {"method.lookahead": "real", "method.engine": "difference"}
    if sum(facts.class_sizes) == facts.samples and not sizes_differ(torch.tensor(facts.class_sizes)):
        cheap["method.families"] = 1
    if facts.photos:  # from scratch a network is weak, and takes what it cannot learn for wrong labels
        return Choice({"method.name": "cmw-net-sl", **cheap}, "learns which labels to trust, corrects doubtful ones")
    if weigh:
        return Choice({"method.name": "cmw-net", **cheap}, "learns how much to trust each row")
    if facts.samples * len(facts.class_sizes) > MAX_POSTERIORS and not asked:
        why = f"learns how much to trust each row; two-looks needs much memory for {len(facts.class_sizes):,} classes"
        return Choice({"method.name": "cmw-net", **cheap}, why)
    why = "finds wrong labels in a first look, then learns again without them"
    if not beside or facts.images or len(facts.shape) != 1:
        return Choice({"method.name": "two-looks"}, why)
    if facts.text:  # with more words than samples, they add up; a matrix of the user's may be scaled in any way
        if prod(facts.shape) <= facts.samples or not facts.columns:
            return Choice({"method.name": "two-looks"}, why)
        values = {"method.name": "two-looks", "method.beside": "linear", "method.meta_every": SPARE_META}
        return Choice(values, f"{why}; networks and logistic regression together")
    classes = len(facts.class_sizes)
    work = facts.samples * prod(facts.shape) * (classes if classes > 2 else 1)
    if not (facts.is_table or facts.columns) or classes > TREE_CLASSES or work > TREE_WORK:
        return Choice({"method.name": "two-looks"}, f"{why}; without boosted trees, which would take too long")
    values = {"method.name": "two-looks", "method.beside": TREES, "method.meta_every": SPARE_META}
    if work > LINEAR_WORK:
        return Choice(values, f"{why}; networks and boosted trees together")
    values["method.beside"] = f"{TREES}+linear"
    return Choice(values, f"{why}; networks, boosted trees and logistic regression together")


def judge(facts: Facts) -> list[Choice]:
    """Samples that judge which epoch is kept, if there are enough."""
    if sum(size for size in facts.class_sizes if size >= MIN_JUDGED_CLASS) < MIN_JUDGED_SAMPLES or facts.candidates:
        return []
    return [
        Choice({"train.judge": JUDGE_SHARE}, "held-out samples decide which epoch is kept, before labels are memorized")
    ]


def decision(train: Mapping[str, Any]) -> Choice:
    """What to optimize, and for which class shares; the data that will be predicted are probably like those at hand."""
    if train.get("aim") == "balanced":
        return Choice({"train.class_shares": "uniform"}, "predictions for balanced accuracy: as if classes were equal")
    shares = {"train.aim": "accuracy", "train.class_shares": "estimated"}
    return Choice(shares, "predictions for the class shares of the true labels; train.aim=balanced for equal ones")


def scoring(facts: Facts) -> list[Choice]:
    """Out-of-fold predictions if those on the training samples carry no information; otherwise those, which are free.

    With fewer than two rows per feature a network memorizes all labels at once and predicts what it was given. Images
    have many values too, but a network for images cannot use each of them by itself.
    """
    wide = len(facts.shape) == 1 and facts.samples < ROWS_PER_FEATURE * facts.shape[0]
    if not wide or facts.samples > MOST_ROWS or facts.candidates:
        return []
    why = f"{facts.samples:,} rows with {facts.shape[0]:,} features are memorized almost at once"
    return [Choice({"train.scoring": "out-of-fold"}, f"{why}; each label is judged by models that did not see its row")]


def threads(facts: Facts, model: str, options: Mapping[str, Any]) -> list[Choice]:
    """One thread for a small perceptron: several would wait for each other in each of its many short operations.

    On a busy machine that wait is most of the time: three times the processor time was measured with two threads.
    """
    if model != "mlp" or prod(facts.shape) * [*options["hidden"], 1][0] > ONE_THREAD:
        return []
    return [Choice({"train.num_threads": 1}, "the steps of a small model are too short to split between threads")]


def augment(facts: Facts) -> list[Choice]:
    """Random changes of photos that keep their class."""
    if not facts.photos:
        return []
    padding = min(facts.shape[1:]) // 8  # the usual 4 pixels of 32
    shift = [{"name": "pad-crop", "padding": padding}] if padding else []
    return [Choice({"augment": [*shift, {"name": "flip"}]}, "color photos are shifted and mirrored at random")]


def default_batch_size(samples: int, pace: Pace = USUAL) -> int:
    """About fifty steps per epoch: a power of two within the limits of the pace, or all samples if there are fewer."""
    low, high = pace.batch
    wanted = 2 ** round(log2(max(samples / 50, 1)))
    return min(max(low, min(wanted, high)), samples)


def default_epochs(samples: int, batch_size: int, pace: Pace = USUAL) -> int:
    """As many as make the steps of the pace, but from 20 to 50: longer training memorizes more wrong labels."""
    low, high = EPOCHS
    return max(low, min(round(pace.steps / ceil(samples / batch_size)), high))


def warmup_epochs(epochs: int) -> int:
    """A tenth of the epochs, trained plainly before any weights are learned; at least one, and never all."""
    return min(max(1, round(0.1 * epochs)), epochs - 1)


def trusted_per_class(class_sizes: tuple[int, ...]) -> int:
    """Ten samples of each class are trusted, as in the paper, but at most half of a class of median size."""
    sizes = torch.tensor([size for size in class_sizes if size > 0])
    return max(1, min(10, int(sizes.median()) // 2))


def default_model(facts: Facts) -> tuple[str, dict[str, Any]]:
    """The name of a model and its options: a convolutional network for images, else a perceptron of two layers.

    The fewer the samples and the more the features, the narrower is the perceptron. With more words than samples it has
    no hidden layer: words add up, and hidden units only memorize wrong labels. The last layer for a table also gets the
    columns themselves: on small tables it is hard to be better than a linear model.
    """
    if facts.images and min(facts.shape[1:]) >= 4:
        return "cnn", {}
    if facts.text and prod(facts.shape) > facts.samples:
        return "mlp", {"hidden": []}
    wide = next((width for below, width in WIDTHS if facts.samples < below), 256)
    width = max(16, min(wide, FIRST_LAYER // prod(facts.shape)))
    more = {"skip": True} if facts.is_table else {"sparse": True} if facts.sparse else {}
    return "mlp", {"hidden": [width, width], "dropout": DROPOUT, **more}


def _section(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = given.get(name, {})
    return section if isinstance(section, Mapping) else {}  # the check reports anything else


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None  # the check reports anything else
