"""Lifecycle of a run: its task type is found from the prompt, and decides on instructions, tools and limits."""
