"""The command ``reweigh``: its verbs, and how the user is told what went wrong."""

import logging
import os
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from reweigh import __version__
from reweigh.cli.compare import compare
from reweigh.cli.corrupt import corrupt
from reweigh.cli.data import data
from reweigh.cli.export import export
from reweigh.cli.inspect import inspect
from reweigh.cli.issues import issues
from reweigh.cli.list import list_members
from reweigh.cli.predict import predict
from reweigh.cli.report import report
from reweigh.cli.show import show
from reweigh.cli.train import train
from reweigh.cli.transfer import transfer
from reweigh.errors import ReweighError
from reweigh.memory import keep_freed_memory


class Verbs(TyperGroup):
    """Tells errors that the user can mend in one message; exits 2 after them and 130 after Ctrl-C."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, sorted(args, key=lambda arg: arg != "--debug"))  # it may follow the verb too

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (ReweighError, OSError) as error:
            if ctx.params.get("debug") or isinstance(error, BrokenPipeError):
                raise
            typer.echo(f"{type(error).__name__}: {error}", err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt as interruption:
            typer.echo(str(interruption) or "interrupted", err=True)  # training says how to resume
            raise typer.Exit(130) from None


app = typer.Typer(
    cls=Verbs,
    help="Learn, while training, how much to trust each sample; train robust classifiers on biased data.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"reweigh {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of all verbs."""


app.command("train")(train)
app.command("compare")(compare)
app.command("report")(report)
app.command("issues")(issues)
app.command("predict")(predict)
app.command("export")(export)
app.command("transfer")(transfer)
app.command("inspect")(inspect)
app.command("corrupt")(corrupt)
app.add_typer(data, name="data")
app.command("list")(list_members)
app.command("show")(show)


class Notes(logging.Handler):
    """Writes what the library has to say, once, to wherever standard error is now; a progress bar moves it."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()  # data that are looked at before training are read twice

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if message not in self._said:
            self._said.add(message)
            print(message, file=sys.stderr)  # typer.echo would write past the bar, into its line


def main() -> None:
    """Run the command line."""
    sys.path.append(os.getcwd())  # for a model of the user's own; last, so that it hides no package
    keep_freed_memory()
    logger = logging.getLogger("reweigh")
    logger.setLevel(logging.INFO)
    logger.addHandler(Notes())
    warnings.showwarning = lambda message, *_: print(f"warning: {message}", file=sys.stderr)
    app()
