"""Tables of numbers, categories and words: read with pandas, encoded as features."""
