"""Tool calls as hooks of Claude Code see them, and the arguments that hooks return.

Source: https://code.claude.com/docs/en/hooks, "PreToolUse input".
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from harness.approval.claude_tools import CLAUDE_TOOLS, claude_name
from harness.messages import JsonObject, JsonValue, ToolResult
from harness.permissions import SHELL
from harness.risk import Risk
from harness.views import TerminalView

_FILE = "file_path"
_TIMES = ("timeout",)
"""Arguments in milliseconds, which are seconds in cinch."""


def claude_call(tool: str, arguments: JsonObject, root: Path, risk: Risk | None = None) -> tuple[str, JsonObject]:
    """Return name and arguments of a call in Claude Code.

    A tool that does what another one does, such as a git tool, which runs a command line, is shown as that one.

    Args:
        tool: Name of the tool.
        arguments: Validated arguments.
        root: Workspace root.
        risk: Risk assessment of the call; None if it could not be assessed.
    """
    if risk is not None and claude_name(risk.rule_name) != risk.rule_name:
        tool = risk.rule_name
        if tool == SHELL:
            arguments = {"command": risk.subject, **arguments}
        elif len(set(risk.paths)) == 1:
            # Such as a patch, which names its file in its text.
            arguments = {"path": risk.paths[0], **arguments}
    name = _name(tool, arguments)
    theirs = {ours: key for key, ours in _names(name).items()}
    given: JsonObject = {}
    for ours, value in arguments.items():
        key = theirs.get(ours, ours)
        if value is None or (ours == "edits" and not value):
            continue
        given[key] = _to_claude(key, value, root)
    return name, given


def own_arguments(name: str, given: JsonObject, arguments: JsonObject, updated: JsonObject) -> JsonObject:
    """Return the arguments that a hook wants for a call, as the tool names them.

    Args:
        name: Name of the call in Claude Code.
        given: Its arguments there, as the hook received them.
        arguments: Validated arguments of the call.
        updated: What the hook returned in place of them.
    """
    names = _names(name)
    wanted: JsonObject = {}
    for key, value in updated.items():
        ours = names.get(key, key)
        if key in given and given[key] == value:
            # As written by the model: a relative path stays relative. The tool may not have it at all.
            wanted |= {ours: arguments[ours]} if ours in arguments else {}
        elif key in _TIMES and ours in arguments and _is_number(value):
            wanted[ours] = float(str(value)) / 1000
        else:
            wanted[ours] = value
    return wanted


def claude_response(name: str, given: JsonObject, result: ToolResult) -> JsonValue:
    """Return the result of a call in the form of Claude Code's tool of this name."""
    text = result.text
    match name:
        case "Bash":
            interrupted = bool((result.details or {}).get("interrupted"))
            printed = result.view.output if isinstance(result.view, TerminalView) else text
            return {"stdout": printed, "stderr": "", "interrupted": interrupted, "isImage": False}
        case "Write" | "Edit" | "MultiEdit":
            return {"filePath": given.get(_FILE, ""), "success": not result.is_error, "content": text}
        case "Read":
            return {"type": "text", "file": {"filePath": given.get(_FILE, ""), "content": text}}
        case _:
            return {"content": [{"type": "text", "text": text}]}


def _name(tool: str, arguments: JsonObject) -> str:
    """Return the name of Claude Code's tool; one for several edits has a name of its own."""
    return "MultiEdit" if tool == "edit_file" and arguments.get("edits") else claude_name(tool)


def _names(name: str) -> Mapping[str, str]:
    """Return the names of arguments in cinch by those of a tool of Claude Code."""
    known = CLAUDE_TOOLS.get(name)
    return known.arguments if known else {}


def _to_claude(key: str, value: JsonValue, root: Path) -> JsonValue:
    if key == _FILE and isinstance(value, str):
        # Absolute, so that no spelling of a path escapes a hook.
        return os.path.normpath(root / os.path.expanduser(value))  # noqa: PTH111  pathlib raises without a home folder
    if key in _TIMES and isinstance(value, int | float):
        return round(value * 1000)
    return value


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
