"""The prompt. Nothing is imported here, since the history is also used without a screen."""
