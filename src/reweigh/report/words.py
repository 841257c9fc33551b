"""Numbers and names, formatted for a reader."""

import math

UNKNOWN = "\N{EN DASH}"  # in a cell; sorted last


def percent(share: float) -> str:
    """A share: 86.0 %, never broken at the end of a line; "unknown" if it is not a number."""
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%" if math.isfinite(share) else "unknown"


def number(value: float) -> str:
    """A measured number, with three digits."""
    if not math.isfinite(value):
        return "unknown"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    if not math.isfinite(seconds):
        return "unknown"
    for unit, length in (("hour", 3600), ("minute", 60)):
        if seconds >= 1.95 * length:
            return f"{seconds / length:.1f} {unit}s"
    return f"{seconds:.1f} seconds"


def judged(trained: int, held_out: int) -> str:
    """How many labels were judged, and by what: those of training samples, and of samples held out for testing."""
    if not held_out:
        return f"All {trained:,} labels were judged in training."
    return (
        f"{trained:,} labels were judged in training, the {held_out:,} that were held out for testing by the final "
        "model, which has not seen them."
    )


def in_words(name: str) -> str:
    """The name of a metric: test_balanced_accuracy is "balanced accuracy"."""
    return name.removeprefix("test_").removeprefix("train_").replace("_", " ")


def sentence(text: str) -> str:
    """The text with a capital at the start and a period at the end."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else text + "."
