"""What a notebook shows of a run or a model: a title, a small table, and a sentence."""

from collections.abc import Sequence
from html import escape
from numbers import Integral, Real

from reweigh.training.result import Result


def as_html(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]], words: str = "") -> str:
    """A fragment of HTML in the notebook's own colors; every text is escaped.

    Args:
        rows: One cell per head; numbers are written to three digits.
        words: below the table.
    """
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(shown(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else ""
    below = f"<p>{escape(words)}</p>" if words else ""
    return f"<div><p><strong>{escape(title)}</strong></p>{table}{below}</div>"


def result_html(title: str, result: Result, words: str = "") -> str:
    """The results of a training: every test metric of the epoch that was kept and of the best one."""
    if not result.history:
        return as_html(f"{title}: no epoch is finished yet", [], [])
    kept, best = result.kept, result.best
    tests = [name for name in kept if name.startswith("test_")]
    heads = ["test", f"{result.kept_name} epoch ({kept['epoch']})", f"best epoch ({best['epoch']})"]
    rows = [[name.removeprefix("test_").replace("_", " "), kept[name], best[name]] for name in tests]
    return as_html(f"{title}: {len(result.history)} epochs", heads, rows, words)


def shown(cell: object) -> str:
    """A cell as text."""
    fraction = isinstance(cell, Real) and not isinstance(cell, Integral)  # NumPy's too
    return f"{cell:.3f}" if fraction else str(cell)
