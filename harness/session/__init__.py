"""Session files: the append-only record of a conversation, and its readers."""
