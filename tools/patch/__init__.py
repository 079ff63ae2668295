"""Patches: the formats that models write, and their application to the text of a file."""
