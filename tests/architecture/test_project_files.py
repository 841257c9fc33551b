"""What the project says about itself is true: files that docs name exist, the tree is the tree, versions agree."""

import re
import tomllib
from pathlib import Path

import reweigh

ROOT = Path(__file__).parents[2]


def rows():
    lines = (ROOT / "docs" / "paper-map.md").read_text().splitlines()
    return [line for line in lines if line.startswith("| ") and not line.startswith("| paper")]


def test_every_row_of_the_paper_map_leads_to_a_file():
    assert len(rows()) > 10
    for row in rows():
        files = re.findall(r"`([^`]+)`", row.rstrip("| ").rpartition("|")[2])
        assert files, row
        for file in files:
            assert (ROOT / file).is_file(), row


def test_every_equation_is_placed_or_said_to_be_missing():
    text = (ROOT / "docs" / "paper-map.md").read_text()
    placed = {int(number) for row in rows() for number in re.findall(r"Eq\. (\d+)", row)}
    missing = {number for low, high in re.findall(r"Eq\. (\d+)(?: to (\d+))?", text.partition("Not here yet")[2])
               for number in range(int(low), int(high or low) + 1)}  # fmt: skip
    assert placed | missing == set(range(1, 16))
    assert not placed & missing


def test_the_tree_of_the_readme_is_the_tree():
    tree = (ROOT / "README.md").read_text().partition("## The tree")[2].partition("\n## ")[0]
    folders = set(re.findall(r"^      (\w+)/ ", tree, re.MULTILINE))
    assert folders == {path.name for path in (ROOT / "src" / "reweigh").iterdir() if (path / "__init__.py").exists()}
    for file in re.findall(r"(\w+\.py)", tree):
        assert (ROOT / "src" / "reweigh" / file).is_file()


def test_every_file_that_the_docs_name_exists():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.toml")]
    named = {
        (page.name, file)
        for page in pages
        for file in re.findall(r"(?:benchmarks|tests|docs)/[\w/-]+\.(?:py|md)", page.read_text())
    }
    assert len(named) > 20
    assert not sorted((page, file) for page, file in named if not (ROOT / file).is_file())


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert citation is not None
    assert citation[1] == project["version"] == reweigh.__version__


def test_every_requirement_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    assert {re.split(r"[><=~!\[ ]", line)[0].lower() for line in wanted} <= pinned
    assert "torch==2.13.0\n" in (ROOT / "constraints.txt").read_text()


def test_the_lowest_versions_are_those_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lowest = dict(re.findall(r"^([a-z0-9-]+)==(\S+)$", (ROOT / "constraints-lowest.txt").read_text(), re.MULTILINE))
    for line in [*project["dependencies"], *project["optional-dependencies"]["test"]]:
        name, least = re.split(">=|==", line)
        assert lowest[name].split(".")[: least.count(".") + 1] == least.split("."), line


def test_contributing_is_short():
    assert len((ROOT / "CONTRIBUTING.md").read_text().splitlines()) <= 60
