"""Instruction files and the system prompt."""
