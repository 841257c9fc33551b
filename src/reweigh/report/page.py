"""Render runs as one self-contained HTML page."""

import math
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from reweigh import __version__
from reweigh.errors import DataError
from reweigh.files import write_whole
from reweigh.report.content import Column, Table
from reweigh.report.figures.style import DARK, LIGHT
from reweigh.report.sections import SECTIONS
from reweigh.report.svg import to_svg
from reweigh.runs.headline import about, headline, held_out
from reweigh.runs.read import Account, read_accounts
from reweigh.runs.words import UNKNOWN, duration, in_words, measured

MOST_RUNS = 10  # beyond this nothing can be read side by side, and the page grows beyond three megabytes


def write_report(paths: Sequence[str | Path], out: str | Path) -> list[str]:
    """Write the report of some runs, and return the headline of each."""
    if not 1 <= len(paths) <= MOST_RUNS:
        raise DataError(f"{len(paths)} runs; a page holds 1 to {MOST_RUNS}, so write several pages")
    accounts = read_accounts([Path(path) for path in paths])
    write_whole(out, render(accounts).encode("utf-8", "replace"))  # file names may hold bytes that are not UTF-8
    return [headline(account) for account in accounts]


def render(accounts: Sequence[Account]) -> str:
    """The page; the same for the same runs, regardless of any ``matplotlibrc`` in the current folder."""
    import matplotlib as mpl
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("reweigh.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    numbers = count(1)
    environment.filters["svg"] = lambda plot: to_svg(plot.figure, f"f{next(numbers)}", plot.alternative)
    with mpl.rc_context():
        mpl.rcdefaults()
        return environment.get_template("page.html").render(
            accounts=accounts,
            headline=headline,
            about=about,
            key_numbers=key_numbers,
            comparison=comparison(accounts) if len(accounts) > 1 else None,
            same_data=all(account.recipe.source == accounts[0].recipe.source for account in accounts),
            sections={name: made for name, section in SECTIONS.items() if (made := section(accounts)) is not None},
            light=LIGHT,
            dark=DARK,
            version=__version__,
        )


def comparison(accounts: Sequence[Account]) -> Table:
    """The runs side by side: test metrics of the kept and the best epoch, labels that look wrong, time."""
    tests = list(dict.fromkeys(name for account in accounts for name in account.tests))
    kept_name = "last" if all(account.kept_name == "last" for account in accounts) else "kept"
    columns = [
        Column("run"),
        Column("method"),
        *(Column(f"{in_words(name)}, {kept_name} epoch", True) for name in tests),
        *(Column(f"{in_words(name)}, best epoch", True) for name in tests[:1]),
        Column("labels that look wrong", True),
        Column("time", True),
    ]
    rows = []
    for account in accounts:
        kept = account.kept
        rows.append(
            [
                account.name,
                account.method,
                *(shown(kept, name) for name in tests),
                *(shown(account.best, name) for name in tests[:1]),
                suspicious(account) or UNKNOWN,
                duration(account.seconds) if account.history else UNKNOWN,
            ]
        )
    return Table("The runs side by side", columns, rows)


def shown(line: dict[str, float], name: str) -> str:
    """A metric, or a dash if it is unknown."""
    return measured(name, line[name]) if math.isfinite(line.get(name, math.nan)) else UNKNOWN


def key_numbers(account: Account) -> list[tuple[str, str]]:
    """A few numbers with their names, shown in large letters."""
    numbers = []
    if account.tests:
        name = f"{in_words(account.tests[0])} on {'held-out' if held_out(account) else 'test'} labels"
        numbers.append((name, shown(account.kept, account.tests[0])))
    if found := suspicious(account):
        numbers.append(("labels that look wrong", found))
    if account.classes.sizes:
        numbers.append(("training samples", f"{sum(account.classes.sizes):,}"))
    if account.history:
        numbers.append(("training time", duration(account.seconds)))
    return numbers


def suspicious(account: Account) -> str:
    """How many labels look wrong, those that were held out included; empty if labels were not judged."""
    if account.samples is None or account.samples.issue is None:
        return ""
    parts = (account.samples, account.held_out)
    return f"{sum(int(part.issue.sum()) for part in parts if part is not None and part.issue is not None):,}"
