"""Long conversations, and a model that continues or summarizes them."""

from __future__ import annotations

from collections.abc import Sequence

from fakes.talk import reply
from msgspec.structs import replace

from harness.messages import Message, Text, ToolCall, ToolResult, user
from harness.ports.provider import Request
from providers.demo import DemoProvider, Reply, Say


def reading(count: int, tokens: int, path: str = "src/file{}.py") -> list[Message]:
    """Return turns that each read a file of this length."""
    messages: list[Message] = [user("Fix the parser. Keep it recursive.")]
    for number in range(count):
        call = ToolCall(f"r{number}", "read_file", {"path": path.format(number)})
        messages.append(replace(reply(f"Reading {number}.", call), id=f"reply-{number:02}"))
        text = f"{number} ".ljust(4 * tokens, "x")
        messages.append(ToolResult(call.id, call.name, (Text(text),), id=f"{number:02}-result"))
    return messages


def is_for_summary(request: Request) -> bool:
    return "the summary that replaces" in request.system + request.messages[-1].text


def writer(*replies: Reply | str, summaries: Sequence[Reply | str] = ()) -> DemoProvider:
    """Return a model that answers requests for summaries from `summaries`, others from `replies`."""
    waiting, written = list(replies), list(summaries)

    def play(request: Request) -> Reply:
        queue = written if is_for_summary(request) else waiting
        reply = queue.pop(0) if queue else "The script is over."
        return reply if isinstance(reply, Reply) else Reply((Say(reply),))

    return DemoProvider(play)
