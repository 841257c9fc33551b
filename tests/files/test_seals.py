"""Checksums of a folder: what was changed is named, and the list itself is guarded."""

import shutil
import subprocess

import pytest

from reweigh.errors import DataError
from reweigh.files import read_bytes, read_json, read_text, seal, unseal
from reweigh.files.whole import SUMS_NAME, sums


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.json").write_text('{"x": 1}')
    (tmp_path / "b c.csv").write_text("x\n1\n")
    seal(tmp_path, [tmp_path / "a.json", tmp_path / "b c.csv", tmp_path / "absent"])
    return tmp_path


def test_untouched_files_are_read(folder):
    assert read_json(folder / "a.json") == {"x": 1}
    assert read_text(folder / "b c.csv") == "x\n1\n"
    assert set(sums(folder)) == {"a.json", "b c.csv"}


def test_the_usual_program_can_check_them(folder):
    if shutil.which("sha256sum") is None:
        pytest.skip("no sha256sum")
    done = subprocess.run(["sha256sum", "--check", SUMS_NAME], cwd=folder, capture_output=True, text=True)
    assert done.stdout == "a.json: OK\nb c.csv: OK\n"


def test_a_changed_file_is_refused_by_name(folder):
    (folder / "a.json").write_text('{"x": 2}')
    with pytest.raises(DataError, match=r"a\.json: damaged or changed since it was written .* delete .*SHA256SUMS"):
        read_bytes(folder / "a.json")
    assert read_text(folder / "b c.csv") == "x\n1\n"


def test_every_bit_of_the_list_counts(folder):
    whole = (folder / SUMS_NAME).read_bytes()
    for position in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[position // 8] ^= 1 << position % 8
        (folder / SUMS_NAME).write_bytes(damaged)
        with pytest.raises(DataError, match=r"SHA256SUMS: the list of checksums is damaged"):
            read_bytes(folder / "a.json")
    for size in range(len(whole)):
        (folder / SUMS_NAME).write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"SHA256SUMS: the list of checksums is damaged"):
            read_bytes(folder / "a.json")


def test_unsealed_files_may_change(folder):
    unseal(folder, [folder / "a.json"])
    (folder / "a.json").write_text('{"x": 2}')
    assert read_json(folder / "a.json") == {"x": 2}
    assert set(sums(folder)) == {"b c.csv"}


@pytest.mark.parametrize("text", ["[1]", "{", "[" * 99999, '"x"', "\ud800".encode("utf-8", "surrogatepass")])
def test_not_a_json_object(tmp_path, text):
    (tmp_path / "a").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=r"a: "):
        read_json(tmp_path / "a")
