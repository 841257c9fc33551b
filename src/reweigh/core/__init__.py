"""Core: objectives that are linear in the weights of samples, and the step that learns these. Needs torch only."""
