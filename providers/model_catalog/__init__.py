"""Available models and their metadata."""
