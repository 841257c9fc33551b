"""The server answers its own page and nobody else; what is decided is on disk, or refused."""

import errno
import http.client
import json
import os
import threading
import webbrowser
from dataclasses import replace

import numpy as np
import pytest

from reweigh.errors import DataError
from reweigh.fit.decisions import Decision, Decisions
from reweigh.fit.similar import MOST
from reweigh.review import Review, of_run
from reweigh.review.session import Session


@pytest.fixture
def served(run):
    review = Review(of_run(run), "ann").start()
    yield review
    review.stop()


class Client:
    """Sends exactly what it is told."""

    def __init__(self, address):
        _, _, self.host, self.token, _ = address.split("/")

    def __call__(self, path, body=None, host=None, token=None, **headers):
        host = self.host if host is None else host
        connection = http.client.HTTPConnection(self.host, timeout=10)
        method = "GET" if body is None else "POST"
        connection.putrequest(method, f"/{self.token if token is None else token}{path}", skip_host=True)
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Host": host}
        if body is not None:
            sent |= {"Origin": f"http://{self.host}", "Content-Type": "application/json", "Content-Length": len(data)}
        for name, value in (sent | {name.replace("_", "-"): value for name, value in headers.items()}).items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(data)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        found = json.loads(content) if "json" in response.headers.get("Content-Type", "") else content
        return response.status, found, response.headers


def flat(groups):
    return [index for group in groups for index in group["index"]]


@pytest.fixture
def ask(served):
    return Client(served.address)


def test_the_page_is_bound_by_a_strict_policy(ask):
    for path in ("/", "/review.js", "/review.css", "/start"):
        status, _, headers = ask(path)
        assert status == 200
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "http" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/", "/start", "/review.js", "/picture/0", "/wall"])
def test_without_the_token_nothing_is_shown(ask, path):
    for token in ("", "x", ask.token[:-1], ask.token + "x", "%00", "%C3%A9"):
        assert ask(path, token=token)[0] == 403


@pytest.mark.parametrize("host", ["", "evil.example", "127.0.0.1", "127.0.0.1.evil.example:{port}", "0.0.0.0:{port}"])
def test_a_host_that_is_not_loopback_is_refused(ask, host):
    port = ask.host.partition(":")[2]
    assert ask("/", host=host.format(port=port))[0] == 400
    assert ask("/", host=f"localhost:{port}")[0] == 200


def test_decisions_come_from_the_page_alone(ask, run):
    body = {"index": 0, "label": 1}
    assert ask("/decision", body, Origin="http://evil.example")[0] == 403
    assert ask("/decision", body, Origin="null")[0] == 403
    assert ask("/decision", body, Origin=None)[0] == 403
    assert ask("/decision", body, Content_Type="text/plain")[0] == 415
    assert ask("/decision", body, Content_Length=10**9)[0] == 413
    assert ask("/start", Origin="http://evil.example")[0] == 403
    assert not (run / "decisions.jsonl").exists()
    assert ask("/decision", body)[0] == 200


@pytest.mark.parametrize("path", ["/../recipe.toml", "/..%2frecipe.toml", "/picture/../../recipe.toml", "/recipe.toml",
                                  "/page/review.js", "/picture/%2e%2e", "/sample/../start/x"])  # fmt: skip
def test_no_path_leads_to_a_file(ask, path):
    assert ask(path)[0] == 404


def test_what_is_decided_is_on_disk_at_once(ask, run):
    queue = flat(ask("/wall")[1])
    index = queue[0]
    _, card, _ = ask(f"/sample/{index}")
    before = ask("/progress")[1]
    status, progress, _ = ask("/decision", {"index": index, "label": card["suggested"]})
    assert (status, progress["wrong"], progress["seen"]) == (200, 1, 1)
    line = json.loads((run / "decisions.jsonl").read_text())
    assert (line["row"], line["label"], line["by"]) == (card["row"], str(card["suggested"]), "ann")
    assert progress["remaining"] != before["remaining"]
    assert flat(ask("/wall")[1]) == queue[1:]
    assert flat(ask("/wall?state=decided")[1]) == [index]
    assert ask(f"/sample/{index}")[1]["mine"] == {"label": card["suggested"], "exclude": ""}
    assert ask("/decision", {"index": index, "undo": True})[1]["decided"] == 0
    assert flat(ask("/wall")[1]) == queue
    assert ask("/decision", {"index": index, "undo": True})[0] == 422


def test_one_action_about_many_samples_is_undone_at_once(ask, served, run):
    """Groups are pairs of classes with their samples; an action survives a restart of the server, and so does undo."""
    groups = ask("/wall?order=similar")[1]
    samples = served.session.subject.samples
    assert [len(group["index"]) for group in groups] == sorted((len(group["index"]) for group in groups), reverse=True)
    for group in groups:
        assert {(samples.given[index], samples.suggested[index]) for index in group["index"]} == {tuple(group["pair"])}
    several, few = groups[0]["index"], groups[1]["index"][:2]
    assert ask("/decision", {"index": several, "label": "suggested"})[1]["wrong"] == len(several)
    progress = ask("/decision", {"index": few, "exclude": "unusable"})[1]
    assert (progress["excluded"], progress["right"], progress["undo"]) == (2, 0, 2)
    assert sorted(flat(ask("/wall?state=excluded")[1])) == sorted(few)
    assert flat(ask("/wall?order=similar")[1]) == [*groups[1]["index"][2:], *flat(groups[2:])]

    again = Review(of_run(run), "ann").start()
    try:
        later = Client(again.address)
        undone = later("/decision", {"undo": True})[1]
        assert (sorted(undone["index"]), undone["undo"]) == (sorted(few), len(several))
        undone = later("/decision", {"undo": True})[1]
        assert (sorted(undone["index"]), undone["undo"], undone["decided"]) == (sorted(several), 0, 0)
        assert flat(later("/wall?order=similar")[1]) == flat(groups)
        assert not again.excluded().any()
    finally:
        again.stop()


def test_tiles_show_what_cards_show(ask):
    index = flat(ask("/wall")[1])[:3]
    for tile in ask("/tiles?index=" + ",".join(map(str, index)))[1]:
        card = ask(f"/sample/{tile['index']}")[1]
        assert {key: tile[key] for key in ("row", "given", "suggested", "quality", "mine")}.items() <= card.items()
    for wrong in ("", "a", "-1", "1,,2", ",".join(["1"] * 501), "99999999"):
        assert ask(f"/tiles?index={wrong}")[0] == 422


@pytest.mark.parametrize(
    "body",
    [
        {"index": 10**9, "label": 0},
        {"index": -1, "label": 0},
        {"index": True, "label": 0},
        {"index": "0", "label": 0},
        {"index": 0, "label": 10},
        {"index": 0, "label": -1},
        {"index": 0, "label": "0"},
        {"index": 0, "label": 1.7},
        {"index": 0},
        {"label": 0},
        {"index": [], "label": 0},
        {"index": [0, 10**9], "label": "given"},
        {"index": [0, None], "label": "given"},
        {"index": [0], "exclude": "ugly"},
        {"index": [0], "exclude": None},
        {"undo": True},
        [],
        b"{",
        b"\xff",
        b"[" * 9000,
    ],
)
def test_a_decision_about_what_does_not_exist_is_refused(ask, run, body):
    status, found, _ = ask("/decision", body)
    assert status == 422
    assert found["error"]
    assert not (run / "decisions.jsonl").exists()


@pytest.mark.parametrize(
    "query",
    [
        "order=best",
        "show=none",
        "state=x",
        "given=10",
        "given=cat",
        "given=1.7",
        "quality=low",
        "given=nan",
        "given=inf",
    ],
)
def test_a_filter_that_does_not_exist_is_named(ask, query):
    status, found, _ = ask(f"/wall?{query}")
    assert status == 422
    assert query.partition("=")[0] in found["error"]


def test_filters_against_a_loop_over_the_table(ask, served):
    samples = served.session.subject.samples
    found = flat(ask("/wall?show=all&given=3&suggested=8&quality=0.6")[1])
    expected = [
        i for i in range(len(samples))
        if samples.given[i] == 3 and samples.suggested[i] == 8 and samples.quality[i] <= 0.6
    ]  # fmt: skip
    assert sorted(found) == expected
    assert [samples.quality[i] for i in found] == sorted(samples.quality[i] for i in found)
    assert set(flat(ask("/wall")[1])) == set(samples.issue.nonzero()[0].tolist())


def test_a_full_disk_loses_nothing_and_says_so(ask, run, monkeypatch):
    assert ask("/decision", {"index": 0, "label": 1})[0] == 200
    before = (run / "decisions.jsonl").read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    status, found, _ = ask("/decision", {"index": 1, "label": 1})
    assert status == 507
    assert "make room" in found["error"]
    assert (run / "decisions.jsonl").read_bytes() == before
    monkeypatch.undo()
    assert ask("/progress")[1]["decided"] == 1
    assert ask("/decision", {"index": 1, "label": 1})[1]["decided"] == 2


def test_two_reviewers_and_their_disagreement(ask, served, run):
    ask("/decision", {"index": 5, "label": 1})
    other = Review(of_run(run), "bo").start()
    theirs = Client(other.address)
    try:
        assert theirs("/sample/5")[1]["others"] == []  # not before they have decided
        assert 5 in flat(theirs("/wall?show=all")[1])
        theirs("/decision", {"index": 5, "label": 2})
        assert ask("/progress")[1]["disputed"] == 1
        assert ask("/progress")[1]["reviewers"] == ["ann", "bo"]
        assert flat(ask("/wall?show=all&state=disputed")[1]) == [5]
        assert ask("/sample/5")[1]["others"] == [{"by": "bo", "label": 2, "exclude": ""}]
        assert served.decisions.agreed() == {}
    finally:
        other.stop()


def test_decisions_about_rows_that_are_not_in_the_run_are_left_alone(run):
    Decisions(run / "decisions.jsonl").add(Decision(10**6, "1", "2", "ann"))
    review = Review(of_run(run), "ann")
    assert review.session.progress()["decided"] == 0
    review.stop()


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 61])
def test_a_reviewer_has_a_name(run, name):
    with pytest.raises(DataError, match="reviewer"):
        Review(of_run(run), name)


def test_the_port_may_be_taken(served, run):
    port = int(served.address.split(":")[2].partition("/")[0])
    with pytest.raises(DataError, match=f"port {port}"):
        Review(of_run(run), "ann", port)


def test_pictures_are_those_of_the_data(ask, served):
    import io

    import numpy as np
    from PIL import Image

    status, content, headers = ask("/picture/3")
    assert (status, headers["Content-Type"]) == (200, "image/png")
    raw = served.session.subject.similar.dataset.inputs[3, 0].numpy()
    shown = np.asarray(Image.open(io.BytesIO(content)))
    np.testing.assert_array_equal(shown, raw)
    assert ask("/picture/99999")[0] == 422


def test_data_that_are_gone_are_reported_and_labels_can_still_be_decided(run, monkeypatch):
    def gone(*_):
        raise DataError("photos: there is no such folder")

    monkeypatch.setattr("reweigh.runs.read.read_training_set", gone)
    review = Review(of_run(run), "ann")
    assert "photos" in review.session.start()["trouble"]
    assert review.session.cards.card(0)["values"] == []
    assert review.session.decide(0, 1)["decided"] == 1
    with pytest.raises(DataError, match="not images"):
        review.session.cards.picture(0)
    review.stop()


def test_data_that_changed_are_not_shown_beside_labels_of_others(run, monkeypatch):
    from reweigh.runs import read

    real = read.read_training_set

    def changed(*wanted):
        train, test = real(*wanted)
        return train.with_labels(train.labels.roll(1)), test

    monkeypatch.setattr(read, "read_training_set", changed)
    review = Review(of_run(run), "ann")
    assert "no longer those of the run" in review.session.start()["trouble"]
    review.stop()


def test_beside_a_sample_are_those_that_nothing_speaks_against(run):
    review = Review(of_run(run), "ann")
    session, samples = review.session, review.session.subject.samples
    index = session.queue({})[0]
    given = int(samples.given[index])
    for label, found in session.cards.similar(index).items():
        assert len(found) == MOST
        for each in found:
            assert samples.given[each["index"]] == int(label)
            assert not samples.issue[each["index"]]
    nearest = session.cards.similar(index)[str(given)][0]["index"]
    session.decide(nearest, (given + 1) % 10)  # a person says that it is something else
    assert nearest not in [each["index"] for each in session.cards.similar(index)[str(given)]]
    review.stop()


def test_without_a_window_there_is_an_address(run, monkeypatch):
    """No display, no browser, or one that cannot be started: the page is served all the same."""
    review = Review(of_run(run), "ann")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not review.open_browser()
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    assert not review.open_browser()

    def fail(address):
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr("webbrowser.open", fail)
    assert not review.open_browser()
    review.stop()


def test_two_browsers_of_one_person(ask, served, run):
    """What is decided in one counts in the other; of two decisions about a sample, the later one counts."""
    first = [index for group in ask("/wall")[1] for index in group["index"]][:3]
    assert ask("/decision", {"index": first, "label": "suggested"})[0] == 200
    left = [index for group in ask("/wall")[1] for index in group["index"]]
    assert not {*first} & {*left}
    assert ask("/decision", {"index": first[0], "label": "given"})[0] == 200  # in a page that was opened before
    assert ask("/progress")[1]["decided"] == 3
    row = served.session.subject.samples.row.tolist()[first[0]]
    assert served.decisions.of(row)["ann"].label == served.decisions.of(row)["ann"].given
    ask("/decision", {"undo": True})
    assert served.decisions.of(row)["ann"].label != served.decisions.of(row)["ann"].given


def test_the_first_wall_does_not_wait_until_samples_are_compared(ask, served, monkeypatch):
    """Until then the worst label comes first in each group; the page is told when to ask again."""
    similar, slow = served.session.subject.similar, threading.Event()
    rows = type(similar)._features
    monkeypatch.setattr(type(similar), "_features", lambda self, dataset: slow.wait(30) and rows(self, dataset))
    quality = served.session.subject.quality
    for group in ask("/wall?order=similar")[1]:
        assert (np.diff(quality[group["index"]]) >= 0).all()
    monkeypatch.setattr("reweigh.review.session.COMPARED_SECONDS", 0)
    assert ask("/compared")[1] == {"done": False, "again": True}
    slow.set()
    monkeypatch.setattr("reweigh.review.session.COMPARED_SECONDS", 30)
    assert ask("/compared")[1] == {"done": True, "again": True}
    assert ask("/compared")[1] == {"done": True, "again": False}
    largest = ask("/wall?order=similar")[1][0]["index"]
    assert largest == similar.chained(np.array(sorted(largest, key=lambda index: quality[index]))).tolist()


def test_samples_that_may_belong_to_no_class_are_a_wall_of_their_own(run):
    subject = of_run(run)
    assert Session(subject, "ann").start()["outliers"] == 0
    outlier = np.zeros(len(subject.samples.row), bool)
    outlier[[3, 7]] = True
    session = Session(replace(subject, samples=replace(subject.samples, outlier=outlier)), "ann")
    assert session.start()["outliers"] == 2
    (group,) = session.wall({"show": "outliers", "order": "similar"})
    assert sorted(group["index"]) == [3, 7]
    session.decide([3], exclude="no-class")
    assert session.queue({"show": "outliers"}) == [7]


def test_near_duplicates_come_in_groups_those_with_different_labels_first(run):
    subject = of_run(run)
    same, other = (np.flatnonzero(subject.samples.given == label)[:2] for label in (3, 5))
    pairs = {int(same[0]): int(same[1]), int(other[0]): int(np.flatnonzero(subject.samples.given == 7)[0])}
    copies = np.array(
        ["" if at not in pairs else str(subject.samples.row[pairs[at]]) for at in range(len(subject.samples))]
    )
    samples = replace(subject.samples, near_duplicate_of=copies)
    found = Session(replace(subject, samples=samples), "ann").wall({"show": "duplicates"})
    assert [(group["differ"], {*group["index"]}) for group in found] == [
        (True, {int(other[0]), pairs[int(other[0])]}),
        (False, {*same.tolist()}),
    ]
