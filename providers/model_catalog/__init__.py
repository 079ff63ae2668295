"""Which models exist, and their metadata."""
