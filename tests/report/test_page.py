"""The page is one file that is whole, small, ordered and safe."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pytest
import torch

from reweigh.errors import DataError
from reweigh.report.page import MOST_RUNS, render, write_report
from reweigh.report.sections import SECTIONS
from reweigh.report.sections.labels import MAX_CARDS, MAX_CARDS_OF_ALL, MAX_ROWS, MAX_ROWS_OF_ALL


class Outline(HTMLParser):
    """Tags, ids and headings in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.headings = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if re.fullmatch(r"h\d", tag):
            self.headings.append(int(tag[1]))

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def test_structure(page):
    outline = Outline(page.read_text())
    assert outline.all("html")[0]["lang"] == "en"
    assert len(outline.ids) == len(set(outline.ids))
    absent = {"candidates", "columns", "convergence", "labelers", "neighbors", "wrong-labels"}  # these runs have none
    assert set(SECTIONS) - absent <= set(outline.ids)
    for landmark in ("header", "nav", "main", "footer"):
        assert len(outline.all(landmark)) == 1
    assert outline.headings[0] == 1
    assert outline.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(outline.headings, outline.headings[1:], strict=False))
    for link in outline.all("a"):
        assert link["href"].removeprefix("#") in outline.ids
    assert all(header["scope"] in ("col", "row") for header in outline.all("th"))
    assert all(image["alt"] and image["src"].startswith("data:image/png") for image in outline.all("img"))


def test_every_figure_tells_numbers(page):
    figures = [attrs for attrs in Outline(page.read_text()).all("svg") if "aria-hidden" not in attrs]
    assert len(figures) > 12
    for attrs in figures:
        assert attrs["role"] == "img"
        assert len(re.findall(r"\d", attrs["aria-label"])) >= 4


def test_nothing_is_fetched(page):
    text = page.read_text()
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'" in text
    addresses = [value for _, attrs in Outline(text).tags for name, value in attrs.items() if name in ("src", "href")]
    assert all(value.startswith(("#", "data:")) for value in addresses)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_names_from_data_are_escaped(page):
    text = page.read_text()
    assert len(Outline(text).all("script")) == 1
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert not Outline(text).all("i")


def test_a_page_of_many_runs_stays_below_three_megabytes(account):
    """The worst case of a run, noise in color and every label suspicious, times the most runs."""
    noise = torch.randint(256, (len(account.dataset), 3, 64, 64), dtype=torch.uint8)
    worst = replace(
        account,
        dataset=replace(account.dataset, inputs=noise),
        samples=replace(account.samples, issue=np.ones(len(account.samples), bool)),
    )
    text = render([worst])
    cards, rows = (sum(map(len, re.findall(f"(?s)<{tag}[ >].+?</{tag}>", text))) for tag in ("li", "tr"))
    assert min(cards, rows) > 50_000
    rest = len(text.encode()) - cards - rows
    assert MOST_RUNS * rest + MAX_CARDS_OF_ALL / MAX_CARDS * cards + MAX_ROWS_OF_ALL / MAX_ROWS * rows < 3e6


def test_too_many_runs(trained, tmp_path):
    with pytest.raises(DataError, match=f"{MOST_RUNS + 1} runs; a page holds 1 to {MOST_RUNS}"):
        write_report([trained["erm"]] * (MOST_RUNS + 1), tmp_path / "page.html")


def test_one_run_with_a_headline_and_nothing_else_is_written(trained, plain, tmp_path):
    """A matplotlibrc of the current folder is not obeyed: it comes with the data, and could start LaTeX."""
    out = tmp_path / "page.html"
    with mpl.rc_context({"text.usetex": True, "font.size": 40, "axes.grid": True}):
        (line,) = write_report([trained["erm"]], out)
    assert "The model (erm) reaches" in line
    assert out.read_text().rstrip().endswith("</html>")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert len(Outline(out.read_text()).all("dd")) >= 3
    assert out.read_text() == render([replace(plain, name="erm", path=trained["erm"])])
