"""Notifications while the terminal is unfocused."""
