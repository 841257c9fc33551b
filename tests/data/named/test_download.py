import gzip
import hashlib
import io
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from reweigh.data.named import download
from reweigh.data.named.download import SOURCES, Source, fetch, get
from reweigh.errors import DataError

CONTENT = bytes(range(256)) * 4000  # a megabyte
MD5 = hashlib.md5(CONTENT).hexdigest()


class Server:
    """A real server on loopback; can break off in the middle, and refuse to resume."""

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.break_off_after: int | None = None
        self.resumes = True
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.answer(self)

            def log_message(self, format, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def answer(self, request):
        wanted = request.headers.get("Range")
        self.asked.append((request.path, wanted))
        body = self.files.get(request.path)
        if body is None:
            return request.send_error(404)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.resumes else 0
        if start >= len(body):
            return request.send_error(416)
        request.send_response(206 if start else 200)
        request.send_header("Content-Length", str(len(body) - start))
        request.end_headers()
        stop = len(body) if self.break_off_after is None else self.break_off_after
        return request.wfile.write(body[start:stop])

    def close(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Server()
    yield server
    server.close()


def test_a_file_is_fetched_with_progress(server, tmp_path):
    server.files["/file.bin"] = CONTENT
    seen = []
    target = fetch(f"{server.url}/file.bin", MD5, tmp_path / "deep" / "file.bin", lambda *step: seen.append(step))
    assert target.read_bytes() == CONTENT
    assert seen[-1] == ("file.bin", len(CONTENT), len(CONTENT))
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert [path.name for path in target.parent.iterdir()] == ["file.bin"]


def test_a_download_that_broke_off_is_continued(server, tmp_path):
    server.files["/file.bin"] = CONTENT
    server.break_off_after = 300_000
    with pytest.raises(DataError, match=r"could not be downloaded .*try again .*, or download it by hand into"):
        fetch(f"{server.url}/file.bin", MD5, tmp_path / "file.bin")
    assert not (tmp_path / "file.bin").exists()
    partial = (tmp_path / "file.bin.part").stat().st_size
    assert 0 < partial <= 300_000
    server.break_off_after = None
    assert fetch(f"{server.url}/file.bin", MD5, tmp_path / "file.bin").read_bytes() == CONTENT
    assert server.asked[-1] == ("/file.bin", f"bytes={partial}-")
    assert [path.name for path in tmp_path.iterdir()] == ["file.bin"]


def test_a_server_that_cannot_resume_sends_it_all_again(server, tmp_path):
    server.files["/file.bin"] = CONTENT
    server.resumes = False
    (tmp_path / "file.bin.part").write_bytes(b"something else")
    assert fetch(f"{server.url}/file.bin", MD5, tmp_path / "file.bin").read_bytes() == CONTENT


def test_nothing_is_kept_on_a_wrong_checksum(server, tmp_path):
    server.files["/file.bin"] = CONTENT + b"!"
    with pytest.raises(DataError, match=f"wrong checksum, not the MD5 {MD5} of the official file; nothing was kept"):
        fetch(f"{server.url}/file.bin", MD5, tmp_path / "file.bin")
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_beginning_is_not_kept_either(server, tmp_path):
    server.files["/file.bin"] = CONTENT
    (tmp_path / "file.bin.part").write_bytes(b"wrong" * 100)
    with pytest.raises(DataError, match="wrong checksum"):
        fetch(f"{server.url}/file.bin", MD5, tmp_path / "file.bin")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file.bin.part").write_bytes(CONTENT * 2)
    with pytest.raises(DataError, match="was too long and was deleted"):
        fetch(f"{server.url}/file.bin", MD5, tmp_path / "file.bin")
    assert list(tmp_path.iterdir()) == []


def test_absent_files_and_no_server(server, tmp_path):
    with pytest.raises(DataError, match=r"none\.bin: could not be downloaded \(HTTPError: 404"):
        fetch(f"{server.url}/none.bin", MD5, tmp_path / "none.bin")
    with pytest.raises(DataError, match="ConnectionError"):
        fetch("http://127.0.0.1:1/file.bin", MD5, tmp_path / "file.bin")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def tiny(monkeypatch, server):
    """Two datasets like the real ones, on the loopback server: zipped files, and an archive."""
    zipped = {f"{name}.gz": gzip.compress(name.encode()) for name in ("images", "labels")}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in (("folder/one.bin", b"one"), ("folder/two.bin", b"two")):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    archive = {"all.tar.gz": buffer.getvalue()}
    server.files |= {f"/{name}": content for name, content in (zipped | archive).items()}

    def sums(files):
        return {name: hashlib.md5(content).hexdigest() for name, content in files.items()}

    monkeypatch.setitem(SOURCES, "zipped", Source("zipped", server.url, sums(zipped), ("images", "labels")))
    monkeypatch.setitem(
        SOURCES, "packed", Source("folder", "http://127.0.0.1:1/", sums(archive), ("one.bin", "two.bin"))
    )
    return server


def test_get_fetches_what_is_missing_and_nothing_else(tiny, tmp_path):
    (tmp_path / "zipped").mkdir()
    (tmp_path / "zipped" / "images").write_bytes(b"of the user")
    folder = get("zipped", tmp_path)
    assert (folder / "images").read_bytes() == b"of the user"
    assert gzip.decompress((folder / "labels.gz").read_bytes()) == b"labels"
    assert [path for path, _ in tiny.asked] == ["/labels.gz"]
    get("zipped", tmp_path)
    assert len(tiny.asked) == 1


def test_get_unpacks_an_archive_from_a_mirror(tiny, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "one.bin").write_bytes(b"of the user")
    folder = get("packed", tmp_path, mirror=tiny.url)
    assert (folder / "one.bin").read_bytes() == b"of the user"
    assert (folder / "two.bin").read_bytes() == b"two"
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_wrong_archive_leaves_nothing(tiny, tmp_path):
    tiny.files["/all.tar.gz"] += b"!"
    with pytest.raises(DataError, match="wrong checksum"):
        get("packed", tmp_path, mirror=tiny.url)
    assert list(tmp_path.iterdir()) == []


def test_an_archive_of_something_else(tmp_path):
    with tarfile.open(tmp_path / "all.tar.gz", "w:gz") as tar:
        tar.addfile(tarfile.TarInfo("other"))
    with pytest.raises(DataError, match="has no folder cifar"):
        download.unpack(tmp_path / "all.tar.gz", tmp_path / "cifar")
    assert [path.name for path in tmp_path.iterdir()] == ["all.tar.gz"]


def test_names_that_cannot_be_got(tmp_path):
    with pytest.raises(
        DataError, match=r"no dataset named 'minst' to download; there are: .*mnist\. Did you mean 'mnist'\?"
    ):
        get("minst", tmp_path)
    with pytest.raises(DataError, match="digits: nothing to download"):
        get("digits", tmp_path)
