"""All errors that reweigh raises on purpose; each is also a built-in error."""


class ReweighError(Exception):
    """Base of all errors that a caller can cause and fix."""


class RecipeError(ReweighError, ValueError):
    """A recipe, an option or a name is wrong; the message lists every mistake."""


class DataError(ReweighError, ValueError):
    """The data, a file or a label is not valid."""


class ModelError(ReweighError, ValueError):
    """The model cannot be trained this way, or an engine cannot differentiate it."""


class DivergedError(ReweighError, RuntimeError):
    """The loss is no longer a finite number."""
