"""``reweigh review`` and ``reweigh audit``: a page on this computer to go through labels and decide."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reweigh.cli.arguments import RunFolder
from reweigh.cli.printing import echo, show_table
from reweigh.names import plural

if TYPE_CHECKING:
    from reweigh.review import Review

Reviewer = Annotated[
    str | None, typer.Option("--as", metavar="NAME", help="Name of the reviewer. Default: your user name.")
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port on this computer. Default: any free one.")]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Print the address only; do not open a browser.")]


def review(run: RunFolder, reviewer: Reviewer = None, port: Port = 0, no_browser: NoBrowser = False) -> None:
    """Check the labels that look wrong on a page in your browser.

    Each decision is written to RUN/decisions.jsonl at once, so you can stop and continue at any time. The page works on
    this computer only. Its address contains a secret token, so do not share it.
    """
    if decide(run, reviewer, port, no_browser):
        echo(f"\nNext: reweigh train --reviewed {run} trains with these decisions.")


def decide(run: Path, reviewer: str | None, port: int, no_browser: bool) -> int:
    """Serve the review of a run until Ctrl-C; returns how many decisions there are."""
    from reweigh.review import Review, of_run

    served = Review(of_run(run), reviewer, port)
    progress = served.session.progress()
    echo(
        f"{progress['suspicious']:,} labels look wrong; {served.session.reviewer} has decided on "
        f"{progress['decided']:,} samples."
    )
    if served.session.subject.trouble:
        echo(f"The samples themselves cannot be shown: {served.session.subject.trouble}")
    _serve(served, no_browser)
    served.stop()
    return served.decisions.count


def _serve(served: "Review", no_browser: bool) -> None:
    opened = not no_browser and served.open_browser()
    echo(f"{'Opened in your browser:' if opened else 'Open'} {served.address}")
    echo(f"Ctrl-C ends; each decision is written to {served.session.subject.file} at once.")
    with suppress(KeyboardInterrupt):
        served.run()


def audit(
    run: RunFolder,
    n: Annotated[int, typer.Option("--n", min=0, help="Number of labels to decide about; 0 prints the result.")] = 100,
    reviewer: Reviewer = None,
    port: Port = 0,
    no_browser: NoBrowser = False,
) -> None:
    """Find out how many labels are wrong, by checking a few that are drawn at random.

    The page shows samples without what training thinks of their labels. Each decision is written to
    RUN/decisions.jsonl at once, so you can stop and continue at any time, and also trains with --reviewed.
    """
    from reweigh.runs.audit import audited

    if n:
        from reweigh.review import Review, of_run

        served = Review(of_run(run), reviewer, port, n)
        progress = served.session.progress()["audit"]
        left = progress["n"] - progress["decided"]
        if progress["n"] < n:
            echo(f"There are only {plural(progress['n'], 'label')} to draw.")
        if left and served.session.subject.trouble:
            echo(f"The samples themselves cannot be shown: {served.session.subject.trouble}")
        if left:
            echo(f"{left:,} of {progress['n']:,} labels are to be decided about by {served.session.reviewer}.")
            _serve(served, no_browser)
        served.stop()
    found = audited(run)
    if found is None:
        echo(f"Nothing was decided yet; reweigh audit {run} shows the labels that were drawn.")
        return
    echo(f"{found}")
    if found.classes:
        rows = [[str(name), *(f"{each:.1%}" for each in share)] for name, share in found.classes.items()]
        show_table("Wrong labels by given class", ["class", "share", "from", "to"], rows)
    echo(f"Next: reweigh train --reviewed {run} trains with these decisions.")
