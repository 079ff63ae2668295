"""Summaries of usage, context and sessions as text."""
