"""``reweigh report``: what came of runs, as one page to open in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from reweigh.errors import RecipeError


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders; several are told side by side.")],
    out: Annotated[
        Path | None, typer.Option(help="The page; RUN/report.html if not given, report.html for several runs.")
    ] = None,
) -> None:
    """Tell what came of runs in one page.

    What was learned about the samples, which labels look wrong, and how good the model is. The page needs no network.
    """
    from reweigh.training.run import Run

    page = out or (Run(runs[0]).report if len(runs) == 1 else Path(Run(runs[0]).report.name))
    if out and out.is_dir():
        raise RecipeError(f"--out {out}: is a folder; give the name of a file, such as {out / 'report.html'}")
    if out and not out.absolute().parent.is_dir():
        raise RecipeError(f"--out {out}: there is no folder {out.parent}; make it first, or choose another")

    from reweigh.report.page import write_report

    for headline in write_report(runs, page):
        typer.echo(headline.replace("\N{NO-BREAK SPACE}", " "))
    typer.echo(f"Report: {page} ({page.stat().st_size / 1e6:.1f} MB); open it in a browser")
