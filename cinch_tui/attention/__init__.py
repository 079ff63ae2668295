"""Calling a person who looks elsewhere."""
