"""Public signatures change on purpose only; ``python tests/architecture/test_public.py`` writes them down anew."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import reweigh

WRITTEN = Path(__file__).with_name("public.txt")


def plain(value: object) -> str:
    """The arguments of something, without types: names, order and defaults are what callers rely on."""
    found = inspect.signature(value)  # pyright: ignore[reportArgumentType]
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in found.parameters.values()]
    text = str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return re.sub(r" at 0x[0-9a-f]+", "", text)  # of a function that is a default


def signatures() -> Iterator[str]:
    """A line for each public function, class, method and attribute."""
    for name in sorted(set(reweigh.__all__) - {"__version__"}):
        value = getattr(reweigh, name)
        if inspect.isclass(value) and issubclass(value, Exception):
            yield f"{name}: {', '.join(kind.__name__ for kind in value.__bases__)}"
            continue
        yield name + plain(value)
        if not inspect.isclass(value):
            continue
        for member in sorted(dir(value)):
            found = inspect.getattr_static(value, member)
            home = next(kind for kind in value.__mro__ if member in vars(kind))
            if member.startswith("_") or member.endswith("_request") or not home.__module__.startswith("reweigh"):
                continue
            callable_ = isinstance(found, classmethod | staticmethod) or inspect.isfunction(found)
            yield f"{name}.{member}{plain(getattr(value, member)) if callable_ else ''}"


def test_no_public_signature_changes_by_accident():
    before, now = set(WRITTEN.read_text().splitlines()), set(signatures())
    assert now == before, (
        f"gone: {sorted(before - now)}; new: {sorted(now - before)}. If that is meant, say so in CHANGELOG.md "
        f"(docs/stability.md has the promise) and run: python {Path(__file__).relative_to(Path(__file__).parents[2])}"
    )


if __name__ == "__main__":
    WRITTEN.write_text("".join(f"{line}\n" for line in signatures()))
