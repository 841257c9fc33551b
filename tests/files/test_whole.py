"""A file is written completely or not at all, whatever the disk does; errors name the folder and the remedy."""

import errno
import os

import pytest

from reweigh.errors import ReweighError, StorageError
from reweigh.files import append_line, write_whole


def failing(name, number, after=0):
    """A function of ``os`` that fails, after some calls that work."""
    works, calls = getattr(os, name), []

    def fail(*arguments, **options):
        calls.append(arguments)
        if len(calls) <= after:
            return works(*arguments, **options)
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, errno.EDQUOT, errno.EINTR])
@pytest.mark.parametrize(("name", "after"), [("fsync", 0), ("replace", 0), ("replace", 1)])
def test_a_failing_disk(tmp_path, monkeypatch, name, after, number):
    write_whole(tmp_path / "file", "old")
    keep = tmp_path / "before" if after else None
    monkeypatch.setattr(os, name, failing(name, number, after))
    with pytest.raises(StorageError, match=f"^{tmp_path}: file cannot be written there .*; .* folder|disk") as caught:
        write_whole(tmp_path / "file", "new", keep)
    assert caught.value.errno == number
    assert ".part" not in str(caught.value)
    assert isinstance(caught.value, ReweighError | OSError)
    monkeypatch.undo()
    assert [file.name for file in tmp_path.iterdir()] in (["file"], ["before"])
    assert next(tmp_path.iterdir()).read_text() == "old"


def test_the_file_before_is_kept(tmp_path):
    for number in range(4):
        write_whole(tmp_path / "file", str(number), tmp_path / "before")
    assert (tmp_path / "file").read_text() == "3"
    assert (tmp_path / "before").read_text() == "2"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_that_is_gone(tmp_path):
    for write in (write_whole, append_line):
        with pytest.raises(StorageError, match=r"gone: file cannot be written there .* the folder is gone"):
            write(tmp_path / "gone" / "file", "x")
