"""Methods for samples with several candidate labels, one of them right."""
