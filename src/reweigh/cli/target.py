"""Where a command may write: into an existing folder, not over existing files, and never into the user's data."""

from collections.abc import Sequence
from pathlib import Path

from reweigh.errors import DataError


def check_target(option: str, out: Path, targets: Sequence[Path], used: Sequence[Path], overwrite: bool) -> None:
    """Refuse to write over existing files, or into the data.

    Args:
        option: Name of the option that gave the path, such as ``--out``.
        out: The path as given.
        targets: All files that are to be written.
        used: The data; never written into, not even with ``overwrite``.
    """
    if not out.absolute().parent.is_dir():
        raise DataError(f"{option} {out}: there is no folder {out.parent}; create it first, or choose another")
    for target in targets:
        check_outside(option, target, used)
    if folders := [str(target) for target in targets if target.is_dir()]:
        raise DataError(f"{option} {', '.join(folders)}: is a folder; give the name of a file")
    taken = [str(target) for target in targets if target.exists()]
    if taken and not overwrite:
        raise DataError(f"{', '.join(taken)}: already exists; replace it with --overwrite, or choose another {option}")


def check_outside(option: str, target: Path, used: Sequence[Path]) -> None:
    """Refuse to write into the data."""
    for path in used:
        if path.exists() and target.resolve().is_relative_to(path.resolve()):
            raise DataError(f"{option} {target}: would write into the data, {path}; choose a path outside")


def check_ending(option: str, out: Path, endings: Sequence[str], what: str) -> None:
    """Refuse a file name with the wrong ending."""
    if out.suffix not in endings:
        allowed = " or ".join(endings)
        raise DataError(f"{option} {out}: {what} ends in {allowed}; got {out.suffix or 'no ending'!r}")
