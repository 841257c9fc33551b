"""The command line: one verb a file."""

from reweigh.cli.app import main

__all__ = ["main"]
