"""SVG in a page: colors follow the page, ids do not clash, text from data stays text."""

import re
from xml.etree import ElementTree

import numpy as np

from reweigh.report.figures import plot_losses, plot_matrix, plot_weights
from reweigh.report.figures.style import LIGHT
from reweigh.report.svg import to_svg

NAMES = ["<script>alert(1)</script>", "\"&'", "$a_b$", "$", "猫", "tab\tand\nline\0"]


def matrix():
    return plot_matrix(np.arange(36).reshape(6, 6), NAMES)


def texts(svg):
    return {element.text for element in ElementTree.fromstring(svg).iter() if element.text}


def test_it_is_an_image_with_an_alternative():
    root = ElementTree.fromstring(to_svg(matrix(), "a", 'counts "&<'))
    assert (root.get("role"), root.get("aria-label")) == ("img", 'counts "&<')
    assert root.get("viewBox")
    assert root.get("width") is None


def test_names_from_data_stay_text():
    svg = to_svg(matrix(), "a", "")
    assert "<script" not in svg
    assert {"<script>alert(1)</s…", "\"&'", "$a_b$", "$", "猫", "tab and line"} <= texts(svg)


def test_colors_follow_the_page():
    svg = to_svg(plot_weights(np.random.default_rng(0).random(50), np.arange(50) < 9), "a", "")
    for color in LIGHT.values():
        assert color not in svg
    assert {"var(--ink)", "var(--muted)", "var(--wrong)", "var(--line)"} <= set(re.findall(r"var\(--\w+\)", svg))


def test_ids_are_the_figures_own_and_every_reference_has_its_target():
    draw = np.random.default_rng(0)
    figure = plot_losses(draw.random(90), draw.integers(0, 3, 90), "abc")
    svg = to_svg(figure, "x", "")
    ids, used = set(re.findall(r'\bid="([^"]+)"', svg)), set(re.findall(r'(?:url\(|href=")#([^)"]+)', svg))
    assert used
    assert ids == used
    assert all(name.startswith("x-") for name in ids)
    assert "<style" not in svg


def test_the_same_figure_gives_the_same_text():
    assert to_svg(matrix(), "a", "") == to_svg(matrix(), "a", "")
