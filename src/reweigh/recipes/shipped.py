"""The recipes that come with the package."""

from pathlib import Path


def shipped() -> dict[str, Path]:
    """Name -> file, in order of name."""
    return {path.stem: path for path in sorted(Path(__file__).parent.glob("*.toml"))}


def about(path: Path) -> str:
    """What a recipe says of itself: the opening comment without the command line in it."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return " ".join(line for line in lines if line and not line.startswith("reweigh "))
