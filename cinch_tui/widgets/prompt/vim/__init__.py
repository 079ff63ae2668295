"""Vim key bindings, independent of the screen."""
