"""A short run of benchmarks/fuzz.py: whatever a file contains, reading it ends in a result or in an error of ours.

The good files come from an archive, so that each run reads the same bytes. After a change of a format, write it anew:

    python benchmarks/fuzz.py --write-seeds tests/end_to_end/fuzz-seeds.zip
"""

import runpy
import zipfile
from pathlib import Path

import pytest

FUZZ = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "fuzz.py"))
ROUNDS = 20

# What longer runs have found: target, and a change of its good file
FOUND = [
    ("run: metrics.jsonl", lambda good: good.replace(b'"epoch": 1', b'"epoch": 1' + b"1" * 400)),
    ("run: classes.json", lambda good: good.replace(b'"sizes": [', b'"sizes": [1e999, ')),
    ("feather", lambda good: good.replace(b"float64", b"floatt4")),
    ("hostile estimator", lambda good: good.replace(b"<U3", b"<U499999999")),
    ("hostile estimator", lambda good: good.replace(rb"\"params\": {", rb"\"params\": {\"gone\": 1, ")),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Good files of every kind."""
    folder = tmp_path_factory.mktemp("fuzz")
    with zipfile.ZipFile(Path(__file__).with_name("fuzz-seeds.zip")) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def targets(folder):
    return FUZZ["targets"](folder)


def test_the_good_files_are_read(targets, folder):
    _, *again = (name for name in targets if name.startswith("page"))  # the page of the same good run
    for name, target in targets.items():
        if name in again:
            continue
        for good in target.seeds:
            assert FUZZ["outcome"](target, good, folder) == ("read", None), name


def test_a_few_rounds(targets, folder):
    quick = {name: target for name, target in targets.items() if not name.startswith("page")}
    rounds, findings = FUZZ["fuzz"](quick, folder, 0, lambda number: number == ROUNDS)
    assert not findings, "\n".join(findings.values())
    assert set(rounds.values()) == {ROUNDS}


@pytest.mark.parametrize(("name", "change"), FOUND)
def test_what_was_found_is_refused(targets, folder, name, change):
    (good, *_) = targets[name].seeds
    assert change(good) != good
    end, trouble = FUZZ["outcome"](targets[name], change(good), folder)
    assert trouble is None, trouble
    assert end != "read"
