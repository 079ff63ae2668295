"""The dialect `claude`: the names of Claude Code's tools and of their arguments.

Source: https://code.claude.com/docs/en/tools-reference; `harness.approval.claude_tools` has the names. Those that it
had in earlier versions are in https://platform.claude.com/docs/en/agent-sdk/typescript, "Tool Input Types".
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from harness.approval.claude_tools import CLAUDE_TOOLS, ClaudeTool
from harness.messages import JsonObject
from tools.dialects.translation import RenamedTools, ToolNames

_TIMES = frozenset({"timeout"})
_ABSENT: Mapping[str, frozenset[str]] = {"Edit": frozenset({"edits"})}
_UNUSED: Mapping[str, Mapping[str, JsonObject]] = {
    "WebFetch": {"prompt": {"type": "string", "description": "What you want to know about the page."}},
}
_UNUSED_IN: Mapping[str, Mapping[str, Mapping[str, JsonObject]]] = {
    "TodoWrite": {
        "todos": {"activeForm": {"type": "string", "description": "The step in the present continuous form."}}
    },
}
_IGNORED: Mapping[str, frozenset[str]] = {
    "BashOutput": frozenset({"filter"}),
    "LS": frozenset({"ignore"}),
    "TaskOutput": frozenset({"block", "timeout"}),
    "NotebookRead": frozenset({"cell_id"}),
}
_OPTIONAL = frozenset({"subagent_type"})
_TOOL_LISTS: Mapping[str, frozenset[str]] = {"Agent": frozenset({"tools"}), "Task": frozenset({"tools"})}


def claude_dialect(replaced: Mapping[str, Set[str]] = {}) -> RenamedTools:
    """Return the dialect. Tools that Claude Code does not have keep their names.

    Args:
        replaced: Names of tools that are not offered with another one, by the name of that one.
    """
    names: dict[str, ToolNames] = {}
    former: dict[str, tuple[str, ToolNames]] = {}
    for name, each in CLAUDE_TOOLS.items():
        # Of several names for a tool, the current one comes first; a tool with several counterparts is the closest.
        if each.tools[0] not in names:
            names[each.tools[0]] = _names(name, each)
        else:
            former[name] = each.tools[0], _names(name, each)
    return RenamedTools("claude", names, replaced=replaced, former=former)


def _names(name: str, tool: ClaudeTool) -> ToolNames:
    return ToolNames(
        name,
        tool.arguments,
        milliseconds=_TIMES & tool.arguments.keys(),
        absent=_ABSENT.get(name, frozenset()),
        unused=_UNUSED.get(name, {}),
        unused_in=_UNUSED_IN.get(name, {}),
        ignored=_IGNORED.get(name, frozenset()),
        optional=_OPTIONAL & tool.arguments.keys(),
        tool_lists=_TOOL_LISTS.get(name, frozenset()),
    )
