"""Recipes: a TOML file, checked as a whole before anything is built, becomes a run."""
