"""Data files of other installed packages, read without running their code and compared with known checksums."""

import hashlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from reweigh.errors import ModelError


def pinned(what: str, package: str, files: Mapping[str, str], extra: str) -> list[bytes]:
    """The contents of files in a package.

    Args:
        what: Name of what they hold, in messages.
        package: Name of the package, as it is imported.
        files: SHA-256 of each file, by its path in the package.
        extra: The extra of reweigh that installs the package.

    Raises:
        ModelError: The package is not installed, or a file is not the one that is known here.
    """
    project = package.replace("_", "-")
    again = f"install it again: pip install --force-reinstall {project}"
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModelError(
            f"{what}: its files are in the package {project}, which is not installed; install it: "
            f"pip install 'reweigh[{extra}]'"
        )
    contents = []
    for name, known in files.items():
        file = Path(spec.origin).parent / name
        try:
            content = file.read_bytes()
        except OSError as error:
            raise ModelError(f"{what}: {file} cannot be read ({error.strerror}); {again}") from error
        if hashlib.sha256(content).hexdigest() != known:
            raise ModelError(f"{what}: {file} is damaged or another version (its checksum is wrong); {again}")
        contents.append(content)
    return contents
