"""Extensions of an agent in files: skills, commands, hooks, subagents, rules, output styles, plugins.

Everything here is read from files, in the formats of Claude Code and the Agent Skills specification where they exist.
Nothing decides about trust: `Root.is_active` does, which the front end fills.
"""
