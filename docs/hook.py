"""What MkDocs cannot read from docs/ as it is: pages of the gallery, made by running its scripts, and lists of parts.

A script of the gallery is a docstring (title and introduction), then cells: ``# %%``, comments (Markdown), code. Each
cell is run; what it prints and the figures it draws follow it on the page. ``GALLERY=show`` builds without running.
"""

import ast
import contextlib
import io
import json
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

SCRIPTS = sorted((Path(__file__).parent / "gallery").glob("*.py"))


class Cell(NamedTuple):
    """Words of the page, the code below them, what the code printed, and the figures that it drew, as SVG."""

    words: str
    code: str
    printed: str = ""
    figures: Sequence[bytes] = ()


def cells(script: str) -> list[Cell]:
    """The docstring, then the cells of a script."""
    opening, *rest = re.split(r"^# %%.*\n", script, flags=re.MULTILINE)
    found = [Cell(ast.get_docstring(ast.parse(opening)) or "", "")]
    for text in rest:
        words = re.match(r"(#.*\n)*", text)
        assert words is not None
        found.append(Cell(re.sub(r"^# ?", "", words[0], flags=re.MULTILINE), text[words.end() :].strip()))
    return found


def ran(code: str, names: dict[str, Any]) -> tuple[str, list[bytes]]:
    """Run a cell: what it printed, and its figures as SVG."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.use("agg")  # no window
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    figures = []
    for number in plt.get_fignums():
        with io.BytesIO() as file:
            plt.figure(number).savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
            figures.append(file.getvalue())
    plt.close("all")
    return printed.getvalue().rstrip(), figures


def executed(path: Path) -> list[Cell]:
    """The cells of a script with what they print and draw, run in an empty folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return [Cell(words, code, *ran(code, names)) for words, code, *_ in cells(path.read_text())]


def page(name: str, found: Sequence[Cell]) -> tuple[str, dict[str, bytes]]:
    """The page of a script in Markdown, and its figures by file name."""
    parts, pictures = [], {}
    for cell in found:
        parts += [cell.words, f"```python\n{cell.code}\n```" if cell.code else ""]
        parts.append(f"```text\n{cell.printed}\n```" if cell.printed else "")
        for figure in cell.figures:
            picture = f"{name}-{len(pictures) + 1}.svg"
            pictures[picture] = figure
            parts.append(f"![Figure {len(pictures)} of this page]({picture})")
    parts.append(f"[This page as a notebook]({name}.ipynb)")
    return "\n\n".join(part for part in parts if part), pictures


def notebook(found: Sequence[Cell]) -> str:
    """The script as a Jupyter notebook, with its outputs."""
    made: list[dict[str, Any]] = []
    for number, cell in enumerate(found):
        if cell.words:
            made.append({"cell_type": "markdown", "metadata": {}, "source": cell.words})
        if cell.code:
            outputs: list[dict[str, Any]] = []
            if cell.printed:
                outputs.append({"output_type": "stream", "name": "stdout", "text": cell.printed})
            for figure in cell.figures:
                data = {"image/svg+xml": figure.decode()}
                outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
            code = {"source": cell.code, "outputs": outputs, "execution_count": number}
            made.append({"cell_type": "code", "metadata": {}, **code})
    for number, cell in enumerate(made):
        cell["id"] = f"cell-{number}"
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def gallery(run: bool) -> Iterator[tuple[str, str | bytes]]:
    """Every file of the gallery: its path below docs/, and its content."""
    entries = []
    for script in SCRIPTS:
        found = executed(script) if run else cells(script.read_text())
        content, pictures = page(script.stem, found)
        yield f"gallery/{script.stem}.md", content
        yield f"gallery/{script.stem}.ipynb", notebook(found)
        yield from ((f"gallery/{name}", figure) for name, figure in pictures.items())
        title, _, introduction = found[0].words.partition("\n\n")
        first = introduction.partition("\n\n")[0].replace("\n", " ")
        entries.append(f"## [{title.removeprefix('# ')}]({script.stem}.md)\n\n{first}")
        if pictures:
            entries.append(f"[![What it draws]({next(iter(pictures))}){{ width=420 }}]({script.stem}.md)")
    lead = "Each page is a short script that was run when this site was built. Each is a notebook, too."
    yield "gallery/index.md", "\n\n".join(["# Gallery", lead, *entries])


def tables() -> str:
    """Everything that recipes and arguments can name, as ``reweigh list`` shows it."""
    from reweigh.cli.list import row_of
    from reweigh.plan.plan import TABLES, members

    parts = ["# Everything with a name", "The names that recipes and arguments take, as `reweigh list` shows them."]
    for table in TABLES:
        rows = [[cell.replace("|", "\\|") for cell in row_of(name, part)] for name, part in members(table).items()]
        lines = [f"| `{name}` | {words} | {f'`{options}`' if options else ''} |" for name, words, options in rows]
        parts.append("\n".join([f"## {table}", "", "| name | what it is | options |", "|---|---|---|", *lines]))
    return "\n\n".join(parts).replace("``", "`")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is generated."""
    made = {"reference/tables.md": tables(), **dict(gallery(os.environ.get("GALLERY") != "show"))}
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The gallery in the navigation, as far as there are scripts."""
    pages = ["gallery/index.md", *(f"gallery/{script.stem}.md" for script in SCRIPTS)]
    assert config.nav is not None
    config.nav = [{"Gallery": pages} if entry == {"Gallery": "gallery/"} else entry for entry in config.nav]
    return config
