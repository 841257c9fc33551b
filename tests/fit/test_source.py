"""The data of a recipe with candidates or few labels in place of labels."""

import numpy as np
import pytest
import torch

from reweigh.errors import DataError, RecipeError
from reweigh.fit.fitting import usable
from reweigh.fit.run_folder import begin
from reweigh.fit.source import read_source, read_training_set
from reweigh.recipes.read import check, read


def _recipe(*overrides: str):
    return check(read("demo", overrides))


def read_data(data, seed):
    return read_training_set(data, seed)[0]


def test_candidates_hold_the_label_after_the_bias():
    data = _recipe("data.bias=[{name='symmetric', rate=0.2}]", "data.candidates={name='independent', q=0.3}").source
    train = read_data(data, 0)
    noisy = read_data(_recipe("data.bias=[{name='symmetric', rate=0.2}]").source, 0)
    assert train.candidates is not None
    assert train.true_labels is not None
    assert noisy.true_labels is not None
    assert bool(train.candidates.contain(noisy.labels).all())
    assert train.true_labels.equal(noisy.true_labels)
    assert int(train.candidates.counts.min()) == 2
    other = read_data(data, 1).candidates
    assert other is not None
    assert not torch.equal(other[:], train.candidates[:])


def test_a_method_that_needs_labels_trains_on_those_that_have_one(caplog: pytest.LogCaptureFixture):
    recipe = _recipe("data.bias=[]", "data.labeled=40", "method.name=erm")
    assert int(read_data(recipe.source, 0).labeled.sum()) == 40
    with caplog.at_level("INFO"):
        assert len(usable(read_data(recipe.source, 0), "erm")) == 40
    assert "have a label; method 'erm' trains on these only" in caplog.text


def test_both_at_once_are_refused():
    with pytest.raises(RecipeError, match=r"^data\.labeled and data\.candidates"):
        read_data(_recipe("data.labeled=40", "data.candidates={name='independent', q=0.3}").source, 0)


NOISE = "data.bias=[{name='feature-dependent-rival', rate=0.3}]"


def test_posteriors_from_a_file(tmp_path, caplog: pytest.LogCaptureFixture):
    clean = read_data(_recipe("data.bias=[]").source, 0)
    rival = (clean.labels + 1) % 10
    rows = 0.6 * np.eye(10)[clean.labels] + 0.4 * np.eye(10)[rival]
    np.save(tmp_path / "rows.npy", rows)
    with caplog.at_level("WARNING"):
        train = read_data(_recipe(NOISE, f"data.posteriors={tmp_path / 'rows.npy'}").source, 0)
    assert not caplog.text
    wrong = train.labels != clean.labels
    assert torch.equal(train.labels[wrong], rival[wrong])
    assert 0.2 < float(wrong.double().mean()) < 0.4


def test_posteriors_of_other_samples_are_refused(tmp_path):
    np.save(tmp_path / "rows.npy", np.full((7, 10), 0.1))
    with pytest.raises(DataError, match=r"data\.posteriors: .* holds \(7, 10\); should be one row for each of the \d+"):
        read_data(_recipe(NOISE, f"data.posteriors={tmp_path / 'rows.npy'}").source, 0)


def test_a_probe_in_their_place_is_reported(caplog: pytest.LogCaptureFixture):
    with caplog.at_level("WARNING"):
        read_data(_recipe(NOISE).source, 0)
    assert "linear probe, which is right for" in caplog.text
    assert "data.posteriors=FILE" in caplog.text


def test_further_test_sets_are_read_like_the_training_data_and_judged_by_name(tmp_path):
    import pandas as pd

    rows = pd.DataFrame({"a": [0.0, 1, 2, 3, 4, 5] * 20, "kind": ["u", "v", "w"] * 40})
    rows.to_csv(tmp_path / "train.csv", index=False)
    rows[:7].assign(kind=["w", "w", "v", "u", "w", "v", "v"]).to_csv(tmp_path / "other.csv", index=False)
    (tmp_path / "r.toml").write_text(
        f"""
        model = {{ name = "mlp", hidden = [4] }}
        method = {{ name = "erm" }}
        train = {{ epochs = 1 }}
        optimizer = {{ name = "sgd", lr = 0.0001 }}
        [data]
        name = "files"
        root = "{tmp_path}"
        path = "train.csv"
        label = "kind"
        further_tests = {{ other = "other.csv" }}
        """
    )
    plan = check(read(str(tmp_path / "r.toml"), []))
    found = begin(plan, tmp_path / "run").fit
    other = read_source(plan).further["other"]
    batch = other.batch(torch.arange(7))
    assert other.class_names == ("u", "v", "w")
    with torch.no_grad():
        right = (found.model(batch.inputs).argmax(1) == batch.labels).double().mean()
    assert found.history[-1]["test_other_accuracy"] == float(right)
    assert found.history[-1]["test_accuracy"] != float(right)
    with pytest.raises(DataError, match=r"data\.further_tests\.other: .*gone\.csv"):
        read_source(check(read(str(tmp_path / "r.toml"), ["data.further_tests.other=gone.csv"])))
    with pytest.raises(RecipeError, match=r"further_tests: got 'other\.csv'; give each a name, such as"):
        check(read(str(tmp_path / "r.toml"), ["data.further_tests=other.csv"]))
    with pytest.raises(RecipeError, match="further_tests"):
        check(read(str(tmp_path / "r.toml"), ["data.further_tests={'no name' = 'other.csv'}"]))


def test_clean_samples_are_set_apart_before_the_bias():
    noise = "data.bias=[{name='symmetric', rate=0.9}]"
    source = read_source(_recipe(noise, "data.clean=5", "meta_set={name='clean'}"))
    whole = read_source(_recipe("data.bias=[]")).train
    assert source.trusted is not None
    assert torch.bincount(source.trusted.labels).tolist() == [5] * 10
    label = dict(zip(whole.source_rows.tolist(), whole.labels.tolist(), strict=True))
    assert [label[row] for row in source.trusted.source_rows.tolist()] == source.trusted.labels.tolist()
    both = torch.cat([source.train.source_rows, source.trusted.source_rows])
    assert sorted(both.tolist()) == sorted(label)
    with pytest.raises(DataError, match=r"data.clean: 200 .* would leave none of class '8', which has"):
        read_source(_recipe("data.clean=200", "meta_set={name='clean'}"))
    for wrong in (["meta_set={name='clean'}"], ["data.clean=5"]):
        with pytest.raises(RecipeError, match=r"meta_set.path=FILE, or from data.clean=N"):
            read_source(_recipe(noise, *wrong))
