"""Small stand-ins for every table, so that recipes are tested apart from the parts they choose; and a browser."""

import os
import shutil
import signal
import sys
from types import SimpleNamespace
from typing import Annotated, Literal

# Some virtual machines report AMX and trap when it is used; oneDNN looks at this before its first kernel.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")

# A shell makes processes in the background ignore Ctrl-C, and they hand that on; here it is tested.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest
from annotated_types import Ge, Le

from reweigh.core.method import Method
from reweigh.plan import plan

# A device is registered for the whole process, where other tests would find it: tests/core/test_device.py runs these.
collect_ignore = [] if os.environ.get("REWEIGH_TEST_DEVICE") else ["device"]


def digits(root, *, size: int = 10):
    """Fake data."""


def noise(labels, num_classes: int, seed: int, *, rate: Annotated[float, Ge(0), Le(1)]):
    """Fake bias."""


def tail(labels, num_classes: int, seed: int, *, factor: float = 10.0, order: Literal["up", "down"] = "up"):
    """Fake bias."""


def independent(labels, num_classes: int, seed: int, *, q: Annotated[float, Ge(0), Le(1)]):
    """Fake candidates."""


def flip(*, probability: float = 0.5):
    """Fake transform."""


def mlp(shape, num_classes: int, *, hidden: tuple[int, ...] = (8, 8), dropout: float = 0.0, width: int | str = 1):
    """Fake model."""
    return ("mlp", shape, num_classes, hidden, dropout)


class Plain(Method):
    """Fake method without options."""

    def __init__(self, setup) -> None:
        pass


class Weighted(Method):
    """Fake method."""

    def __init__(self, setup, *, families: int = 3, every: int = 1, engine: str = "forward") -> None:
        pass


class Single(Method):
    """Fake method."""

    def __init__(self, setup, *, every: int = 1, engine: str = "forward") -> None:
        pass


def sgd(params, *, lr: float, momentum: float = 0.9):
    """Fake optimizer."""


def cosine(optimizer, epochs: int, *, floor: float = 0.0):
    """Fake schedule."""


def lowest_loss(*, per_class: int = 10, mixup: bool = False):
    """Fake meta set."""


def no_options(*arguments):
    """Fake part."""


FAKES = {
    "methods": {"erm": Plain, "mw-net": Single, "cmw-net": Weighted},
    "engines": {"forward": no_options, "unrolled": no_options},
    "weight-nets": {"class-aware": no_options},
    "losses": {"cross-entropy": no_options},
    "meta-sets": {"lowest-loss": lowest_loss},
    "datasets": {"digits": digits},
    "biases": {"noise": noise, "tail": tail},
    "candidates": {"independent": independent, "pairs": independent},
    "transforms": {"flip": flip},
    "features": {"none": no_options},
    "models": {"mlp": mlp},
    "optimizers": {"sgd": sgd},
    "schedules": {"constant": no_options, "cosine": cosine},
}

RECIPE = """
[data]
name = "digits"
bias = [{ name = "noise", rate = 0.4 }]
[model]
name = "mlp"
hidden = [16]
[method]
name = "cmw-net"
families = 2
every = 5
[train]
epochs = 4
warmup_epochs = 1
batch_size = 8
[optimizer]
name = "sgd"
lr = 1
schedule = { name = "cosine" }
"""


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """Features are not stored among the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REWEIGH_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def fake_tables(monkeypatch):
    """Point every table to its stand-in."""
    assert FAKES.keys() == plan.TABLES.keys()
    names = {table: table.replace("-", "_") for table in FAKES}
    module = SimpleNamespace(**{names[table]: members for table, members in FAKES.items()})
    monkeypatch.setitem(sys.modules, "fake_parts", module)
    for table, (kind, *_) in list(plan.TABLES.items()):
        monkeypatch.setitem(plan.TABLES, table, plan.Table(kind, f"fake_parts:{names[table]}"))


@pytest.fixture
def recipe_file(tmp_path):
    """A correct recipe on disk."""
    path = tmp_path / "good.toml"
    path.write_text(RECIPE)
    return path


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium, or the one that $CHROMIUM names; without it the tests are skipped, but not in CI."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if path is None and not os.environ.get("CI"):
        pytest.skip("no chromium; install it (Debian: apt-get install chromium) or set CHROMIUM to its path")
    assert path, "no chromium to test the page in; .ci/run installs it"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory):
    """The folder of an encoder of transformers with random weights that knows a few words."""
    tokenizers, transformers = (pytest.importorskip(name) for name in ("tokenizers", "transformers"))
    import torch

    plain = ["good", "great", "fine", "bad", "poor", "awful", "film", "song", "the", "of", "a"]
    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *plain]
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: n for n, word in enumerate(known)}, "[UNK]"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    words.post_processor = tokenizers.processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    named = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = transformers.BertConfig(vocab_size=len(known), max_position_embeddings=12, **size)
        model = transformers.BertModel(config)
    folder = tmp_path_factory.mktemp("tiny-bert")
    model.save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, **named).save_pretrained(folder)
    return folder
