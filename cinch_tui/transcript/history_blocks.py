"""Transcript blocks of a resumed conversation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from cinch_tui.attached_files import attached_names, without_attached
from cinch_tui.reports.formatting import app_hints
from cinch_tui.shell_line import is_report
from cinch_tui.transcript.block import TranscriptBlock
from cinch_tui.transcript.blocks import NoticeBlock, SourcesBlock, UserBlock
from cinch_tui.transcript.image import TranscriptImage
from cinch_tui.transcript.image_block import ImageBlock
from cinch_tui.transcript.replies import ReplyBlock, ThinkingBlock
from cinch_tui.transcript.shell_commands import report_block
from cinch_tui.transcript.tool_block import ToolBlock
from cinch_tui.user_input import image_name, user_input_of
from harness.approval.policy import PLAN, SUBMIT_PLAN
from harness.context.citations import sources_of
from harness.messages import (
    AssistantMessage,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from harness.ports.tool import Tool
from harness.session.notes import ModeNote, Note
from harness.session.reading import iso_time
from harness.views import ImageView, TextView, TodoView

if TYPE_CHECKING:
    from harness.session.resume import LoadedSession

# Enough to fill one or two screens.
LAST = 24
_FORMER_NAMES = {"delegate_sub_agent": "delegate_subagent"}
"""Current names of tools in older session files."""


def last_turns(messages: Sequence[Message]) -> list[Message]:
    """Return the last messages, starting at a prompt; all of them if the history is short or the last prompt is far."""
    for start in range(max(0, len(messages) - LAST), max(0, len(messages) - 10 * LAST), -1):
        if isinstance(messages[start], UserMessage):
            return list(messages[start:])
    return list(messages)


def blocks_of(
    messages: Iterable[Message], tools: Sequence[Tool], session: LoadedSession | None = None
) -> list[TranscriptBlock]:
    """Return the blocks of past messages as the live transcript would show them.

    Args:
        messages: the history.
        tools: tools for labels and summaries of calls.
        session: identifies the replies that are plans.
    """
    planned = tuple(planned_spans(session.notes)) if session else ()
    return list(_HistoryReader(tools, planned).blocks(messages))


def last_todo(messages: Sequence[Message]) -> TodoView:
    """Return the agent's latest todo list."""
    views = (message.view for message in reversed(messages) if isinstance(message, ToolResult))
    return next((view for view in views if isinstance(view, TodoView)), TodoView(()))


class _HistoryReader:
    def __init__(self, tools: Sequence[Tool], planned: Sequence[tuple[float, float]]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._planned = planned
        self._open: dict[str, ToolBlock] = {}

    def blocks(self, messages: Iterable[Message]) -> Iterator[TranscriptBlock]:
        for message in messages:
            is_planned = any(since <= message.time < until for since, until in self._planned)
            for block in self._blocks_of(message):
                block.time = message.time
                if is_planned and isinstance(block, ReplyBlock):
                    block.tag = PLANNED
                yield block

    def _blocks_of(self, message: Message) -> Iterable[TranscriptBlock]:
        match message:
            case UserMessage():
                return user_message_blocks(message)
            case AssistantMessage():
                return self._reply(message)
            case ToolResult():
                if block := self._open.pop(message.call_id, None):
                    show_result(block, message)
            case _:
                pass
        return ()

    def _reply(self, message: AssistantMessage) -> Iterator[TranscriptBlock]:
        texts = [content for content in message.content if isinstance(content, Text)]
        for content in message.content:
            match content:
                case Text(text):
                    reply = ReplyBlock(text)
                    reply.finish()
                    yield reply
                    if content is texts[-1] and (sources := sources_of(texts)):
                        yield SourcesBlock(sources)
                case Thinking(text):
                    if text:
                        yield ThinkingBlock(text)
                case ToolCall():
                    yield self._call(content)
        if message.stop_reason in ("error", "aborted") and message.error:
            level = "error" if message.stop_reason == "error" else "warning"
            yield NoticeBlock(app_hints(message.error), level)

    def _call(self, call: ToolCall) -> ToolBlock:
        tool = self._tools.get(_FORMER_NAMES.get(call.name, call.name))
        label = tool.label if tool else call.name
        block = ToolBlock(call.id, label, tool.summary(call.arguments) if tool else "")
        block.status = "failed"
        block.text = "The call was interrupted and has no result."
        self._open[call.id] = block
        return block


def user_message_blocks(message: UserMessage) -> list[TranscriptBlock]:
    """Return the blocks of a user message: the text, then its images."""
    if is_report(message):
        return [report_block(message)]
    typed = "".join(block.text for block in without_attached(message.content) if isinstance(block, Text))
    prompt = NoticeBlock(message.text) if message.synthetic else UserBlock(typed)
    prompt.channel = "reminder" if message.synthetic else ""
    attached = user_input_of(message).images
    images = [ImageBlock(TranscriptImage.of(each.image, image_name(each.mark))) for each in attached]
    files = attached_names(message.content)
    notice = [NoticeBlock(f"Attached {', '.join(files)}")] if files else []
    return [*([prompt] if typed.strip() or not images else []), *images, *notice]


def show_result(block: ToolBlock, result: ToolResult) -> None:
    """Set a tool result on its block."""
    path = result.view.path if isinstance(result.view, ImageView) else ""
    images = [each for each in result.content if isinstance(each, Image)]
    block.images = [
        TranscriptImage.of(image, PurePath(path).name or f"image {number}", path)
        for number, image in enumerate(images, 1)
    ]
    block.text = result.text
    block.view = result.view
    block.is_markdown = result.tool_name == SUBMIT_PLAN
    details = result.details or {}
    is_answered = result.tool_name == "ask_user" and isinstance(result.view, TextView) and "\n" in result.view.text
    block.stays_open = is_answered or details.get("accepted") is True
    if details.get("denied"):
        block.status = "denied"
    else:
        block.status = "failed" if result.is_error or details.get("accepted") is False else "done"


PLANNED = "PLAN"
"""Tag of such a reply: the plan was not executed by it."""


def planned_spans(notes: Sequence[Note]) -> Iterator[tuple[float, float]]:
    """Yield the periods of plan mode as (start, end), from the session's `cinch-mode` records."""
    since: float | None = None
    for note in notes:
        if not isinstance(note, ModeNote):
            continue
        is_plan = note.mode == PLAN.name
        if is_plan and since is None:
            since = iso_time(note.timestamp)
        elif not is_plan and since is not None:
            yield since, iso_time(note.timestamp)
            since = None
    if since is not None:
        yield since, math.inf
