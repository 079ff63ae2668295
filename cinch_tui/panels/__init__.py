"""Panels around the conversation."""
