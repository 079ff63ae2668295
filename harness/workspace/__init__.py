"""Workspace: the files that the agent may read and change."""
