"""Questions to the user and their answers."""
