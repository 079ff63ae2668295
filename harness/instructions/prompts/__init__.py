"""Prompt texts sent to the model."""
