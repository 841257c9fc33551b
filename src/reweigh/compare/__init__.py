"""Train several methods under several biases and seeds, and collect one table."""
