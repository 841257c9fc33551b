"""``reweigh data get`` says where the files are, and shows progress as the stream allows."""

import pytest


@pytest.fixture
def download(monkeypatch):
    """A download without a network: writes one file, in four chunks."""
    calls = []

    def get(name, root, *, mirror, progress):
        calls.append((name, root, mirror))
        for done in range(1, 5):
            progress("file.gz", done * 1_000_000, 4_000_000)
        (root / name).mkdir(parents=True)
        (root / name / "file.gz").write_bytes(bytes(4_000_000))
        return root / name

    monkeypatch.setattr("reweigh.data.named.download.get", get)
    return calls


def test_get_says_where_the_files_are(run, download, tmp_path, monkeypatch):
    result = run("data", "get", "mnist", "--root", tmp_path, "--mirror", "http://there")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"mnist: 1 files, 4.0 MB, in {tmp_path / 'mnist'}", f"Next: reweigh inspect mnist --root {tmp_path}",
    ]  # fmt: skip
    assert "4,000 of 4,000 kB of file.gz" in result.stderr.splitlines()[-1]
    monkeypatch.setenv("REWEIGH_DATA", str(tmp_path / "other"))
    assert run("data", "get", "mnist").exit_code == 0
    assert download == [("mnist", tmp_path, "http://there"), ("mnist", tmp_path / "other", None)]


def test_wrong_names(run):
    assert "Did you mean 'fashion-mnist'?" in run("data", "get", "fashon-mnist").stderr
    result = run("data", "get", "digits")
    assert (result.exit_code, "nothing to download" in result.stderr) == (2, True)
    assert run("data").exit_code == 2


def test_a_server_that_does_not_say_how_much_there_is(run, monkeypatch, tmp_path):
    def get(name, root, *, mirror, progress):
        progress("other.gz", 5, None)
        return root

    monkeypatch.setattr("reweigh.data.named.download.get", get)
    assert run("data", "get", "mnist", "--root", tmp_path).exit_code == 0
