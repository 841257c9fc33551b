"""Reweighting inside other libraries' training loops: ``transformers`` and ``lightning``."""
