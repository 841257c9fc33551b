"""Names for shell completion; nothing heavy is imported."""

from reweigh.plan.tables import TABLES


def recipe_names(incomplete: str) -> list[str]:
    """Shipped recipes that begin so."""
    from reweigh.recipes.shipped import shipped

    return [name for name in shipped() if name.startswith(incomplete)]


def table_names(incomplete: str) -> list[str]:
    """What ``reweigh list`` can list."""
    return [name for name in (*TABLES, "recipes") if name.startswith(incomplete)]
