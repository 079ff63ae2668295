"""Diffs and code as styled lines, independent of the widgets that show them."""
