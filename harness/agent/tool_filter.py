"""Tool filter by relevance: offers the tools that fit the prompts and earlier calls, and some always.

For agents with dozens of tools, whose descriptions would fill the context window. A tool that is not offered can still
be called.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec import Struct, field

from harness.agent.options import ToolFilter
from harness.messages import AssistantMessage, Message, UserMessage
from harness.ports.tool import Tool

WORD_PATTERN = re.compile(r"[^\W\d_]+")
ALWAYS_OFFERED = ("ask_user", "call_tool", "find_tools", "recall", "submit_plan", "todo")
"""Name patterns of tools that concern the conversation, which every task needs."""
SUFFIXES = ("ing", "ed", "es", "er", "s", "d", "e")


class ToolCategory(Struct, frozen=True):
    """Group of tools, and the keywords that select it."""

    keywords: tuple[str, ...]
    """Words in a prompt that make the tools relevant."""
    tools: tuple[str, ...]
    """Name patterns of the tools, such as `git_*`."""


CODING: Mapping[str, ToolCategory] = {
    "reading": ToolCategory(("read", "show", "explain", "look", "open", "what", "why", "how"), ("read_*", "list_*")),
    "searching": ToolCategory(
        ("find", "search", "where", "grep", "list", "which", "use"), ("grep", "find_*", "list_*")
    ),
    "editing": ToolCategory(
        ("add", "change", "edit", "fix", "implement", "make", "refactor", "remove", "rename", "replace", "write"),
        ("edit_*", "write_*", "read_*", "find_*", "grep", "bash"),
    ),
    "running": ToolCategory(("build", "command", "install", "run", "start", "test"), ("bash", "shell", "run_*")),
    "git": ToolCategory(("branch", "commit", "diff", "git", "merge", "push", "rebase"), ("git_*", "bash")),
    "web": ToolCategory(("download", "fetch", "internet", "online", "page", "url", "web"), ("web_*", "fetch_*")),
    "planning": ToolCategory(("plan", "step", "task", "todo"), ("todo", "submit_plan")),
}
"""Categories for the tools of a coding agent."""


class RelevantTools(Struct, frozen=True):
    """Tool filter that scores each tool and offers the best.

    A tool gets two points for each keyword of its categories, and for each word of its name, that occurs in the latest
    prompts in any usual form (`test`, `tests`, `testing`). Tools without points are left out; if no tool has points,
    all are offered. The order of the tools never changes.
    """

    categories: Mapping[str, ToolCategory] = field(default_factory=lambda: CODING)
    """Categories by name."""
    always: tuple[str, ...] = ALWAYS_OFFERED
    """Name patterns of tools that are always offered."""
    most: int = 0
    """Maximum number of tools to offer; 0 = unlimited.

    Each earlier use of a tool counts one more point, up to three.
    """
    sticky: int = 3
    """Number of latest replies whose tools are always offered."""
    prompts: int = 2
    """Number of latest prompts to consider."""

    def __call__(self, tools: Sequence[Tool], messages: Sequence[Message]) -> Sequence[Tool]:
        prompts = [each for each in messages if isinstance(each, UserMessage) and not each.synthetic][-self.prompts :]
        prompt_words = {_stem(word) for each in prompts for word in WORD_PATTERN.findall(each.text.lower())}
        points = {tool.name: self._points(tool.name, prompt_words) for tool in tools}
        if not any(points.values()):
            return tools
        recent, used = _used(messages, self.sticky), _used(messages)
        kept = {name for name in points if name in recent or _fits(name, self.always)}
        fitting = [name for name in points if points[name] and name not in kept]
        fitting.sort(key=lambda name: points[name] + min(used[name], 3), reverse=True)
        room = max(0, self.most - len(kept)) if self.most else len(fitting)
        shown = kept.union(fitting[:room])
        return [tool for tool in tools if tool.name in shown]

    def _points(self, name: str, prompt_words: set[str]) -> int:
        words = {_stem(word) for word in WORD_PATTERN.findall(name.lower()) if len(word) > 2}
        for category in self.categories.values():
            if _fits(name, category.tools):
                words.update(map(_stem, category.keywords))
        return 2 * len(words & prompt_words)


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _stem(word: str) -> str:
    """Return the common part of the usual forms of an English word: `run` of `running`, `chang` of `changes`."""
    stem = next(
        (word.removesuffix(each) for each in SUFFIXES if word.endswith(each) and len(word) > len(each) + 2), word
    )
    return stem[:-1] if stem[-2:-1] == stem[-1:] else stem


def _used(messages: Sequence[Message], replies: int = 0) -> Counter[str]:
    """Return how often each tool was called, in the latest replies or in all."""
    latest = [each for each in messages if isinstance(each, AssistantMessage)][-replies:]
    return Counter(call.name for each in latest for call in each.tool_calls)


if TYPE_CHECKING:
    _: ToolFilter = RelevantTools()
