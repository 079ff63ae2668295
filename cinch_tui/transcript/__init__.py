"""Transcript: blocks, their rendering into lines, and the view that shows them."""
