"""The command ``reweigh``: its verbs, and how errors are reported."""

import logging
import os
import signal
import sys
import warnings
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from reweigh import __version__
from reweigh.cli import torchrun
from reweigh.cli.arguments import OPTIONS
from reweigh.cli.compare import compare
from reweigh.cli.corrupt import corrupt
from reweigh.cli.data import data
from reweigh.cli.export import export
from reweigh.cli.fix import fix
from reweigh.cli.inspect import inspect
from reweigh.cli.issues import issues
from reweigh.cli.list import list_members
from reweigh.cli.predict import predict
from reweigh.cli.printing import echo, visible
from reweigh.cli.report import report
from reweigh.cli.review import audit, review
from reweigh.cli.tables import tables
from reweigh.cli.train import train
from reweigh.errors import DataError, ReweighError
from reweigh.memory import keep_freed_memory


class Verbs(TyperGroup):
    """Prints an error as one message; exits 2 if the user can fix it, 1 if it is ours, 130 after Ctrl-C or SIGTERM."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        verb = self.commands.get(next((word for word in args if not word.startswith("-")), ""))
        if verb is not None and (forgotten := without_value(verb, args)):
            complain("{}: a value is missing before {}; reweigh {} --help shows which".format(*forgotten, verb.name))
            raise typer.Exit(2)
        return super().parse_args(ctx, sorted(args, key=lambda arg: arg != "--debug"))  # it may follow the verb too

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (ReweighError, OSError) as error:
            if ctx.params.get("debug") or isinstance(error, BrokenPipeError):
                raise
            complain(f"{type(error).__name__}: {message(error)}")
            raise typer.Exit(2) from None
        except KeyboardInterrupt as interruption:
            complain(str(interruption) or "interrupted")  # training says how to resume
            raise typer.Exit(130) from None
        except Exception as error:
            code = getattr(error, "exit_code", None)
            if code is not None and torchrun.several():
                torchrun.report(str(getattr(error, "message", error)))
                if not torchrun.is_first():
                    raise typer.Exit(code) from None  # typer would print what the first process prints
            if ctx.params.get("debug") or isinstance(error, typer.Abort) or code is not None:
                raise
            if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
                complain(f"memory ran out: {error}\nUse a smaller model, smaller batches, or a part of the data.")
                raise typer.Exit(2) from None
            complain(
                f"{type(error).__name__}: {error}\nThis error is unexpected. Unless memory ran out, it is a bug in "
                "reweigh: please report it with the output of --debug."
            )
            raise typer.Exit(1) from None


def without_value(verb: Any, args: list[str]) -> tuple[str, str] | None:
    """An option of a verb that needs a value but is followed by another option, and that other one."""
    known = {name: option for option in verb.params for name in option.opts if name.startswith("--")}
    for one, other in pairwise(args):
        if one in known and other in known and not getattr(known[one], "is_flag", False):
            return one, other
    return None


def complain(words: str) -> None:
    """Write an error to standard error; of several processes, the first does."""
    if not torchrun.several() or torchrun.says(words):
        echo(words, err=True)


def message(error: Exception) -> str:
    """The message of an error; an argument that would fix it is named as it is typed on the command line."""
    if isinstance(error, DataError) and error.argument in OPTIONS:
        return f"{error.args[0]} ({OPTIONS[error.argument]})"
    return str(error)


HELP = """Train robust classifiers on data with wrong labels or rare classes.

While it trains, reweigh learns how much to trust each sample. To start with your own data:

\b
  reweigh fix photos/          train, review the labels that look wrong, write a corrected copy
  reweigh train --data photos/ and then reweigh issues, review, report: the same step by step
"""

app = typer.Typer(cls=Verbs, help=HELP, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        echo(f"reweigh {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of all verbs."""


for verb in (fix, train, compare, report, issues, review, audit, predict, export, inspect, corrupt, tables):
    app.command(verb.__name__)(verb)
app.add_typer(data, name="data")
app.command("list")(list_members)


class Notes(logging.Handler):
    """Writes each message of the library once to standard error, above a progress bar if there is one."""

    def __init__(self) -> None:
        super().__init__()
        self._written: set[str] = set()  # data that are looked at before training are read twice

    def emit(self, record: logging.LogRecord) -> None:
        message = visible(record.getMessage())
        if message not in self._written:
            self._written.add(message)
            print(message, file=sys.stderr)  # typer.echo would write past the bar, into its line


def main() -> None:
    """Run the command line."""
    os.environ["PYTHONSAFEPATH"] = "1"  # workers too must not import from the current folder
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as after Ctrl-C
    keep_freed_memory()
    logger = logging.getLogger("reweigh")
    logger.setLevel(logging.INFO)
    logger.addHandler(Notes())
    warnings.showwarning = lambda message, *_: print(f"warning: {visible(message)}", file=sys.stderr)
    if torchrun.several():
        torchrun.run(app, logger)
    else:
        app()
