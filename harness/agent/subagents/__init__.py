"""Subagents: agents that perform a task for another agent."""
