"""A table with text through an encoder, from a file to predictions."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
import torch

from reweigh import RobustClassifier
from reweigh.cli.export import Format, export
from reweigh.cli.predict import predict
from reweigh.cli.train import train
from reweigh.data.inputs import SparseRows
from reweigh.data.tables.encoding import Encoding
from reweigh.errors import ModelError
from reweigh.features.foreign import Tokens
from reweigh.fit.run_folder import load_model


def frame(rows=80):
    rng = np.random.default_rng(0)
    kinds = np.array([["good", "great", "fine"], ["bad", "poor", "awful"]])
    label = np.arange(rows) % 2
    title = [f"the {rng.choice(kinds[each])} film" for each in label]
    body = [f"a {rng.choice(kinds[each])} song of {place} words" for place, each in enumerate(label)]
    title[3] = title[8] = ""
    names = np.array(["yes", "no"])[label]
    return pd.DataFrame({"title": title, "body": body, "price": rng.normal(size=rows), "label": names})


def text_columns(tiny_bert):
    return ["features.name=hf:" + str(tiny_bert), "data.columns.title=text", "train.epochs=2", "train.batch_size=16"]


@pytest.fixture(scope="module")
def run(tiny_bert, tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    frame().to_csv(folder / "reviews.csv", index=False)
    train(data=str(folder / "reviews.csv"), overrides=text_columns(tiny_bert), out=folder / "run", trust_code=True)
    return folder / "run"


def test_a_run_keeps_how_text_was_read(run):
    form = json.loads((run / "inputs.json").read_text())
    assert form["shape"] == [2]
    assert form["width"] == 2 + 2 * 16
    assert [column["kind"] for column in form["encoding"]["columns"]] == ["plain text", "plain text", "number"]
    assert form["mean"][:2] == [0.0, 0.0]


def test_predict_is_the_same_way_by_hand(run, tmp_path):
    some = frame().drop(columns="label").iloc[:10]
    some.to_csv(tmp_path / "new.csv", index=False)
    predict(run, tmp_path / "new.csv", out=tmp_path / "out.csv", trust_code=True)
    found = [float(row["probability"]) for row in csv.DictReader((tmp_path / "out.csv").read_text().splitlines())]
    trained = load_model(run, trust_code=True)
    form, network = trained.inputs, trained.front.network
    mean, std = torch.tensor(form.mean), torch.tensor(form.std)
    encoder = form.encoding
    for row in range(10):
        parts = [encoder.apply(some.iloc[[row]]).rest[0]]
        for number, name in enumerate(("title", "body")):
            text, start = some[name].iloc[row], 2 + 16 * number
            with torch.no_grad():
                parts.append(network.module([text])[0] if text else mean[start : start + 16])
        with torch.no_grad():
            expected = trained.model(((torch.cat(parts) - mean) / std)[None]).softmax(1).max()
        assert found[row] == pytest.approx(float(expected), abs=1e-4)


def logits_of(file, rows):
    """What a file computes, by onnx's own evaluator, and its metadata."""
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    model = onnx.load(file)
    (logits,) = ReferenceEvaluator(model).run(None, {"inputs": rows})
    return logits


def test_export_says_what_is_left_to_the_caller_and_is_right_then(run, tmp_path, capsys):
    export(run, Format.onnx, out=tmp_path / "run.onnx", trust_code=True)
    said = capsys.readouterr().out
    assert "Encoding.from_json" in said
    assert "the network for text is not included" in said
    assert "2 of the other columns first, then 16 for each of 'title', 'body' by hf:" in said
    some = frame().iloc[:10]
    trained = load_model(run, trust_code=True)
    rows = [trained.inputs.encoding.apply(some).rest]
    for number, name in enumerate(("title", "body")):
        start = 2 + 16 * number
        mean = torch.tensor(trained.inputs.mean[start : start + 16])
        with torch.no_grad():
            parts = [trained.front.network.module([text])[0] if text else mean for text in some[name]]
        rows.append(torch.stack(parts))
    logits = logits_of(tmp_path / "run.onnx", torch.cat(rows, 1).numpy())
    some.drop(columns="label").to_csv(tmp_path / "new.csv", index=False)
    predict(run, tmp_path / "new.csv", out=tmp_path / "out.csv", trust_code=True)
    found = [float(row["probability"]) for row in csv.DictReader((tmp_path / "out.csv").read_text().splitlines())]
    assert torch.from_numpy(logits).softmax(1).amax(1).tolist() == pytest.approx(found, abs=1e-4)


def test_words_and_vectors_after_export_and_in_a_moved_run(tmp_path, monkeypatch):
    pytest.importorskip("wordllama")
    frame().to_csv(tmp_path / "reviews.csv", index=False)
    changes = ["features=wordllama", "train.epochs=2"]
    train(data=str(tmp_path / "reviews.csv"), overrides=changes, out=tmp_path / "first")
    export(tmp_path / "first", Format.onnx, out=tmp_path / "run.onnx")
    run = (tmp_path / "first").rename(tmp_path / "moved")
    (tmp_path / "reviews.csv").unlink()
    some = frame().drop(columns="label").iloc[:10]
    some.to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.chdir(run)
    predict(run, tmp_path / "new.csv", out=tmp_path / "out.csv")
    found = [float(row["probability"]) for row in csv.DictReader((tmp_path / "out.csv").read_text().splitlines())]
    onnx = pytest.importorskip("onnx")
    about = {each.key: each.value for each in onnx.load(tmp_path / "run.onnx").metadata_props}
    rows = Encoding.from_json(about["encoding"]).apply(some)
    dense = rows.matrix.toarray() if isinstance(rows, SparseRows) else rows.numpy()
    logits = logits_of(tmp_path / "run.onnx", dense.astype(np.float32))
    assert torch.from_numpy(logits).softmax(1).amax(1).tolist() == pytest.approx(found, abs=1e-4)


def test_what_needs_trust_and_what_cannot_be(run, tiny_bert, tmp_path):
    data, changes = str(run.parent / "reviews.csv"), text_columns(tiny_bert)
    with pytest.raises(ModelError, match="--trust-code"):
        train(data=data, overrides=changes, out=tmp_path / "run")
    with pytest.raises(ModelError, match="--trust-code"):
        predict(run, run.parent / "reviews.csv")
    assert not (tmp_path / "run").exists()


def test_the_estimator_saves_and_loads(tiny_bert, tmp_path, monkeypatch):
    X = frame()
    y = X.pop("label")
    classifier = RobustClassifier(features=f"hf:{tiny_bert}", epochs=2, batch_size=16, random_state=0).fit(X, y)
    classifier.save(tmp_path / "c.safetensors")
    with pytest.raises(ModelError, match="trust_code=True"):
        RobustClassifier.load(tmp_path / "c.safetensors")
    again = RobustClassifier.load(tmp_path / "c.safetensors", trust_code=True)
    monkeypatch.setattr(Tokens, "forward", lambda self, texts: pytest.fail("these texts are cached"))
    assert np.array_equal(again.predict_proba(X), classifier.predict_proba(X))
