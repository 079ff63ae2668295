"""The dialect `claude`: the names of Claude Code's tools and of their arguments.

Source: https://code.claude.com/docs/en/tools-reference; `harness.approval.claude_tools` has the names.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from harness.approval.claude_tools import CLAUDE_TOOLS
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


def claude_dialect(replaced: Mapping[str, Set[str]] = {}) -> RenamedTools:
    """Return the dialect. Tools that Claude Code does not have keep their names.

    Args:
        replaced: Names of tools that are not offered with another one, by the name of that one.
    """
    names: dict[str, ToolNames] = {}
    for name, each in CLAUDE_TOOLS.items():
        # Of several names for a tool, the current one comes first; a tool with several counterparts is the closest.
        if each.tools[0] not in names:
            names[each.tools[0]] = ToolNames(
                name,
                each.arguments,
                _TIMES & each.arguments.keys(),
                _ABSENT.get(name, frozenset()),
                _UNUSED.get(name, {}),
                _UNUSED_IN.get(name, {}),
            )
    return RenamedTools("claude", names, replaced=replaced)
