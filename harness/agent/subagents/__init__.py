"""Agents that do a task for another agent."""
