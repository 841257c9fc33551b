"""Files that are complete or absent, carry checksums, and cannot exhaust memory."""

from reweigh.files.whole import append_line, read_bytes, read_json, read_text, seal, unseal, write_whole

__all__ = ["append_line", "read_bytes", "read_json", "read_text", "seal", "unseal", "write_whole"]
