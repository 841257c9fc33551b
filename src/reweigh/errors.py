"""All errors that reweigh raises on purpose; each is also a built-in error."""


class ReweighError(Exception):
    """Base of all errors that a caller can cause and fix.

    Examples:
        >>> from reweigh import read
        >>> try:
        ...     read("missing.csv")
        ... except ReweighError as error:
        ...     print(type(error).__name__, isinstance(error, ValueError))
        DataError True
    """


class RecipeError(ReweighError, ValueError):
    """A recipe, an option or a name is wrong; the message lists every mistake."""


class DataError(ReweighError, ValueError):
    """The data, a file or a label is not valid.

    Args:
        message: What is wrong and what to do, in words that fit any caller.
        argument: Name of the argument that would fix it, if there is one. Python callers see it as ``name=...``; the
            command line writes its own option instead.
    """

    def __init__(self, message: str = "", argument: str | None = None) -> None:
        super().__init__(message)
        self.argument = argument

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message} ({self.argument}=...)" if self.argument else message


class ModelError(ReweighError, ValueError):
    """The model cannot be trained this way, or an engine cannot differentiate it."""


class DivergedError(ReweighError, RuntimeError):
    """The loss is no longer a finite number."""


class StorageError(ReweighError, OSError):
    """A file cannot be written.

    Args:
        message: What is wrong and what to do.
        errno: Number of the system's error.
    """

    def __init__(self, message: str = "", errno: int | None = None) -> None:
        super().__init__(message)
        self.errno = errno


class LostProcessError(ReweighError, RuntimeError):
    """Another process of the same training has ended."""
