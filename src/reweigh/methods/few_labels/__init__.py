"""Methods for training sets in which most samples have no label."""
