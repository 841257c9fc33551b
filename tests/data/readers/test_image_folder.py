import logging
import os
import shutil

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

from reweigh.data import read
from reweigh.data.on_demand import OnDemand
from reweigh.data.readers import has_test_part
from reweigh.data.readers.image_files import decode, header, resized
from reweigh.data.readers.image_list import FOLDER
from reweigh.data.readers.reader import Request
from reweigh.data.source import Source
from reweigh.errors import DataError


def picture(path, size=(5, 4), mode="RGB", seed=0):
    """A PNG of random pixels; size is (height, width)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = size if mode == "L" else (*size, len(mode))
    pixels = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    Image.fromarray(pixels, mode=None).save(path)
    return pixels


@pytest.fixture
def pets(tmp_path):
    for number, name in enumerate(("cat/1.png", "cat/2.png", "dog/a.png", "dog/deeper/b.png")):
        picture(tmp_path / "pets" / name, seed=number)
    return tmp_path / "pets"


def test_classes_names_and_pixels(pets):
    data = read(pets)
    assert data.class_names == ("cat", "dog")
    assert data.labels.tolist() == [0, 0, 1, 1]
    assert data.reading.names == ("cat/1.png", "cat/2.png", "dog/a.png", os.path.join("dog", "deeper", "b.png"))
    assert (data.shape, data.inputs.dtype) == ((3, 5, 4), torch.uint8)
    for place, name in enumerate(data.reading.names):
        assert np.array_equal(data.inputs[place].permute(1, 2, 0).numpy(), np.array(Image.open(pets / name)))
    batch = data.batch(torch.arange(4)).inputs
    torch.testing.assert_close(batch.mean((0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)


def test_on_demand_gives_the_same_as_in_memory(pets):
    memory, demand = read(pets), read(pets, memory_gb=0)
    assert isinstance(demand.inputs, OnDemand)
    assert demand.shape == memory.shape
    index = torch.tensor([3, 0, 0, 2])
    assert torch.equal(demand.inputs[index], memory.inputs[index])
    assert torch.equal(demand.batch(index).inputs, memory.batch(index).inputs)
    assert torch.equal(demand.subset(torch.tensor([1, 3])).inputs[torch.tensor([1])], memory.inputs[3:])


def test_gray_images_stay_gray_and_mixed_ones_become_color(tmp_path):
    gray = picture(tmp_path / "a" / "1.png", mode="L")
    picture(tmp_path / "b" / "1.png", mode="L", seed=1)
    data = read(tmp_path)
    assert data.shape == (1, 5, 4)
    assert np.array_equal(data.inputs[0, 0].numpy(), gray)
    picture(tmp_path / "b" / "2.png", mode="RGBA")
    data = read(tmp_path)
    assert data.shape == (3, 5, 4)
    assert np.array_equal(data.inputs[0, 2].numpy(), gray)


def test_sixteen_bits_are_scaled_not_clipped(tmp_path):
    pixels = np.array([[0, 256, 65535], [300, 32768, 511]], dtype=np.uint16)
    for name in "ab":
        (tmp_path / name).mkdir()
        Image.fromarray(pixels).save(tmp_path / name / "1.png")
    assert read(tmp_path).inputs[0, 0].tolist() == [[0, 1, 255], [1, 128, 1]]


def test_different_sizes_are_refused_with_the_remedy(pets):
    picture(pets / "cat" / "3.png", (9, 7))
    with pytest.raises(DataError) as error:
        read(pets)
    text = str(error.value)
    assert "images of 2 different sizes: 4 of 5 x 4, 1 of 9 x 7" in text
    assert "for example cat/3.png. Give a size to resize them to, such as 4" in text


@pytest.mark.parametrize(("size", "shape"), [(6, (3, 6, 6)), ((6, 8), (3, 6, 8))])
def test_different_sizes_are_resized_to_the_stated_one(pets, size, shape):
    picture(pets / "cat" / "3.png", (9, 7))
    for memory_gb in (1, 0):
        data = read(pets, size=size, memory_gb=memory_gb, resize="stretch")
        assert data.shape == shape
        with Image.open(pets / "cat" / "3.png") as image:
            expected = np.array(image.resize((shape[2], shape[1]), Image.Resampling.BILINEAR))
        assert np.array_equal(data.inputs[torch.tensor([2])][0].permute(1, 2, 0).numpy(), expected)


@pytest.mark.parametrize("resize", ["crop", "pad"])
def test_proportions_are_kept(pets, resize):
    """A white square on black stays a square, and only a padded image has gray bars."""
    wide = Image.new("RGB", (40, 20))
    wide.paste("white", (15, 5, 25, 15))
    wide.save(pets / "cat" / "3.png")
    pixels = read(pets, size=20, resize=resize).inputs[2][0]
    rows, columns = ((pixels > 200).any(dim).sum() for dim in (0, 1))
    assert rows == columns
    assert (pixels == 128).any() == (resize == "pad")


def test_unreadable_files_are_listed_skipped_and_counted(pets, caplog):
    (pets / "cat" / "0-text.png").write_text("not an image")
    (pets / "dog" / "half.png").write_bytes((pets / "dog" / "a.png").read_bytes()[:60])
    (pets / "dog" / "empty.jpg").touch()
    (pets / "dog" / "notes.txt").write_text("hello")
    (pets / "dog" / ".hidden").write_text("hello")
    os.symlink(pets / "nowhere.png", pets / "dog" / "dangling.png")
    with caplog.at_level(logging.WARNING):
        data = read(pets)
    assert data.labels.tolist() == [0, 0, 1, 1]
    assert data.reading.names[0] == "cat/1.png"
    assert sorted(entry.split(": ")[0] for entry in data.reading.skipped) == [
        "cat/0-text.png", "dog/dangling.png", "dog/empty.jpg", "dog/half.png", "dog/notes.txt",
    ]  # fmt: skip
    assert "dog/notes.txt: not an image file by its extension" in data.reading.skipped
    assert "dog/empty.jpg: the file is empty" in data.reading.skipped
    assert "5 of 9 files left out: " in caplog.text


def test_a_file_of_a_few_bytes_and_photos_of_a_phone_are_named_as_such(pets):
    (pets / "dog" / "short.png").write_bytes(b"x")
    (pets / "dog" / "IMG_1.HEIC").write_bytes(b"....ftypheic")
    assert read(pets).reading.skipped == (
        "dog/IMG_1.HEIC: HEIC is not supported, convert it to JPEG",
        "dog/short.png: cannot identify image file",
    )


def test_what_a_mac_adds_to_an_archive_is_not_a_class(pets):
    (pets / "__MACOSX" / "cat").mkdir(parents=True)
    (pets / "__MACOSX" / "cat" / "._1.png").write_bytes(b"x")
    assert read(pets).class_names == ("cat", "dog")


def test_a_file_that_breaks_later_stops_the_batch_with_its_name(pets):
    data = read(pets, memory_gb=0)
    (pets / "dog" / "a.png").write_bytes((pets / "dog" / "a.png").read_bytes()[:60])
    with pytest.raises(DataError, match=r"dog/a\.png: not a readable image \(.*\); repair or remove it"):
        data.batch(torch.tensor([0, 1, 2]))


def test_empty_classes_and_classes_of_broken_files_all_in_one(pets):
    (pets / "elk").mkdir()
    (pets / "fox").mkdir()
    (pets / "fox" / "1.png").write_text("nothing")
    with pytest.raises(DataError) as error:
        read(pets)
    text = str(error.value)
    assert "class 'elk': it is empty; add images or remove the folder" in text
    assert "class 'fox': no readable image in its 1 file (1.png: cannot identify image file)" in text


def test_a_class_whose_files_break_only_when_decoded(pets):
    for path in (pets / "cat").iterdir():
        path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(DataError, match=r"class 'cat': no readable image in its 2 files \(1\.png: .*, 2\.png: "):
        read(pets)


def test_sizes_and_empty_classes_come_in_one_message(pets):
    picture(pets / "cat" / "3.png", (9, 7))
    (pets / "elk").mkdir()
    with pytest.raises(DataError, match="2 mistakes"):
        read(pets)
    with pytest.raises(DataError, match=r"2 mistakes\n.*\n.*size: \(0, 0\); give a height and a width of 1 or more"):
        read(pets, size=0)


def test_without_pillow(pets, monkeypatch):
    monkeypatch.setattr("reweigh.data.readers.image_files.find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"pip install 'reweigh\[image\]'"):
        read(pets)


def test_one_class_no_classes_no_folder(tmp_path):
    picture(tmp_path / "one" / "cat" / "1.png")
    with pytest.raises(DataError, match="only one class, 'cat', in 1 sample"):
        read(tmp_path / "one")
    with pytest.raises(DataError, match="no sub-folders; put the images of each class in a sub-folder"):
        FOLDER.read(tmp_path, Request(Source(tmp_path / "one" / "cat")))
    with pytest.raises(DataError, match="there is nothing at this path"):
        read(tmp_path / "none")


def test_a_loop_of_links(pets):
    os.symlink(pets / "dog", pets / "dog" / "deeper" / "again")
    with pytest.raises(
        DataError, match=r"dog/deeper/again: a symbolic link that leads back to .*dog, which contains it; remove"
    ):
        read(pets)


def test_a_link_to_itself(pets):
    os.symlink(pets / "dog" / "self", pets / "dog" / "self")
    with pytest.raises(DataError, match="dog/self: a loop of symbolic links"):
        read(pets)


def test_a_link_elsewhere_is_followed(pets, tmp_path):
    picture(tmp_path / "more" / "x.png")
    os.symlink(tmp_path / "more", pets / "cat" / "more")
    assert "cat/more/x.png" in read(pets).reading.names


def test_chosen_classes_in_a_chosen_order(pets):
    picture(pets / "elk" / "1.png")
    assert read(pets, class_names=["elk", "cat"]).labels.tolist() == [0, 1, 1]
    with pytest.raises(DataError, match="no sub-folder 'cow'"):
        read(pets, class_names=["cow", "cat"])


def test_the_middle_is_what_pillow_itself_crops():
    sizes = np.random.default_rng(0).integers(1, 90, (60, 4)).tolist()
    for width, height, *wanted in [*sizes, [30, 20, 15, 10], [7, 7, 3, 3], [1, 80, 80, 1]]:
        image = Image.fromarray(np.random.default_rng(1).integers(0, 256, (height, width, 3), dtype=np.uint8))
        theirs = ImageOps.fit(image, tuple(wanted), Image.Resampling.BILINEAR)
        assert np.array_equal(resized(image, (wanted[1], wanted[0]), "crop"), theirs)


def test_large_files_are_not_read_at_once(pets, monkeypatch):
    files = sorted(pets.rglob("*.png"))
    at_once = [decode(file, (5, 6), 3) for file in files]
    monkeypatch.setattr("reweigh.data.readers.image_files.MAX_BYTES_AT_ONCE", 10)
    assert all(torch.equal(decode(file, (5, 6), 3), pixels) for file, pixels in zip(files, at_once, strict=True))


@pytest.mark.parametrize("small", [10, 10_000])
def test_what_is_no_image_is_named_without_the_object_it_was_read_from(tmp_path, monkeypatch, small):
    monkeypatch.setattr("reweigh.data.readers.image_files.MAX_BYTES_AT_ONCE", small)
    (tmp_path / "no.jpg").write_text("not an image")
    with pytest.raises(DataError, match=r"no\.jpg: not a readable image \(cannot identify image file\); repair"):
        decode(tmp_path / "no.jpg", (4, 4), 3)


def test_photos_that_lie_on_their_side_are_put_upright(tmp_path):
    image = Image.new("RGB", (40, 20), "black")
    image.paste("white", (0, 0, 20, 20))
    exif = image.getexif()
    exif[0x0112] = 6  # to be turned clockwise
    image.save(tmp_path / "photo.jpg", exif=exif)
    assert header(tmp_path / "photo.jpg")[:2] == (40, 20)
    pixels = decode(tmp_path / "photo.jpg", (40, 20), 3)
    assert pixels[:, :15].float().mean() > 240
    assert pixels[:, 25:].float().mean() < 15


def test_hidden_colors_do_not_show_and_gray_values_of_any_range_are_seen(tmp_path):
    Image.new("RGBA", (4, 4), (255, 0, 0, 0)).save(tmp_path / "hidden.png")
    assert (decode(tmp_path / "hidden.png", (4, 4), 3) == 255).all()
    for name, values in {"unit": np.full((4, 4), 0.5, np.float32), "bytes": np.full((4, 4), 128, np.int32)}.items():
        Image.fromarray(values).save(tmp_path / f"{name}.tiff")
        assert header(tmp_path / f"{name}.tiff").gray
        assert set(decode(tmp_path / f"{name}.tiff", (4, 4), 1).unique().tolist()) <= {127, 128}


def test_what_another_program_would_have_to_draw_is_no_image(pets, caplog):
    """Pillow opens PostScript under any name, and starts Ghostscript for it."""
    drawing = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\nshowpage\n%%EOF\n"
    (pets / "dog" / "drawing.png").write_bytes(drawing)
    (pets / "dog" / "drawing.eps").write_bytes(drawing)
    read(pets)
    assert "dog/drawing.eps: not an image file by its extension" in caplog.text
    assert "dog/drawing.png: cannot identify image file" in caplog.text


@pytest.mark.parametrize(("train", "test"), [("train", "val"), ("Train", "Test"), ("Training", "Testing")])
def test_parts_for_training_and_testing_are_not_classes(pets, tmp_path, train, test):
    shutil.copytree(pets, tmp_path / "both" / train)
    shutil.copytree(pets, tmp_path / "both" / test)
    assert has_test_part(tmp_path / "both")
    assert read(tmp_path / "both").class_names == ("cat", "dog")
    assert len(read(tmp_path / "both", split="test", class_names=("cat", "dog"))) == 4
    (tmp_path / "both" / "extra").mkdir()
    with pytest.raises(DataError, match=rf"has parts {train} and {test} with the same classes, and also extra; .*"):
        read(tmp_path / "both")


def test_a_class_may_be_called_train(pets):
    (pets / "cat").rename(pets / "train")
    (pets / "dog").rename(pets / "test")
    picture(pets / "bus" / "1.png")
    assert read(pets).class_names == ("bus", "test", "train")


def test_a_test_set_with_other_classes_than_the_training_set(pets, caplog):
    with pytest.raises(DataError, match=r"no sub-folder 'elk' for the class of that name; .* create an empty one"):
        read(pets, class_names=("cat", "dog", "elk"))
    with caplog.at_level(logging.WARNING):
        assert len(read(pets, class_names=("cat",))) == 2
    assert "no class has the name of these sub-folders, which are left out: dog" in caplog.text
