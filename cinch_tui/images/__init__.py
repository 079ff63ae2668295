"""Images that the user attaches."""
