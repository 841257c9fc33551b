"""Votes of several labelers in files: long tables and the exports of labeling tools."""

import json

import pytest

from reweigh import DataError, read
from reweigh.data.labels.vote_files import read_votes

NAMES = [range(3), ["a.png", "b.png", "c.png"]]


def said(votes):
    """Who said what, as a set of (sample, labeler, label)."""
    labels = votes.classes[votes.label.numpy()].tolist()
    return {*zip(votes.sample.tolist(), [votes.labelers[each] for each in votes.labeler], labels, strict=True)}


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


LABEL_STUDIO = [
    {
        "id": 17,
        "data": {"image": "a.png"},
        "annotations": [
            {"completed_by": 1, "result": [{"type": "choices", "value": {"choices": ["cat"]}}]},
            {"completed_by": {"email": "bob@x"}, "result": [{"type": "choices", "value": {"choices": ["dog"]}}]},
            {"completed_by": 3, "was_cancelled": True, "result": [{"type": "choices", "value": {"choices": ["dog"]}}]},
        ],
    },
    {
        "id": 18,
        "data": {"image": "c.png"},
        "annotations": [{"completed_by": 1, "result": []}],
        "predictions": [{"model_version": "net", "result": [{"type": "choices", "value": {"choices": ["dog"]}}]}],
    },
]
ARGILLA = [
    {"id": "0", "fields": {}, "responses": {"label": [{"value": "cat", "user_id": "u1"}]}},
    {"id": "2", "fields": {}, "responses": {"label": [{"value": "dog", "user_id": "u2"}]}},
]
ARGILLA_2_8 = [  # as argilla 2.8.0 wrote it
    {
        "id": "r0",
        "fields": {"text": "one"},
        "metadata": {"row": 0},
        "suggestions": {"label": {"value": "cat", "score": 0.7, "agent": "gpt"}},
        "responses": {
            "label": [{"value": "cat", "user_id": "u1"}, {"value": "dog", "user_id": "u2"}],
            "comment": [{"value": "blurred", "user_id": "u1"}],
        },
        "vectors": {},
        "status": "pending",
        "_server_id": None,
    }
]
ARGILLA_1 = [
    {"metadata": {"row": 0}, "responses": [{"user_id": "u1", "values": {"label": {"value": "cat"}}}]},
    {"metadata": {"row": 2}, "responses": [{"user_id": "u2", "values": {"label": {"value": "dog"}}}]},
]
PRODIGY = [
    {"meta": {"row": 0}, "text": "x", "accept": ["cat"], "answer": "accept", "_annotator_id": "u1"},
    {"meta": {"row": 1}, "text": "y", "accept": ["cat"], "answer": "reject", "_annotator_id": "u1"},
    {"meta": {"row": 2}, "text": "z", "label": "dog", "answer": "accept", "_session_id": "u2"},
]
TWO = {(0, "u1", "cat"), (2, "u2", "dog")}


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("v.csv", "sample,labeler,label\n0,u1,cat\n2,u2,dog\n", TWO),
        ("v.csv", "WorkerId,Task,Answer\nu1,a.png,cat\n".replace("WorkerId", "worker_id") + "u2,c.png,dog\n", TWO),
        ("v.json", LABEL_STUDIO, {(0, "1", "cat"), (0, "bob@x", "dog"), (2, "net", "dog")}),
        ("v.json", ARGILLA, TWO),
        ("v.json", ARGILLA_1, TWO),
        ("v.json", ARGILLA_2_8, {(0, "u1", "cat"), (0, "u2", "dog"), (0, "gpt", "cat")}),
        ("v.jsonl", "\n".join(map(json.dumps, PRODIGY)), TWO),
    ],
)
def test_files_of_votes(tmp_path, name, content, expected):
    assert said(read_votes(written(tmp_path, name, content), NAMES)) == expected


def test_confidences_count_as_such(tmp_path):
    votes = read_votes(written(tmp_path, "v.csv", "sample,labeler,label,confidence\n0,u,a,0.8\n1,u,b,\n"), NAMES)
    assert votes.soft is not None
    assert votes.soft[:, 0].tolist() == pytest.approx([0.8, 0.0])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.npy", "", "votes are a table such as .csv"),
        ("v.csv", "sample,labeler,label\n", "no vote|without rows|empty"),
        ("v.csv", "sample,who,label\n0,u,a\n", "no column for the labeler of each vote; it has: sample, who, label"),
        ("v.csv", "sample,labeler,label\n0,u,a\n9,u,b\n", "1 of 2 votes are for samples that do not exist: '9'"),
        ("v.csv", "sample,labeler,label,confidence\n0,u,a,80\n1,u,b,1\n", "not from 0 to 1.*divide percentages"),
        ("v.csv", "sample,labeler,label\n0,u,a\n1,v,a\n", "all are for one class"),
        ("v.json", "{}", "not a list of tasks or records"),
        ("v.json", "[{", "not JSON"),
        (
            "v.json",
            [{"id": 0, "responses": {"a": [{"value": "x"}], "b": [{"value": "y"}]}}],
            "record 0: answers to a, b; call",
        ),
        ("v.json", [{"image": "a.png", "id": 17, "c": "cat", "annotator": 1}], "JSON-MIN.*export JSON instead"),
        ("v.json", [{"data": {"image": "a.png"}, "annotations": 3}], "record 0 is not as Label Studio"),
        ("v.jsonl", '{"answer": "accept", "label": "a"}', "no field names the sample"),
    ],
)
def test_files_that_are_not_votes_say_why(tmp_path, name, content, message):
    with pytest.raises(DataError, match=message):
        read_votes(written(tmp_path, name, content), NAMES)


TABLE = "key,x,ann,bob,eve\nk0,1,10,10,9\nk1,2,9,9,\nk2,3,,,\nk3,4,9,10,10\n"


def test_columns_of_labelers_and_a_file_of_votes_are_the_same_data(tmp_path):
    table = written(tmp_path, "t.csv", TABLE)
    wide = read(table, label="ann,bob,eve", drop_unlabeled=True)
    assert wide.class_names == ("9", "10")
    assert wide.labels.tolist() == [1, 0, 1]
    assert wide.votes is not None
    assert wide.votes.labelers == ("ann", "bob", "eve")
    assert [read_as.name for read_as in wide.reading.encoding.readings] == ["key", "x"]
    rows = [line.split(",") for line in TABLE.splitlines()[1:]]
    long = [f"{row[0]},{who},{said}" for row in rows for who, said in zip(wide.votes.labelers, row[2:], strict=True)]
    features = written(tmp_path, "x.csv", "\n".join(",".join(line.split(",")[:2]) for line in TABLE.splitlines()))
    votes = written(tmp_path, "v.csv", "\n".join(["key,labeler,label", *(line for line in long if line[-1] != ",")]))
    apart = read(features, votes=votes, drop_unlabeled=True)
    assert apart.votes is not None
    assert said(apart.votes) == said(wide.votes)
    assert apart.labels.tolist() == wide.labels.tolist()
    assert apart.source_rows.tolist() == [0, 1, 3]


def test_spellings_of_labelers_are_joined(tmp_path):
    table = written(tmp_path, "t.csv", "x,a,b\n" + "1,Cat,cat\n2,dog,dog\n3,dog ,Dog\n" * 4)
    joined = read(table, label="a,b", join_labels=True)
    assert joined.num_classes == 2
    assert joined.votes is not None
    assert [str(name) for name in joined.votes.classes] == list(joined.class_names)


@pytest.mark.parametrize(
    ("label", "message"), [("ann,bib", "no column 'bib'.*Did you mean 'bob'"), ("ann,ann", "names a column twice")]
)
def test_columns_that_do_not_exist_are_named(tmp_path, label, message):
    with pytest.raises(DataError, match=message):
        read(written(tmp_path, "t.csv", TABLE), label=label)


def test_votes_for_images_name_the_files(tmp_path):
    from PIL import Image

    for name in ("cat/a.png", "cat/b.png", "dog/c.png"):
        (tmp_path / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4), hash(name) % 255).save(tmp_path / "images" / name)
    votes = written(tmp_path, "v.csv", "image,worker,label\na.png,u,x\na.png,v,x\nb.png,u,y\nc.png,v,y\n")
    found = read(tmp_path / "images", votes=votes)
    assert found.class_names == ("x", "y")
    assert found.labels.tolist() == [0, 1, 1]
