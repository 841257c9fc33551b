"""A file holds all of a trained classifier, and nothing that can run."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file
from scipy import sparse
from torch import nn

from reweigh import DataError, ModelError, RobustClassifier
from reweigh.files.tensors import pack, unpack


def assert_same(a, b, X):
    assert np.array_equal(a.predict_proba(X), b.predict_proba(X))
    assert a.classes_.dtype == b.classes_.dtype
    for name in ("classes_", "sample_weight_", "suggested_labels_"):
        assert np.array_equal(getattr(a, name), getattr(b, name))
    pd.testing.assert_frame_equal(a.label_issues_, b.label_issues_)
    pd.testing.assert_frame_equal(a.history_, b.history_)
    assert a.n_features_in_ == b.n_features_in_
    if a.weighting_ is not None:
        assert np.array_equal(a.weighting_([0.1, 3], 0), b.weighting_([0.1, 3], 0))


@pytest.mark.parametrize(
    "labels", [[0, 1, 2], ["a", "b", "c"], [True, False, False], [-1.0, 0.0, 5.0], np.array(["ä", "b", "c"], object)]
)
@pytest.mark.parametrize("method", ["cmw-net", "erm"])
def test_all_comes_back(labels, method, blobs, quick, tmp_path):
    X, _, given = blobs
    classifier = quick(method, method_options={"every": 2} if method == "cmw-net" else None)
    classifier.fit(X, np.asarray(labels)[given]).save(tmp_path / "model")
    loaded = RobustClassifier.load(tmp_path / "model")
    assert_same(classifier, loaded, X)
    assert loaded.get_params() == classifier.get_params()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_tables_sparse_matrices_and_images(quick, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    frame = pd.DataFrame({"n": rng.normal(size=60), "kind": rng.choice(["x", "y"], 60), "text": ["a b c", "b d"] * 30})
    images = rng.integers(0, 255, (60, 3, 8, 8), dtype=np.uint8)
    for X in (frame, sparse.csr_array(rng.random((60, 9)).round()), images):
        classifier = quick(class_weight={0: 2.0, 1: 1.0}).fit(X, y)
        classifier.save(tmp_path / "model.safetensors")
        loaded = RobustClassifier.load(tmp_path / "model.safetensors")
        assert_same(classifier, loaded, X)
        assert loaded.class_weight == {0: 2.0, 1: 1.0}
    assert getattr(loaded, "feature_names_in_", None) is None


def test_names_of_columns_are_known_after_loading(quick, tmp_path):
    frame = pd.DataFrame({"a": np.arange(20.0), "b": 1.0})
    quick().fit(frame, np.arange(20) % 2).save(tmp_path / "model")
    with pytest.raises(ValueError, match="feature names should match"):
        RobustClassifier.load(tmp_path / "model").predict(frame.rename(columns={"a": "c"}))


def test_a_network_of_ones_own_is_needed_again(blobs, quick, tmp_path):
    X, _, given = blobs
    classifier = quick(model=nn.Linear(6, 3)).fit(X, given)
    classifier.save(tmp_path / "model")
    with pytest.raises(
        ModelError, match=r"trained with a network of its own \(Linear\); pass it again: load\(path, model="
    ):
        RobustClassifier.load(tmp_path / "model")
    network = nn.Linear(6, 3)
    loaded = RobustClassifier.load(tmp_path / "model", model=network)
    assert_same(classifier, loaded, X)
    assert loaded.model is network
    with pytest.raises(ModelError, match="not the weights of this network; pass the one"):
        RobustClassifier.load(tmp_path / "model", model=nn.Sequential(nn.Linear(6, 3)))


def test_what_is_no_classifier_is_refused(tmp_path):
    path = tmp_path / "file"
    with pytest.raises(
        DataError, match=r"file: cannot be read \(No such file.*\); give a classifier that reweigh saved"
    ):
        RobustClassifier.load(path)
    path.write_text("something else")
    with pytest.raises(DataError, match=r"not a safetensors file, .*; give a classifier that reweigh saved"):
        RobustClassifier.load(path)
    save_file({"weight": torch.zeros(2)}, path)
    with pytest.raises(DataError, match=r"has no checksum, .*; give a classifier that reweigh saved"):
        RobustClassifier.load(path)
    path.write_bytes(pack({"weight": torch.zeros(2)}, {}))
    with pytest.raises(DataError, match="a safetensors file, but not a classifier that reweigh saved"):
        RobustClassifier.load(path)
    path.write_bytes(pack({}, {"kind": "reweigh classifier", "version": "99", "content": "{}"}))
    with pytest.raises(DataError, match=r"written by another version of reweigh \(format 99, not 5\)"):
        RobustClassifier.load(path)


def test_a_file_cannot_name_code_for_the_next_fit(blobs, quick, tmp_path):
    """The network in the file is harmless; the parameter, which only fit() reads, is not."""
    X, _, given = blobs
    quick().fit(X, given).save(tmp_path / "model")
    tensors, about = unpack((tmp_path / "model").read_bytes(), "model")
    content = json.loads(about["content"])
    content["more"]["params"]["model"] = "somewhere:run"
    (tmp_path / "model").write_bytes(pack(tensors, about | {"content": json.dumps(content)}))
    with pytest.raises(ModelError, match=r"'somewhere:run' is code outside reweigh.* trust_code=True"):
        RobustClassifier.load(tmp_path / "model")
    assert RobustClassifier.load(tmp_path / "model", trust_code=True).model == "somewhere:run"


def test_labels_that_are_not_plain_are_not_saved(blobs, quick, tmp_path):
    X, _, given = blobs
    days = np.array(["2024-01-01", "2024-01-02", "2024-01-03"], dtype="datetime64[D]")[given]
    classifier = quick().fit(X, given)
    classifier.classes_ = np.unique(days)
    with pytest.raises(DataError, match="not saved, date cannot be stored"):
        classifier.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_the_header_is_readable(blobs, quick, tmp_path):
    from safetensors import safe_open

    X, _, given = blobs
    quick().fit(X, given).save(tmp_path / "model")
    with safe_open(tmp_path / "model", "pt") as file:
        content = json.loads(file.metadata()["content"])
    assert content["more"]["params"]["method"] == "cmw-net"
    assert content["plan"]["model"]["name"] == "mlp"
