"""Edits of a file's text: finding the place that an edit means, and applying it."""
