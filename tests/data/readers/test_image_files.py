"""Image files are opened in any thread, without a trace in what all threads share."""

import struct
import threading
import warnings
import zlib
from pathlib import Path

import pytest
from PIL import Image

from reweigh.data.readers.image_files import Header, decode, formats, header
from reweigh.files.limits import LIMITS


def test_decoding_in_threads_leaves_the_filters_of_warnings_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two images are opened at a time, and the one that was opened first is done first."""
    files = [tmp_path / "0.png", tmp_path / "1.png"]
    for file in files:
        Image.new("RGB", (4, 3)).save(file)
    formats()  # loads the plugins
    factory, accept = Image.OPEN["PNG"]
    both_open, first_done = threading.Barrier(2, timeout=10), threading.Event()

    def opened(*arguments: object) -> object:
        both_open.wait()
        if threading.current_thread().name == "1":
            assert first_done.wait(10)
        return factory(*arguments)  # pyright: ignore[reportArgumentType]

    monkeypatch.setitem(Image.OPEN, "PNG", (opened, accept))  # pyright: ignore[reportArgumentType]
    shapes = {}

    def read(number: int) -> None:
        shapes[number] = decode(files[number], (3, 4), 3).shape
        first_done.set()

    before = list(warnings.filters)
    threads = [threading.Thread(target=read, args=(number,), name=str(number)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shapes == {0: (3, 3, 4), 1: (3, 3, 4)}
    assert list(warnings.filters) == before


def test_a_photo_of_a_hundred_megapixels_is_no_reason_for_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pillow's own function warns at half of its limit."""
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", LIMITS["pixels"].most // 2)
    file = tmp_path / "large.png"
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 12000, 8000, 8, 0, 0, 0, 0)) + DATA)
    with pytest.warns(Image.DecompressionBombWarning):
        Image.open(file).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert header(file) == Header(8000, 12000, True)


def test_it_is_what_pillow_opens(tmp_path: Path) -> None:
    """In every format that this version can also write."""
    Image.init()
    written = [name for name in formats() if name in Image.SAVE and name != "MPO"]
    for name in written:
        file = tmp_path / f"image.{name}".replace("JPEG2000", "jp2")
        Image.linear_gradient("L").resize((7, 5)).convert("RGB").save(file, format=name)
        with Image.open(file) as image:
            expected = image.convert("RGB").tobytes()
        assert decode(file, (5, 7), 3).permute(1, 2, 0).numpy().tobytes() == expected, name
    assert {"JPEG", "PNG", "WEBP", "TIFF"} <= {*written}


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


DATA = chunk(b"IDAT", zlib.compress(b""))
