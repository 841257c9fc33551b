"""The runs that reports are tested with."""

from tests.report.conftest import account, partial, plain, run, trained  # noqa: F401
