"""Key bindings: the table of defaults, and the user's changes."""
