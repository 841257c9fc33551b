"""The page in a real browser: it sorts, asks for nothing, fits a phone, knows the dark, and runs no text from data."""

import re

import pytest

from reweigh.report.figures.style import LIGHT
from reweigh.runs.words import UNKNOWN

SORTED = "#suspects .panel:first-child table"


@pytest.fixture
def visit(browser, page):
    """Opens the page; whatever it says on the console, asks of the network, or pops up, ends in a list."""
    contexts, trouble = [], []

    def open_page(width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: trouble.append(message.text))
        tab.on("pageerror", lambda error: trouble.append(str(error)))
        tab.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))

        def route(call):
            url = call.request.url
            if url == page.as_uri() or url.startswith("data:"):
                call.continue_()
            else:
                trouble.append(url)
                call.abort()

        context.route("**/*", route)
        tab.goto(page.as_uri())
        tab.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert trouble == []


def column(page, place):
    return page.eval_on_selector_all(f"{SORTED} tbody tr", f"rows => rows.map(row => row.cells[{place}].textContent)")


def test_it_renders_whole_and_asks_for_nothing(visit):
    page = visit()
    assert page.title().endswith("reweigh report")
    boxes = page.eval_on_selector_all(
        "figure svg",
        "all => all.map(one => [one.clientWidth, one.clientHeight, one.querySelectorAll('path, image').length])",
    )
    assert len(boxes) > 12
    assert all(min(box) > 0 for box in boxes)
    loaded = page.eval_on_selector_all("img", "all => all.map(one => one.complete && one.naturalWidth)")
    assert loaded
    assert all(loaded)


def test_names_from_data_are_shown_and_never_run(visit):
    page = visit()
    assert page.get_by_text("<script>alert(1)</script>").count() > 0
    assert page.locator("svg text", has_text="<script>").count() > 0
    assert page.locator("svg text", has_text="$a_b$").count() > 0
    assert page.evaluate("document.querySelectorAll('script').length") == 1


def test_sorting_by_click(visit):
    page = visit()
    quality = [float(text) for text in column(page, 4)]
    assert quality == sorted(quality)
    header = page.locator(f"{SORTED} thead th").nth(5)
    header.get_by_role("button").click()
    weights = [float(text) for text in column(page, 5)]
    assert weights == sorted(weights)
    assert header.get_attribute("aria-sort") == "ascending"
    header.get_by_role("button").click()
    assert [float(text) for text in column(page, 5)] == sorted(weights, reverse=True)
    assert header.get_attribute("aria-sort") == "descending"
    assert page.locator(f"{SORTED} [aria-sort]").count() == 1
    assert page.locator("#said").text_content() == "sorted by weight, descending"


def test_sorting_by_keyboard_and_unknown_cells_last(visit):
    page = visit()
    page.evaluate(f"document.querySelector('{SORTED} tbody tr').cells[1].textContent = '{UNKNOWN}'")
    page.locator(f"{SORTED} thead button").first.focus()
    page.keyboard.press("Enter")
    samples = [int(text) for text in column(page, 0)]
    assert samples == sorted(samples)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "given"
    for _ in range(2):
        page.keyboard.press("Space")
        assert column(page, 1)[-1] == UNKNOWN
        assert UNKNOWN not in column(page, 1)[:-1]


def test_the_first_tab_skips_to_the_report(visit):
    page = visit()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    box = page.locator(".skip").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_dark(visit):
    def colors(scheme):
        page = visit(color_scheme=scheme)
        return page.evaluate(
            "[getComputedStyle(document.documentElement).backgroundColor,"
            " getComputedStyle(document.querySelector('figure svg text')).fill]"
        )

    def brightness(color):
        return sum(map(int, re.findall(r"\d+", color)[:3])) / 765

    (light_page, light_text), (dark_page, dark_text) = colors("light"), colors("dark")
    assert brightness(light_page) > 0.9 > 0.3 > brightness(light_text) - 0.1
    assert brightness(dark_page) < 0.2 < 0.6 < brightness(dark_text)


@pytest.mark.parametrize("width", [360, 768])
def test_the_page_never_scrolls_sideways(visit, width):
    page = visit(width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    inside = page.eval_on_selector_all(
        "main *",
        """all => all.filter(one => !one.closest('.scroll, pre, svg, .unseen')
            && one.getBoundingClientRect().right > innerWidth + 1).map(one => one.outerHTML.slice(0, 80))""",
    )
    assert inside == []


def test_runs_stand_side_by_side_where_there_is_room(visit):
    def places(width):
        page = visit(width)
        return page.eval_on_selector_all(
            "#classes .panel", "all => all.map(one => one.getBoundingClientRect()).map(box => [box.x, box.y])"
        )

    (left, top), (right, other_top) = places(1280)
    assert left < right
    assert top == other_top
    (left, top), (right, other_top) = places(360)
    assert left == right
    assert top < other_top


def test_print_shows_every_row_in_light(visit):
    page = visit(color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    for name, light in {"--ink": LIGHT["ink"], "--paper": "#ffffff"}.items():
        assert page.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('{name}')") == light
    clipped = page.eval_on_selector_all(".scroll", "all => all.filter(one => one.scrollHeight > one.clientHeight + 2)")
    assert clipped == []
    assert not page.locator("nav").is_visible()


def test_on_a_phone_samples_stand_side_by_side(visit):
    tops = "cards => cards.slice(0, 2).map(card => card.getBoundingClientRect().top)"
    first, second = visit(390).eval_on_selector_all(".gallery li", tops)
    assert first == second


def test_cards_of_one_label_and_sorted_by_label(visit):
    page = visit()
    cards = page.locator("#suspects .panel").first.locator(".gallery li")
    form = page.locator("form.pick").first
    given = cards.evaluate_all("all => all.map(one => one.dataset.given)")
    form.locator("[name=given]").select_option(given[3])
    assert cards.locator("visible=true").count() > 0
    shown = cards.evaluate_all("all => all.filter(one => one.offsetParent).map(one => one.dataset.given)")
    assert shown == [name for name in given if name == given[3]]
    assert page.locator("#said").text_content() == f"{len(shown)} samples"
    form.locator("[name=given]").select_option("")
    form.locator("[name=order]").select_option("suggested")
    suggested = cards.evaluate_all("all => all.map(one => one.dataset.suggested)")
    assert len(suggested) == len(given)
    firsts = [name for place, name in enumerate(suggested) if place == 0 or suggested[place - 1] != name]
    assert len(firsts) == len(set(firsts))  # each label in one piece


def test_values_at_the_pointer(visit):
    titles = visit().eval_on_selector_all("#confusion svg title", "all => all.map(one => one.textContent)")
    assert len(titles) > 20
    assert all(re.search(r"[\d,]+ of [\d,]+$", title) for title in titles)


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (768, "dark"), (1280, "light")])
def test_everybody_can_use_it(visit, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = visit(width, color_scheme=scheme)
    alike = "tbody tr:nth-child(n+4), .gallery li:nth-child(n+4)"  # thousands of cells, whose contrast takes minutes
    page.eval_on_selector_all(alike, "all => all.forEach(one => one.remove())")
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []
