"""Folder trust: what a folder brings along, what the user trusts, and the question about it."""
