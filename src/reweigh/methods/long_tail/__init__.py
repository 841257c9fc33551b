"""Methods for classes of very different size."""
