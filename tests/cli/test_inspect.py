"""What is in the data is shown in 80 columns, with names, and with a next command that works."""

import shlex

import pytest

from reweigh.cli.printing import bars


def next_command(result):
    words = shlex.split(result.stdout.splitlines()[-1])
    assert words[:3] == ["reweigh", "train", "--data"]
    return words[3:]


def test_nothing_wrong(run):
    result = run("inspect", "digits")
    assert result.exit_code == 0
    assert "digits: 1,257 samples of 1 x 8 x 8, 10 classes" in result.stdout
    assert "Nothing looks wrong" in result.stdout
    assert "all classes would share one weighting curve" in result.stdout  # they have 122 to 128 samples
    assert next_command(result) == ["digits"]


def test_a_table_with_trouble(run, table):
    result = run("inspect", table, "--label", "kind")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()[:-1]
    told = next(number for number, line in enumerate(lines) if "samples of" in line)
    assert max(map(len, lines[told + 1 :])) <= 90
    text = " ".join(result.stdout.split())
    for words in ["imbalance factor 5", "missing values 1 in 'a'", "row 5 is 'cat', row 70 is 'ankle boot'",
                  "A long tail", "1 class of 12 samples: ankle boot"]:  # fmt: skip
        assert words in text
    assert "Nothing looks wrong" not in text
    assert next_command(result)[:3] == [str(table), "--label", "kind"]


def test_images_and_labels_from_a_file(run, images, tmp_path):
    result = run("inspect", images)
    assert result.exit_code == 0
    assert "cat/broken.png" in result.stdout
    swapped = tmp_path / "labels.csv"
    swapped.write_text("label\n" + "dog\n" * 25 + "cat\n" * 5)
    result = run("inspect", images, "--labels", swapped)
    assert "cat   5" in result.stdout
    assert f"--labels {swapped}" in result.stdout


def test_a_column_to_drop_that_is_not_there(run, table):
    result = run("inspect", table, "--label", "kind", "--drop", "c")
    assert result.exit_code == 2
    assert "no column 'c'; the table has: a, b. (--drop COLUMN, or data.columns in a recipe)" in result.stderr


def test_a_path_wins_over_a_name(run, table, tmp_path, monkeypatch):
    table.rename(tmp_path / "digits")
    monkeypatch.chdir(tmp_path)
    result = run("inspect", "digits")
    assert result.exit_code == 2
    assert "digits: not a file that reweigh can read" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["digitz"], "neither a path that exists nor the name of a dataset"),
        (["digitz"], "Did you mean 'digits'?"),
        (["files"], "neither a path"),
        (["digits", "--label", "x"], "--label: got 'x'"),
        (["digits", "--labels", "x.csv"], "digits has no option 'labels'"),
        (["mnist", "--root", "nowhere"], "reweigh data get mnist --root nowhere"),
    ],
)
def test_wrong_data_exit_2_with_a_remedy(run, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("inspect", *words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_bars():
    assert bars({"a": 46, "long": 23, "none": 0, "one": 1}) == [
        "  a     46  " + "█" * 46, "  long  23  " + "█" * 23, "  none   0", "  one    1  █",
    ]  # fmt: skip
    many = bars({str(number): number for number in range(100)})
    assert len(many) == 21
    assert many[0].split()[:2] == ["99", "99"]
    assert many[10] == "  ... 80 classes between"
    assert max(map(len, bars({"x" * 90: 10**6}))) < 80


def test_a_test_part_and_files_beside_the_classes(run, images, tmp_path, monkeypatch):
    import shutil

    monkeypatch.chdir(tmp_path)
    shutil.copytree(images, tmp_path / "both" / "train")
    shutil.copytree(images / "dog", tmp_path / "both" / "test" / "dog")
    shutil.copytree(images / "cat", tmp_path / "both" / "test" / "cat")
    (tmp_path / "both" / "train" / "notes.txt").touch()
    said = " ".join(run("inspect", "both").output.split())
    assert "31 files in both/test: the test set, not counted above." in said
    assert "In no folder of a class, so not used: notes.txt." in said


def test_data_that_cannot_be_used_are_not_praised(run, images):
    import shutil

    shutil.rmtree(images / "dog")
    said = run("inspect", images).output
    assert "It cannot be used for training as it is" in said
    assert "Nothing looks wrong" not in said
