"""Words and token vectors of a text column, against a loop over texts."""

import numpy as np
import pandas as pd
import pytest

from reweigh import RobustClassifier
from reweigh.data.inputs import SparseRows
from reweigh.data.tables.encoding import Encoding, fit_encoding
from reweigh.data.tables.text import fit_words_and_vectors, loaded, mean_vectors
from reweigh.errors import DataError, ModelError

pytest.importorskip("wordllama")
TEXTS = ["the cat sat on the mat", "stocks fell sharply today", "the cat sat on the mat", None, "a dog barked at night"]


@pytest.fixture
def fresh():
    loaded.cache_clear()
    yield
    loaded.cache_clear()


def by_hand(text):
    tokenizer, table = loaded()
    return np.mean([table[token] for token in tokenizer.encode(text, add_special_tokens=False).ids], axis=0)


def test_the_mean_over_tokens_with_mean_0_and_deviation_1():
    values = pd.Series(TEXTS, name="text")
    column = fit_words_and_vectors(values, 100)
    rows = column.apply(values).toarray()
    assert rows.shape == (5, len(column.feature_names)) == (5, len(column.words.words) + 256)
    np.testing.assert_allclose(rows[:, :-256], column.words.apply(values).toarray())
    raw = np.stack([by_hand(text) for text in TEXTS if text])
    np.testing.assert_allclose(rows[[0, 1, 2, 4], -256:], (raw - raw.mean(0)) / raw.std(0), rtol=1e-3, atol=1e-4)
    assert not rows[3].any()


def test_tokens_have_their_own_vectors():
    rows = mean_vectors(["my cat is a small animal", "dogs are animals too", "the bank raised its interest rates"])
    cat, dog, bank = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert cat @ dog > cat @ bank + 0.1


def test_the_same_features_after_json():
    frame = pd.DataFrame({"text": TEXTS * 5, "size": np.arange(25.0) ** 1.5})
    encoding = fit_encoding(frame, kinds={"text": "text"}, text="wordllama")
    first, second = (each.apply(frame) for each in (encoding, Encoding.from_json(encoding.to_json())))
    assert not isinstance(first, SparseRows)
    assert first.equal(second)
    assert encoding.words == first.shape[1] - 1


def test_the_estimator_saves_and_loads(tmp_path):
    X = pd.DataFrame({"text": [f"{word} number {place}" for place in range(20) for word in ("cat", "bank")]})
    y = ["animal", "money"] * 20
    classifier = RobustClassifier(features="wordllama", epochs=2, random_state=0).fit(X, y)
    assert classifier._fit.front is None
    classifier.save(tmp_path / "c.safetensors")
    new = pd.DataFrame({"text": ["dog", "loan", ""]})
    assert np.array_equal(
        RobustClassifier.load(tmp_path / "c.safetensors").predict_proba(new), classifier.predict_proba(new)
    )


def test_no_text():
    with pytest.raises(DataError, match="'wordllama': no column is text"):
        fit_encoding(pd.DataFrame({"size": [1.5, 2.5, 3.5]}), text="wordllama")


def test_missing_package_names_the_extra(fresh, monkeypatch):
    monkeypatch.setattr("reweigh.files.whole.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"not installed; install it: pip install 'reweigh\[wordllama\]'"):
        mean_vectors(["a"])
