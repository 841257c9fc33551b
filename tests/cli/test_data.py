"""``reweigh data get`` says where the files are, and shows progress as the stream allows."""

import io

import pytest

from reweigh.cli.data import print_progress, watch


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
    assert result.stderr.endswith("file.gz: 4.0 of 4.0 MB\n")
    monkeypatch.setenv("REWEIGH_DATA", str(tmp_path / "other"))
    assert run("data", "get", "mnist").exit_code == 0
    assert download == [("mnist", tmp_path, "http://there"), ("mnist", tmp_path / "other", None)]


def test_wrong_names(run):
    assert "Did you mean 'fashion-mnist'?" in run("data", "get", "fashon-mnist").stderr
    result = run("data", "get", "digits")
    assert (result.exit_code, "nothing to get" in result.stderr) == (2, True)
    assert run("data").exit_code == 2


def test_plain_lines_are_few(capsys):
    for done in range(1 << 16, 100 << 16, 1 << 16):
        print_progress("file.gz", done, 100 << 16)
    print_progress("file.gz", 100 << 16, 100 << 16)
    print_progress("other.gz", 5, None)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert lines[-1] == "file.gz: 6.6 of 6.6 MB"


def test_a_terminal_gets_a_bar(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with watch() as progress:
        progress("file.gz", 1_000_000, 2_000_000)
        progress("file.gz", 2_000_000, 2_000_000)
    assert "file.gz" in stream.getvalue()
    assert "2.0/2.0 MB" in stream.getvalue()
