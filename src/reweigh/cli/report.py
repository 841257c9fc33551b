"""``reweigh report``: the results of runs as one page to open in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from reweigh.cli.arguments import check_target, latest_run
from reweigh.cli.printing import echo
from reweigh.errors import DataError


def report(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN]...", help="Run folders; several are shown side by side. Default: the latest in runs."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Page to write. Default: RUN/report.html, or report.html for several runs.")
    ] = None,
) -> None:
    """Show the results of runs on one page.

    The page shows what was learned about the samples, which labels look wrong, and how good the model is. It works
    offline.
    """
    from reweigh.training.run import Run

    runs = runs or [latest_run()]
    page = out or (Run(runs[0]).report if len(runs) == 1 else Path(Run(runs[0]).report.name))
    if out and out.is_dir():
        raise DataError(f"--out {out}: is a folder; give the name of a file, such as {out / 'report.html'}")
    if out:
        check_target("--out", out, [out], [], overwrite=True)

    from reweigh.report.page import write_report

    for headline in write_report(runs, page):
        echo(headline)
    echo(f"Report: {page} ({page.stat().st_size / 1e6:.1f} MB); open it in a browser")
