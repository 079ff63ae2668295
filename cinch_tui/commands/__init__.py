"""Commands: input that begins with `/` or `#`."""

SIGILS = "/#"
"""Characters that a command begins with."""
