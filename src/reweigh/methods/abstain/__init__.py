"""Methods whose model may leave doubtful samples undecided."""
