"""What `cinch WORD` does without the app."""
