"""Dialects: the tools of cinch under the names that models know from other agents."""
