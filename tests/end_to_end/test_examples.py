"""The scripts of examples/ do what they say, each in less than sixty lines."""

import csv
import runpy
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def main_of(name: str, *needs: str) -> Callable[..., Any]:
    """The function of a script; skips where one of its libraries is missing."""
    for library in needs:
        if find_spec(library) is None:
            pytest.skip(f"{library} is not installed: pip install 'reweigh[examples]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the libraries
        return runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]


@pytest.fixture
def _lenient() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.usefixtures("_lenient")
@pytest.mark.parametrize(
    ("name", "library", "least"),
    [("accelerate_loop", "accelerate", 0.7), ("skorch_net", "skorch", 0.7), ("timm_model", "torch", 0.8)],
)
def test_models_learn_in_spite_of_wrong_labels(name: str, library: str, least: float) -> None:
    assert main_of(name, library)() > least


@pytest.mark.usefixtures("_lenient")
@pytest.mark.parametrize(
    ("name", "library"), [("huggingface_trainer", "transformers"), ("lightning_module", "lightning")]
)
def test_ours_is_ahead_of_plain_training(name: str, library: str) -> None:
    found = main_of(name, library)(seeds=1)
    assert found["ours"] > found["plain"]


@pytest.mark.usefixtures("_lenient")
def test_a_study_tries_several_methods() -> None:
    study = main_of("optuna_methods", "optuna")(trials=3)
    assert len({trial.params["method"] for trial in study.trials}) > 1
    assert study.best_value > 0.5


@pytest.mark.usefixtures("_lenient")
def test_every_epoch_is_logged(tmp_path: Path) -> None:
    with open(main_of("loggers")(tmp_path), newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == ["1", "2", "3", "4", "5"]
    assert float(rows[-1]["train_loss"]) < float(rows[0]["train_loss"])
    if find_spec("tensorboard") is not None:
        assert list((tmp_path / "tensorboard").iterdir())


def test_most_listed_labels_of_a_pipeline_are_wrong() -> None:
    assert main_of("pipeline_issues")() > 0.7


def test_weights_of_objects_help() -> None:
    plain, checked, ours = main_of("detection_weights")(seeds=1).values()
    assert plain < checked < ours - 0.1


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples_are_short_and_listed(script: Path) -> None:
    assert len(script.read_text().splitlines()) < 60
    assert f"`{script.name}`" in (EXAMPLES / "README.md").read_text()
