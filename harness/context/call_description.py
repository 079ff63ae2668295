"""Tool calls in texts about a conversation: what a call is about, and the tools for files."""

from __future__ import annotations

from harness.messages import ToolCall

READING_TOOLS = frozenset({"read_file"})
"""Tools that return the content of a file."""
LOOKING_TOOLS = READING_TOOLS | {"grep", "find_files", "list_files"}
"""Tools whose output can be had again without side effects."""
EDITING_TOOLS = frozenset({"edit_file", "write_file", "notebook_edit", "apply_patch"})
"""Tools that change a file."""
_CALL_CHARS = 80
_MAIN_ARGUMENTS = ("path", "command", "pattern", "url", "query")


def describe_call(call: ToolCall) -> str:
    """Return a call in one line: its name and what it is about, such as a path or a command."""
    return f"{call.name}({main_argument(call)})"


def main_argument(call: ToolCall) -> str:
    """Return the argument that tells calls of a tool apart, on one line."""
    arguments = call.arguments
    named = (arguments[key] for key in _MAIN_ARGUMENTS if isinstance(arguments.get(key), str))
    other = (value for value in arguments.values() if isinstance(value, str))
    text = " ".join(str(next(named, next(other, ""))).split())
    return text if len(text) <= _CALL_CHARS else f"{text[: _CALL_CHARS - 1]}…"
