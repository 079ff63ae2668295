"""Building the context of a model call: history, normalization, token counting, truncation."""
