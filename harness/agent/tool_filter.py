"""Shows a model the tools that fit the task: by what the person says, by what was used, and some always.

For agents with dozens of tools, whose descriptions would fill the window. A tool that is not shown can still be called.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from harness.agent.options import ToolFilter
from harness.lazy_dataclass import dataclass
from harness.messages import AssistantMessage, Message, UserMessage
from harness.ports.tool import Tool

WORD_PATTERN = re.compile(r"[^\W\d_]+")
ENDINGS = ("ing", "ed", "es", "er", "s", "d", "e")


@dataclass(frozen=True, slots=True)
class ToolCategory:
    """What belongs together: words that call for it, and name patterns (`git_*`) of the tools it holds."""

    keywords: tuple[str, ...]
    tools: tuple[str, ...]


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


@dataclass(frozen=True, slots=True)
class RelevantTools:
    """A tool filter that scores each tool and shows the best.

    A tool gets two points for each keyword of its categories, and for each word of its own name, in the person's last
    `prompts` prompts; a keyword counts in its usual forms (`test`, `tests`, `testing`). Those without a point are left
    out. Where more than `most` tools are left (0: no bound), those with the least points go, one more point being given
    for each use in this conversation, up to three.

    Shown in any case: what matches `always`, and what was called in the newest `sticky` replies. All are shown while
    nothing that was said points to any. The order of the tools never changes.
    """

    categories: Mapping[str, ToolCategory] = field(default_factory=lambda: CODING)
    always: tuple[str, ...] = ("ask_user", "submit_plan", "todo")
    most: int = 0
    sticky: int = 3
    prompts: int = 2

    def __call__(self, tools: Sequence[Tool], messages: Sequence[Message]) -> Sequence[Tool]:
        said = _said(messages, self.prompts)
        points = {tool.name: self._points(tool.name, said) for tool in tools}
        if not any(points.values()):
            return tools
        recent, used = _used(messages, self.sticky), _used(messages)
        kept = {name for name in points if name in recent or self._stays(name)}
        fitting = [name for name in points if points[name] and name not in kept]
        fitting.sort(key=lambda name: points[name] + min(used[name], 3), reverse=True)
        room = max(0, self.most - len(kept)) if self.most else len(fitting)
        shown = kept.union(fitting[:room])
        return [tool for tool in tools if tool.name in shown]

    def _stays(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.always)

    def _points(self, name: str, said: set[str]) -> int:
        words = {_stem(word) for word in WORD_PATTERN.findall(name.lower()) if len(word) > 2}
        for category in self.categories.values():
            if any(fnmatchcase(name, pattern) for pattern in category.tools):
                words.update(map(_stem, category.keywords))
        return 2 * len(words & said)


def _said(messages: Sequence[Message], prompts: int) -> set[str]:
    """The words of the last prompts of the person."""
    spoken = [each for each in messages if isinstance(each, UserMessage) and not each.synthetic]
    return {_stem(word) for each in spoken[-prompts:] for word in WORD_PATTERN.findall(each.text.lower())}


def _stem(word: str) -> str:
    """What the usual forms of an English word have in common: `run` of `running`, `chang` of `changes`."""
    stem = next(
        (word.removesuffix(each) for each in ENDINGS if word.endswith(each) and len(word) > len(each) + 2), word
    )
    return stem[:-1] if stem[-2:-1] == stem[-1:] else stem


def _used(messages: Sequence[Message], replies: int = 0) -> Counter[str]:
    """How often each tool was called, in the newest replies or in all."""
    said = [each for each in messages if isinstance(each, AssistantMessage)]
    return Counter(call.name for each in said[-replies:] for call in each.tool_calls)


if TYPE_CHECKING:
    _: ToolFilter = RelevantTools()
