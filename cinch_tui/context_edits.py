"""Changes of an agent's context, message by message, for the commands and the screen."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec.structs import replace

from harness.context.breakdown import Breakdown, ContextInputs, ContextSegment, breakdown, context_inputs, mcp_server_of
from harness.context.summary_text import is_summary
from harness.errors import CinchError
from harness.messages import CustomMessage, ToolResult

if TYPE_CHECKING:
    from harness.agent.agent import Agent
    from harness.context.overlay import ContextOverlay
    from harness.messages import Message

EditAction: TypeAlias = Literal["pin", "unpin", "drop", "restore"]

MIN_ID = 4
"""Characters of an id that name a message; fewer might be a mistyped number."""


class ContextEdits:
    """Context of an agent as the user sees and changes it.

    Messages have the numbers of their places in the conversation, from 1, which no change of the context alters.
    """

    def __init__(self, agent: Agent, inputs: ContextInputs) -> None:
        self._agent = agent
        self._inputs = inputs

    @classmethod
    async def open(cls, agent: Agent, instructions: str = "") -> ContextEdits:
        """Load the whole conversation; `instructions` is the part of the system prompt from instruction files."""
        await agent.history.load()
        return cls(agent, context_inputs(agent.state, agent.options.window, instructions))

    @property
    def texts(self) -> dict[tuple[str, str], str]:
        """Texts sent before all messages, by section and, for tools, MCP server."""
        inputs = self._inputs
        own = inputs.system.replace(inputs.instructions, "") if inputs.instructions else inputs.system
        texts = {("system", ""): own, ("instructions", ""): inputs.instructions}
        for tool in inputs.tools:
            key = ("tools", mcp_server_of(tool.name))
            texts[key] = "\n\n".join(filter(None, (texts.get(key), f"{tool.name}: {tool.description}")))
        return texts

    @property
    def numbers(self) -> dict[str, int]:
        """Number of each message by its id."""
        return {message.id: number for number, message in enumerate(self._agent.history.outline, 1)}

    @property
    def _overlay(self) -> ContextOverlay:
        return self._agent.state.context.overlay

    def usage(self) -> Breakdown:
        """Return the segments of the next request, and the removed messages, which can be restored."""
        usage = breakdown(self._agent.context_messages, self._inputs)
        return _with_removed(usage, self._agent.messages, self._overlay.dropped)

    def mark(self, message: Message) -> str:
        """Return how the context differs from the history at this message; empty if it does not."""
        overlay = self._overlay
        marks = {"pinned": overlay.pinned, "removed": overlay.dropped, "cleared": overlay.evicted}
        return next((mark for mark, ids in marks.items() if message.id in ids), "")

    def find(self, reference: str) -> Message:
        """Return the message with a number or an id, as `recall` takes it: a beginning is enough, of a call the end.

        Raises:
            CinchError: No message of the conversation has it, or several have.
        """
        messages = self._agent.history.outline
        if reference.isdecimal() and 1 <= int(reference) <= len(messages):
            return messages[int(reference) - 1]
        found = [each for each in messages if len(reference) >= MIN_ID and _has_id(each, reference)]
        if len(found) != 1:
            problem = "several messages" if found else "no message"
            raise CinchError(f"{reference} names {problem}; /context lists the numbers")
        return found[0]

    def apply(self, action: EditAction, message: Message) -> None:
        """Pin a message, unpin, remove or restore it.

        Raises:
            CinchError: The message cannot be changed.
        """
        if is_summary(message):
            raise CinchError("a summary is changed with /compact edit, and withdrawn with /compact undo")
        if isinstance(message, CustomMessage):
            raise CinchError("models never see this message")
        change = {
            "pin": self._agent.pin,
            "unpin": self._agent.unpin,
            "drop": self._agent.drop,
            "restore": self._agent.restore,
        }
        change[action](message.id)


def _has_id(message: Message, reference: str) -> bool:
    is_result_of = isinstance(message, ToolResult) and message.call_id.endswith(reference)
    return is_result_of or message.id.startswith(reference)


def _with_removed(usage: Breakdown, history: Sequence[Message], removed: Set[str]) -> Breakdown:
    """Add removed messages that the context does not even have a note of, each before the message that followed it."""
    shown = {each.message.id for each in usage.segments if each.message}
    missing = [message for message in history if message.id in removed - shown]
    if not missing:
        return usage
    places = {message.id: place for place, message in enumerate(history)}
    segments: list[ContextSegment] = []
    for segment in usage.segments:
        place = places.get(segment.message.id, -1) if segment.message else -1
        while missing and places[missing[0].id] < place:
            segments.append(ContextSegment("left out", 0, message=missing.pop(0)))
        segments.append(segment)
    segments.extend(ContextSegment("left out", 0, message=message) for message in missing)
    return replace(usage, segments=tuple(segments))
