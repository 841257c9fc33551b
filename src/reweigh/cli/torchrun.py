"""The command as one of several processes that torchrun started: they train together, and the first one prints."""

import json
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress

from reweigh.cli.printing import echo
from reweigh.errors import ReweighError, StorageError
from reweigh.files import write_whole

VERBS = ("train", "compare")  # what several processes do together


def several() -> bool:
    """Whether torchrun started several processes of this command."""
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


def run(app: Callable[[], None], logger: logging.Logger) -> None:
    parent = os.getppid()
    verb = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    if verb not in VERBS:
        verbs = " and ".join(f"reweigh {name}" for name in VERBS)
        words = f"RecipeError: torchrun can start {verbs}; start reweigh {verb} without torchrun"
        if says(words):
            echo(words, err=True)
        sys.exit(2)
    try:
        from reweigh.training import processes

        with processes.joined(parent):
            if not processes.is_first():
                logger.handlers[:] = [logging.NullHandler()]  # without any, logging itself prints warnings
                warnings.showwarning = lambda *_: None
                sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (until the process ends)
            app()
    except KeyboardInterrupt:  # before or after the command itself
        sys.exit(130)
    except ReweighError as error:
        if says(words := f"{type(error).__name__}: {error}"):
            echo(words, err=True)
        sys.exit(2)


def is_first() -> bool:
    """Whether this is the first process, also before they have met."""
    return os.environ["RANK"] == "0"


def report(words: str) -> None:
    """Leave the message where torchrun looks for it, to end its own report with it."""
    if file := os.environ.get("TORCHELASTIC_ERROR_FILE"):
        known = {"message": {"message": words, "extraInfo": {"timestamp": str(int(time.time()))}}}
        with suppress(StorageError):
            write_whole(file, json.dumps(known))


def says(words: str) -> bool:
    """Report an error, with which torchrun ends if this process was the first to fail; whether to print it, too."""
    report(words)
    return is_first()
