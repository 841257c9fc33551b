"""The command line: one verb per file."""

from reweigh.cli.app import main

__all__ = ["main"]
