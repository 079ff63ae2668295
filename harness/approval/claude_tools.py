"""Names of Claude Code's tools and of their arguments, with those of cinch.

Source: https://code.claude.com/docs/en/tools-reference and https://code.claude.com/docs/en/hooks.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from harness.permissions import SHELL, WRITE


class ClaudeTool(Struct, frozen=True):
    """A tool of Claude Code."""

    tools: tuple[str, ...]
    """Tools of cinch that do the same, the closest first."""
    rule: str = ""
    """Name of the tool in permission rules of cinch; empty for the names of `tools`."""
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    """Arguments with another name in cinch: its name by that of Claude Code. Times are not converted."""

    @property
    def rules(self) -> tuple[str, ...]:
        """Names in permission rules of cinch."""
        return (self.rule,) if self.rule else self.tools


_PATH = {"file_path": "path"}
_AGENT = ClaudeTool(
    ("delegate_subagent",), arguments={"prompt": "task", "description": "name", "subagent_type": "agent"}
)
CLAUDE_TOOLS: Mapping[str, ClaudeTool] = {
    "Bash": ClaudeTool((SHELL,), arguments={"timeout": "timeout_s", "run_in_background": "background"}),
    "Read": ClaudeTool(("read_file",), "read", _PATH),
    "Edit": ClaudeTool(("edit_file",), WRITE, _PATH),
    "Write": ClaudeTool(("write_file",), WRITE, _PATH),
    "MultiEdit": ClaudeTool(("edit_file",), WRITE, _PATH),
    "NotebookEdit": ClaudeTool(("notebook_edit",), WRITE, {"notebook_path": "path"}),
    "NotebookRead": ClaudeTool(("read_file",), "", {"notebook_path": "path"}),
    "Glob": ClaudeTool(("find_files", "list_files")),
    "LS": ClaudeTool(("list_files", "find_files")),
    "Grep": ClaudeTool(("grep",), arguments={"-i": "ignore_case", "-C": "context", "head_limit": "limit"}),
    "WebFetch": ClaudeTool(("web_fetch",)),
    "WebSearch": ClaudeTool(("web_search",)),
    "Agent": _AGENT,
    "Task": _AGENT,
    "Skill": ClaudeTool(("skill",), arguments={"skill": "name", "args": "arguments"}),
    "TodoWrite": ClaudeTool(("todo",)),
    "AskUserQuestion": ClaudeTool(
        ("ask_user",), arguments={"question": "prompt", "options": "choices", "multiSelect": "multi_select"}
    ),
    "ExitPlanMode": ClaudeTool(("submit_plan",)),
    "TaskOutput": ClaudeTool(("job_output",), arguments={"task_id": "job_id"}),
    "BashOutput": ClaudeTool(("job_output",), arguments={"bash_id": "job_id"}),
    "TaskStop": ClaudeTool(("job_kill",), arguments={"task_id": "job_id"}),
    "KillShell": ClaudeTool(("job_kill",), arguments={"shell_id": "job_id"}),
    "KillBash": ClaudeTool(("job_kill",), arguments={"shell_id": "job_id"}),
}
"""Tools by name. Of several names for the same, the current one comes first."""

_LOWER_CASE = {name.lower(): tool for name, tool in CLAUDE_TOOLS.items()}


def tools_named(name: str) -> tuple[str, ...]:
    """Return the tools of cinch for a name from a file for Claude Code; the name itself if it is none of its tools.

    Other agents write the same names in lower case.
    """
    found = CLAUDE_TOOLS.get(name) or _LOWER_CASE.get(name)
    return found.tools if found else (name,)


def claude_name(tool: str) -> str:
    """Return the name of a tool of cinch in Claude Code; the name itself if it has no such tool."""
    return next((name for name, each in CLAUDE_TOOLS.items() if each.tools[0] == tool), tool)
