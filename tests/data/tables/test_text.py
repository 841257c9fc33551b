import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer

from reweigh.data.inputs import SparseRows
from reweigh.data.tables.encoding import Encoding, fit_encoding
from reweigh.data.tables.text import TEXT_FEATURES_LENGTH, fit_tf_idf
from reweigh.errors import DataError


def sentences(rows, seed=0):
    rng = np.random.default_rng(seed)
    words = np.array([f"word{number}" for number in range(60)])
    return [" ".join(rng.choice(words, 8)) for _ in range(rows)]


def test_words_and_pairs_as_scikit_learn_counts_them():
    texts = pd.Series(sentences(300), name="text")
    expected = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True, max_features=500).fit_transform(texts)
    found = fit_tf_idf(texts, 500)
    assert any(" " in word for word in found.words)
    np.testing.assert_allclose(found.apply(texts).toarray(), TEXT_FEATURES_LENGTH * expected.toarray())


def test_many_features_stay_sparse_and_come_back_from_json():
    frame = pd.DataFrame({"title": sentences(400), "body": sentences(400, 1), "size": np.arange(400.0)})
    encoding = fit_encoding(frame)
    rows = encoding.apply(frame)
    assert isinstance(rows, SparseRows)
    index = torch.tensor([3, 0])
    dense = np.concatenate(
        [
            part.toarray() if hasattr(part, "toarray") else part
            for part in (c.apply(frame[c.name]) for c in encoding.columns)
        ],
        axis=1,
    )
    np.testing.assert_allclose(rows[index].numpy(), dense[[3, 0]], rtol=1e-6)
    again = Encoding.from_json(encoding.to_json())
    assert again == encoding
    assert torch.equal(again.apply(frame)[index], rows[index])
    assert len(encoding.feature_names) == dense.shape[1]


def test_empty_cells_have_no_words():
    texts = pd.Series([None, "", *sentences(300)], name="text")
    assert abs(fit_tf_idf(texts, 500).apply(texts)[:2]).sum() == 0


def test_text_without_words():
    with pytest.raises(DataError, match="text without words"):
        fit_tf_idf(pd.Series(["! ?", "..."] * 200, name="text"), 500)


def test_no_rows():
    frame = pd.DataFrame({"note": [f"a word and {row % 7} more" for row in range(60)]})
    encoding = fit_encoding(frame, kinds={"note": "text"})
    assert encoding.apply(frame.iloc[:0]).shape == (0, len(encoding.feature_names))


def test_scripts_without_spaces():
    rng = np.random.default_rng(0)
    titles = ["".join(rng.choice(list("今天气很好我们去公园玩ニュース速報"), 12)) for _ in range(250)]
    frame = pd.DataFrame({"title": titles, "name": [title[:4] for title in titles]})
    encoding = fit_encoding(frame)
    assert [column.name for column in encoding.columns] == ["title"]  # a name in each row says nothing
    assert {"今", "天", "今 天"} <= {*encoding.columns[0].words}
    assert fit_tf_idf(pd.Series(["今天 iPhone 15发布"] * 2, name="text"), 9).words == (
        "15",
        "iphone",
        "今",
        "发",
        "天",
        "布",
    )
