"""What a person types with a leading `/` or `#`: one registry of commands, and what they may do to the app."""

SIGILS = "/#"
"""What a command begins with."""
