"""A review in a real browser: by keyboard and by mouse, through a killed server, with names that try to be markup."""

import csv
import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from reweigh.review import Review, of_run

HOSTILE = ["<script>alert(1)</script>", "\"&'", "<img src=x onerror=alert(2)>", "\u202egnorw", "عربي", *"56789"]


def lines(run):
    return [json.loads(line) for line in (run / "decisions.jsonl").read_text().splitlines()]


class Server:
    """``reweigh review`` as a user starts it."""

    def __init__(self, run):
        command = [sys.executable, "-m", "reweigh", "review", str(run), "--as", "ann", "--no-browser"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, bufsize=1)
        assert self.process.stdout is not None
        text = ""
        while not (found := re.search(r"Open (http://127\.0\.0\.1:\d+/\S+/)", text)):
            line = self.process.stdout.readline()
            assert line, text
            text += line
        self.address = found[1]

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        rest = self.process.communicate(timeout=30)[0]
        return self.process.returncode, rest


@pytest.fixture
def visit(browser):
    contexts, trouble = [], []

    def open_page(address, width=1280, height=800, view="cards", **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(15_000)
        tab.on("pageerror", lambda error: trouble.append(str(error)))
        tab.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
        tab.on("request", lambda request: request.url.startswith((address, "data:")) or trouble.append(request.url))
        tab.goto(address)
        tab.wait_for_selector(".labels, .tile > *")
        if view == "cards" and tab.locator("#cards").is_visible():
            tab.keyboard.press("c")
            tab.wait_for_selector(".labels")
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert trouble == []


def row(tab):
    return int(re.search(r"row (\d+)", tab.locator(".called").inner_text())[1])


def after(tab, before):
    """The row on the page, once it is another one."""
    expect(tab.locator(".called")).not_to_have_text(re.compile(f"row {before}\\b"))
    return row(tab)


def press(tab, key, decided):
    """Press a key, and wait until as many samples as that are decided."""
    tab.keyboard.press(key)
    done(tab, decided)


def done(tab, decided):
    expect(tab.locator("#done")).to_contain_text(f", {decided} in all")


def test_a_review_survives_a_killed_server(run, visit):
    server = Server(run)
    tab = visit(server.address)
    first = row(tab)
    press(tab, "a", 1)
    second = after(tab, first)
    press(tab, "k", 2)
    third = after(tab, second)
    tab.locator("#unsure").click()
    done(tab, 3)
    fourth = after(tab, third)
    tab.keyboard.press("o")
    tab.keyboard.type("7")
    press(tab, "Enter", 4)
    after(tab, fourth)
    press(tab, "z", 3)
    expect(tab.locator(".called")).to_have_text(re.compile(f"row {fourth}\\b"))
    tab.keyboard.press("n")
    after(tab, fourth)
    tab.keyboard.press("b")
    expect(tab.locator(".called")).to_have_text(re.compile(f"row {fourth}\\b"))
    written = lines(run)
    assert [(line["row"], line["undo"]) for line in written[:2]] == [(first, False), (second, False)]
    assert written[0]["label"] != written[0]["given"]
    assert written[1]["label"] == written[1]["given"]
    assert [line["label"] for line in written[2:]] == [None, "7", None]
    assert written[4]["undo"]

    server.kill()
    tab.keyboard.press("a")
    tab.wait_for_selector("#said.error")
    assert "on disk" in tab.locator("#said").inner_text()
    assert lines(run) == written

    server = Server(run)
    tab = visit(server.address)
    assert ", 3 in all" in tab.locator("#done").inner_text()
    assert row(tab) == fourth  # where it stopped
    press(tab, "a", 4)
    code, said = server.kill(signal.SIGINT)
    assert code == 0
    assert f"reweigh train --reviewed {run}" in said
    assert lines(run)[:5] == written


def test_an_audit_is_blind_and_says_what_it_found(run, visit):
    review = Review(of_run(run), "ann", audit=4).start()
    try:
        tab = visit(review.address)
        expect(tab.locator("h1")).to_contain_text("Audit")
        for hidden in ("#filters", "#accept", ".labels .suggested"):
            expect(tab.locator(hidden)).to_be_hidden()
        for decided in range(1, 5):
            expect(tab.locator("#done")).to_contain_text(f"{decided - 1} of 4 drawn at random")
            press(tab, "k", decided)
        expect(tab.locator("#left")).to_contain_text("Audited: 0%")
        expect(tab.locator(".end")).to_contain_text("This was the last sample")
    finally:
        review.stop()
    assert [line["audit"] for line in lines(run)] == [True] * 4


def test_a_wall_is_decided_by_click_drag_shift_and_keys_and_undone_after_a_reload(run, visit):
    review = Review(of_run(run), "ann").start()
    try:
        tab = visit(review.address, view="grid")
        expect(tab.locator("#why")).to_contain_text("labels that look wrong")
        pressed, tile = tab.locator(".tile[aria-pressed=true]"), tab.locator(".tile")
        size = int(tab.locator(".count").first.inner_text())
        tile.nth(0).click()
        tile.nth(4).click(modifiers=["Shift"])
        expect(pressed).to_have_count(5)
        tile.nth(2).click()
        expect(tab.locator("#accept")).to_have_text("A Accept 4")
        left = tile.nth(2).evaluate("tile => { tile.mine = true; return tile.dataset.index; }")
        press(tab, "a", 4)
        expect(tab.locator(".count").first).to_have_text(str(size - 4))
        assert tab.evaluate("index => document.querySelector(`[data-index='${index}']`).mine", left)  # not made anew
        assert all(line["label"] != line["given"] for line in lines(run))

        box = tile.nth(0).bounding_box()
        tab.mouse.move(box["x"] + 10, box["y"] + 10)
        tab.mouse.down()
        tab.mouse.move(box["x"] + box["width"] * 1.5, box["y"] + 40, steps=4)
        tab.mouse.up()
        expect(pressed).to_have_count(2)
        tab.keyboard.press("x")
        press(tab, "2", 6)
        assert [line["exclude"] for line in lines(run)[4:]] == ["unusable"] * 2

        tile.nth(0).focus()
        tab.keyboard.press("Shift+ArrowRight")
        expect(pressed).to_have_count(2)
        tab.keyboard.press("Escape")
        expect(pressed).to_have_count(0)
        tab.keyboard.press("s")
        expect(tab.locator("#keep")).to_have_text(f"K Keep {size - 6}")
        press(tab, "k", size)

        tab.reload()
        tab.wait_for_selector(".tile > *")
        press(tab, "z", 6)
        expect(tab.locator(".count").first).to_have_text(str(size - 6))
        press(tab, "z", 4)
        press(tab, "z", 0)
        expect(tab.locator("#undo")).to_be_disabled()
        expect(tab.locator(".count").first).to_have_text(str(size))

        expect(tile.nth(1)).to_have_attribute("title", re.compile("row"))
        named = tile.nth(1).get_attribute("title")
        tile.nth(1).focus()
        tab.keyboard.press("Enter")
        expect(tab.locator(".called")).to_have_text(re.compile(named.split(",")[0] + r"\b"))
        tab.keyboard.press("g")
        expect(tile.nth(1)).to_be_focused()
        tab.keyboard.press("?")
        expect(tab.locator("#keys")).to_be_visible()
    finally:
        review.stop()


def test_filters_show_what_they_say(run, visit):
    review = Review(of_run(run), "ann").start()
    try:
        tab = visit(review.address)
        tab.locator("#filters summary").click()
        pair = tab.locator("#wanted [name=pair] option").nth(1)
        given, suggested, count = re.fullmatch(r"(\d) → (\d) \((\d+)\)", pair.inner_text()).groups()
        tab.locator("#wanted [name=pair]").select_option(pair.get_attribute("value"))
        expect(tab.locator("#filtered")).to_contain_text(f"{count} samples")
        expect(tab.locator(".labels .given dd")).to_have_text(given)
        expect(tab.locator(".labels .suggested dd")).to_have_text(suggested)
        tab.locator("#wanted [name=state]").select_option("decided")
        tab.wait_for_selector(".end")
    finally:
        review.stop()


@pytest.fixture
def hostile(run, tmp_path) -> Path:
    """A run whose classes have names that should not be taken for HTML."""
    path = Path(shutil.copytree(run, tmp_path / "<i>run"))
    (path / "SHA256SUMS").unlink()
    classes = json.loads((path / "classes.json").read_text())
    (path / "classes.json").write_text(json.dumps({**classes, "names": HOSTILE}))
    with open(path / "samples.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    with open(path / "samples.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        for each in rows:
            names = {key: HOSTILE[int(each[key])] for key in each if key.endswith("_label") and each[key]}
            writer.writerow(each | names)
    return path


def audit(tab):
    """Nothing on the page keeps anybody from using it."""
    from axe_playwright_python.sync_playwright import Axe

    violations = Axe().run(tab, options={"resultTypes": ["violations"]}).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in violations] == []


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (768, "light"), (1280, "dark")])
def test_names_stay_text_the_page_fits_and_everybody_can_use_it(hostile, visit, width, scheme):
    review = Review(of_run(hostile), "<b>ann</b>").start()
    try:
        tab = visit(review.address, width, 844, color_scheme=scheme)
        assert tab.evaluate("document.querySelectorAll('script').length") == 3
        assert tab.locator("#reviewer").inner_text() == "<b>ann</b>"
        assert tab.evaluate("document.documentElement.scrollWidth") == width
        assert tab.evaluate("getComputedStyle(document.querySelector('.labels bdi')).unicodeBidi") == "isolate"
        for _ in range(2):
            found = tab.evaluate("document.getElementById('accept').getBoundingClientRect().bottom <= innerHeight")
            assert found  # the buttons are never below the fold
            tab.keyboard.press("n")
        audit(tab)
        tab.keyboard.press("g")
        tab.wait_for_selector(".tile > *")
        assert tab.evaluate("document.documentElement.scrollWidth") == width
        audit(tab)
        tab.keyboard.press("m")
        tab.wait_for_selector("#legend li")
        tab.select_option("#map select", "class")
        assert tab.locator("#legend").get_by_text("<script>alert(1)</script>").count() == 1
        assert tab.evaluate("document.documentElement.scrollWidth") == width
        audit(tab)
        tab.locator("#grid").click()
        tab.wait_for_selector(".tile > *")
        tab.locator("summary").click()
        audit(tab)  # with the filters open
        expect(tab.locator("#other")).to_be_enabled()
        tab.keyboard.press("o")
        expect(tab.locator("#found").get_by_text("<script>alert(1)</script>")).to_have_count(1)
        audit(tab)
    finally:
        review.stop()


def test_the_map_leads_to_the_samples_in_a_rectangle(run, visit):
    review = Review(of_run(run), "ann").start()
    try:
        tab = visit(review.address, view="grid")
        tab.keyboard.press("m")
        tab.wait_for_selector("#legend li")
        data = review.session.map()
        tab.select_option("#map select", "class")
        expect(tab.locator("#legend li")).to_have_count(10)
        box = tab.locator("#map canvas").bounding_box()
        assert box is not None
        tab.mouse.move(box["x"] + 1, box["y"] + 1)
        tab.mouse.down()
        tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 1, steps=3)
        tab.mouse.up()
        left = sum(x < 65535 / 2 for x in data["x"])
        expect(tab.locator("#why")).to_contain_text("chosen on the map")
        counted = int(re.sub(r"\D", "", tab.locator("#why").inner_text().split(" samples")[0]))
        assert abs(counted - left) <= 3  # those on the line
        tab.locator("#filters summary").click()
        tab.select_option("#wanted [name=show]", "suspicious")
        expect(tab.locator("#why")).not_to_contain_text("chosen on the map")
    finally:
        review.stop()
