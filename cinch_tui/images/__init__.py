"""Images attached by the user."""
