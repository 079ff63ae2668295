"""Tracing: recorded trees of sessions and runs."""
