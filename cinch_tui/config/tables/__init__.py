"""Tables of settings: one struct each, with defaults, bounds and descriptions."""
