"""Methods for wrong labels in the training set."""
