"""Sample events, with which a user tests hooks."""

from __future__ import annotations

from collections.abc import Mapping

from extensions.hooks.config import HookEvent
from harness.approval.claude_tools import tools_named
from harness.messages import JsonObject

_TOOL = "Bash"
_INPUTS: Mapping[str, JsonObject] = {
    "bash": {"command": "echo hello", "description": "Print a greeting"},
    "read_file": {"path": "README.md"},
    "write_file": {"path": "sample.txt", "content": "hello\n"},
    "edit_file": {"path": "sample.txt", "old_string": "hello", "new_string": "goodbye"},
    "find_files": {"pattern": "**/*.md"},
    "grep": {"pattern": "TODO"},
    "web_fetch": {"url": "https://example.com/"},
    "web_search": {"query": "example"},
    "delegate_subagent": {"task": "Find the entry point"},
}
_FIELDS: Mapping[HookEvent, JsonObject] = {
    "UserPromptSubmit": {"prompt": "What does this project do?"},
    "SessionStart": {"source": "startup"},
    "SessionEnd": {"reason": "other"},
    "PreCompact": {"trigger": "manual", "custom_instructions": ""},
    "Stop": {"stop_hook_active": False, "last_assistant_message": "Done.", "background_tasks": []},
    "SubagentStart": {"agent_id": "sample", "agent_type": "general-purpose"},
    "SubagentStop": {
        "stop_hook_active": False,
        "agent_id": "sample",
        "agent_type": "general-purpose",
        "agent_transcript_path": "",
        "last_assistant_message": "Done.",
    },
    "Notification": {
        "message": "cinch needs your permission to use Bash",
        "title": "cinch",
        "notification_type": "permission_prompt",
    },
    "TurnsElapsed": {"turns": 10},
}
_KINDS = ("source", "reason", "trigger", "notification_type", "agent_type")
"""Fields that matchers are compared with."""


def sample_call(name: str) -> tuple[str, JsonObject]:
    """Return a tool of cinch and arguments for it, by its name or that of Claude Code; by default a command."""
    tool = tools_named(name or _TOOL)[0]
    return tool, _INPUTS.get(tool, {})


def sample_fields(event: HookEvent) -> JsonObject:
    """Return the fields of an event that is not about a call."""
    return _FIELDS.get(event, {})


def sample_kind(fields: JsonObject) -> str:
    """Return what matchers of the event are compared with; empty if it has no kinds."""
    return next((str(fields[name]) for name in _KINDS if name in fields), "")
