"""``reweigh review``: a page on this computer to go through suspicious labels and decide."""

from contextlib import suppress
from typing import Annotated

import typer

from reweigh.cli.arguments import RunFolder
from reweigh.cli.printing import echo


def review(
    run: RunFolder,
    reviewer: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Name of the reviewer. Default: your user name.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this computer. Default: any free one.")] = 0,
) -> None:
    """Check the labels that look wrong on a page in your browser.

    Each decision is written to RUN/decisions.jsonl at once, so you can stop and continue at any time. The page works on
    this computer only. Its address contains a secret token, so do not share it.
    """
    from reweigh.review import Review, of_run

    served = Review(of_run(run), reviewer, port)
    progress = served.session.progress()
    echo(
        f"{progress['suspicious']:,} labels look wrong; {served.session.reviewer} has decided on "
        f"{progress['decided']:,} samples."
    )
    if served.session.subject.trouble:
        echo(f"The samples themselves cannot be shown: {served.session.subject.trouble}")
    echo(f"Open {served.address}\nCtrl-C ends the review; decisions are in {served.session.subject.file}.")
    with suppress(KeyboardInterrupt):
        served.run()
    if served.decisions.count:
        echo(f"\nNext: reweigh train --reviewed {run} trains with these decisions.")
