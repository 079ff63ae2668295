"""Editing a text with the keys of vi: pure, without a screen."""
