"""Encoders of text, against plain loops over the same models."""

import json
import shutil
import sys
from importlib import import_module
from types import ModuleType

import pytest
import torch

from reweigh.errors import DataError, ModelError
from reweigh.features import build
from reweigh.features.extract import extract
from reweigh.features.foreign import Texts
from reweigh.threads import threads

TEXTS = ["good film", "bad", "", "the film of the good song of a film of a great song of a bad film", "unheard of"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REWEIGH_CACHE", str(tmp_path))


def by_hand(folder, text):
    """The mean over the tokens of one text, which needs no mask."""
    import transformers

    model = transformers.BertModel.from_pretrained(folder).eval()
    ids = transformers.AutoTokenizer.from_pretrained(folder)(text, truncation=True, max_length=12)["input_ids"]
    with torch.no_grad():
        return model(torch.tensor([ids])).last_hidden_state[0].mean(0)


def test_the_mean_over_tokens_whatever_the_batch(tiny_bert):
    network = build(f"hf:{tiny_bert}", (), trust_code=True)
    assert network.width == 16
    rows = extract(Texts(TEXTS), network).rows
    for row, text in zip(rows, TEXTS, strict=True):
        torch.testing.assert_close(row, by_hand(tiny_bert, text), rtol=1e-4, atol=1e-5)


def test_several_threads_at_once(tiny_bert):
    network = build(f"hf:{tiny_bert}", (), trust_code=True)
    texts = [f"{'good ' * (place % 9)}film {place}" for place in range(1500)]
    with threads(1):
        alone = extract(Texts(texts), network, cache=False).rows
    with threads(4):
        together = extract(Texts(texts), network, cache=False).rows
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


def test_each_text_is_computed_once(tiny_bert, monkeypatch):
    first, again = (build(f"hf:{tiny_bert}", (), trust_code=True) for _ in range(2))
    rows = extract(Texts(TEXTS), first).rows
    monkeypatch.setattr(type(again.module), "forward", lambda self, texts: pytest.fail("it was called"))
    assert extract(Texts(TEXTS[::-1]), again).rows.equal(rows.flip(0))


def test_another_tokenizer_has_another_cache(tiny_bert, tmp_path):
    other = tmp_path / tiny_bert.name
    shutil.copytree(tiny_bert, other)
    words = json.loads((other / "tokenizer.json").read_text())
    vocab = words["model"]["vocab"]
    vocab["good"], vocab["bad"] = vocab["bad"], vocab["good"]
    (other / "tokenizer.json").write_text(json.dumps(words))
    keys = [build(f"hf:{folder}", (), trust_code=True).key().split("-")[-1] for folder in (tiny_bert, tiny_bert, other)]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.filterwarnings("ignore")
def test_sentence_transformers(tiny_bert, tmp_path):
    package = pytest.importorskip("sentence_transformers")
    models = import_module("sentence_transformers.models")
    parts = [models.Transformer(str(tiny_bert)), models.Pooling(16, pooling_mode="cls")]
    model = package.SentenceTransformer(modules=parts, device="cpu")
    model.save(str(tmp_path / "model"))
    network = build(f"sentence-transformers:{tmp_path / 'model'}", (), trust_code=True)
    rows = extract(Texts(TEXTS), network).rows
    torch.testing.assert_close(rows, torch.from_numpy(model.encode(TEXTS)), rtol=1e-4, atol=1e-5)


def test_what_is_missing_in_a_folder(tiny_bert, tmp_path):
    for absent, words in (("model.safetensors", "no file named model.safetensors"), ("tokenizer.json", "no words")):
        folder = tmp_path / absent.split(".")[0]
        shutil.copytree(tiny_bert, folder)
        (folder / absent).unlink()
        (folder / "tokenizer_config.json").unlink()
        with pytest.raises(ModelError, match=words):
            build(f"hf:{folder}", (), trust_code=True)
    with pytest.raises(ModelError, match=r"there is no folder \./nowhere"):
        build("hf:./nowhere", (), trust_code=True)


def test_a_hub_that_cannot_be_reached(monkeypatch):
    class Auto:
        @staticmethod
        def from_pretrained(name, **options):
            raise OSError("We couldn't connect\nand more")

    module = ModuleType("transformers")
    vars(module).update(AutoModel=Auto, AutoTokenizer=Auto)
    monkeypatch.setitem(sys.modules, "transformers", module)
    with pytest.raises(ModelError, match=r"'hf:org/bert'.*OSError: We couldn't connect\).*hf:\./FOLDER"):
        build("hf:org/bert", (), trust_code=True)


def test_a_package_that_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ModelError, match="pip install sentence-transformers"):
        build("sentence-transformers:tiny", (), trust_code=True)


def test_samples_of_another_kind(tiny_bert):
    with pytest.raises(ModelError, match="--trust-code"):
        build(f"hf:{tiny_bert}", ())
    with pytest.raises(ModelError, match=r"for images, but the samples have text; give hf:NAME"):
        build("timm:resnet18", (), trust_code=True)
    with pytest.raises(DataError, match="for text, but the samples are images"):
        build("sentence-transformers:tiny", (3, 8, 8), trust_code=True)
    with pytest.raises(DataError, match="needs images or text, and no column is text"):
        build("hf:tiny", (5,), trust_code=True)
    with pytest.raises(DataError, match="rows of a table with text"):
        build("efficientnet-lite0", ())
    with pytest.raises(ModelError, match=r"features\.resize"):
        build(f"hf:{tiny_bert}", (), trust_code=True, resize="pad")
