import hashlib

import pytest

from reweigh.errors import ModelError
from reweigh.files.whole import pinned

FILES = {"a.bin": hashlib.sha256(b"first").hexdigest(), "data/b.bin": hashlib.sha256(b"second").hexdigest()}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with both files, whose code must not run."""
    folder = tmp_path / "some_vectors"
    (folder / "data").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('it was run')")
    (folder / "a.bin").write_bytes(b"first")
    (folder / "data" / "b.bin").write_bytes(b"second")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def test_contents_in_order(package):
    assert pinned("x", "some_vectors", FILES, "extra") == [b"first", b"second"]


def test_files_that_are_changed_or_missing(package):
    (package / "data" / "b.bin").write_bytes(b"other")
    with pytest.raises(ModelError, match=r"^x: .*b\.bin is damaged or another .* --force-reinstall some-vectors$"):
        pinned("x", "some_vectors", FILES, "extra")
    (package / "a.bin").unlink()
    with pytest.raises(ModelError, match=r"a\.bin cannot be read \(No such file.*--force-reinstall"):
        pinned("x", "some_vectors", FILES, "extra")


def test_a_package_that_is_not_installed():
    with pytest.raises(ModelError, match=r"package no-such-package, .* pip install 'reweigh\[extra\]'$"):
        pinned("x", "no_such_package", FILES, "extra")
