"""Render runs as one self-contained HTML page."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path

from reweigh import __version__
from reweigh.errors import DataError
from reweigh.files import write_whole
from reweigh.report.account import Account
from reweigh.report.figures.style import DARK, LIGHT
from reweigh.report.headline import about, comparison, headline, key_numbers
from reweigh.report.read import read_accounts
from reweigh.report.sections import SECTIONS
from reweigh.report.svg import to_svg

MOST_RUNS = 10  # beyond this nothing can be read side by side, and the page grows beyond three megabytes


def write_report(paths: Sequence[str | Path], out: str | Path) -> list[str]:
    """Write the report of some runs, and return the headline of each.

    Args:
        paths: Run folders; several are shown side by side.
        out: The HTML file, replaced if it exists.

    Raises:
        DataError: There is no run at a path, a file of it is broken, or there are too many runs.
        RecipeError: A recipe cannot be read here, such as that of a newer version.
    """
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
