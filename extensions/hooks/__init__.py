"""User hooks: commands and HTTP endpoints that run at points of a session, in the format of Claude Code."""
