"""Command host of the full-screen app."""
