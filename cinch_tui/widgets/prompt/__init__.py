"""The prompt and what belongs to it; nothing is imported here, since the history is used without a screen too."""
