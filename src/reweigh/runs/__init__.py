"""Read a run: what it holds, which labels look wrong, what to say about it, and a corrected copy of its data."""
