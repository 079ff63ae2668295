"""Tool calls in texts about a conversation: what a call is about, and the tools for files."""

from __future__ import annotations

from harness.messages import JsonObject, ToolCall, ToolResult

READING_TOOLS = frozenset({"read_file"})
"""Tools that return the content of a file."""
LOOKING_TOOLS = READING_TOOLS | {"grep", "find_files", "list_files"}
"""Tools whose output can be had again without side effects."""
_EDITING_TOOLS = frozenset({"edit_file", "write_file", "notebook_edit", "apply_patch"})
CHANGED_FILES = "changed_files"
"""Key in the details of a result for the files and folders that the call changed, created, moved or removed."""
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


def paths_in(details: JsonObject) -> tuple[str, ...]:
    """Return the paths that the details of a result name: `paths`, or `path`."""
    paths = details.get("paths", [details.get("path")])
    return tuple(each for each in paths if isinstance(each, str) and each) if isinstance(paths, list) else ()


def changed_paths(call: ToolCall, result: ToolResult) -> tuple[str, ...]:
    """Return the files and folders that a call changed; empty if it failed."""
    details = result.details or {}
    changed = details.get(CHANGED_FILES)
    if result.is_error:
        return ()
    if isinstance(changed, list):
        return tuple(each for each in changed if isinstance(each, str))
    # Results of other agents, and of sessions that older versions wrote.
    return _paths_of(call, details) if call.name in _EDITING_TOOLS else ()


def read_paths(call: ToolCall, result: ToolResult) -> tuple[str, ...]:
    """Return the file whose content a result shows; empty if it shows none."""
    details = result.details or {}
    is_read = call.name in READING_TOOLS or "first" in details
    return _paths_of(call, details) if is_read and not result.is_error else ()


def _paths_of(call: ToolCall, details: JsonObject) -> tuple[str, ...]:
    path = call.arguments.get("path")
    return paths_in(details) or ((path,) if isinstance(path, str) and path else ())
