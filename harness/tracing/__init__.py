"""Recorded trees of sessions and runs."""
