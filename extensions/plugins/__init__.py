"""Plugin folders: skills, commands, subagents, hooks, MCP servers and script tools in one folder.

A plugin is copied below the user's data folder, in the standard layout whatever its manifest says; what runs later
reads only this copy.
"""
