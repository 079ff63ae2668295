"""Transcript blocks of a resumed conversation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cinch_tui.attached_files import attached_names, without_attached
from cinch_tui.reports.citations import sources_of
from cinch_tui.reports.formatting import app_hints
from cinch_tui.reports.notices import context_text, hook_context, reminder_title
from cinch_tui.shell_line import is_report
from cinch_tui.transcript.block import TranscriptBlock
from cinch_tui.transcript.blocks import HookContextBlock, NoticeBlock, SourcesBlock, SummaryBlock, UserBlock
from cinch_tui.transcript.image import TranscriptImage, result_images
from cinch_tui.transcript.image_block import ImageBlock
from cinch_tui.transcript.replies import ReplyBlock, ThinkingBlock
from cinch_tui.transcript.shell_commands import report_block
from cinch_tui.transcript.stored_blocks import DiskSource, StoredReply, StoredThinking, StoredToolBlock
from cinch_tui.transcript.tool_block import ToolBlock
from cinch_tui.user_input import image_name, user_input_of
from harness.approval.modes import PLAN, SUBMIT_PLAN
from harness.context.history import StoredMessages, outline_of
from harness.events import CompactionEnd
from harness.messages import (
    AssistantMessage,
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
from harness.views import TextView, TodoView

if TYPE_CHECKING:
    from harness.session.resume import LoadedSession

# Enough to fill one or two screens.
LAST = 24
_FORMER_NAMES = {"delegate_sub_agent": "delegate_subagent"}
"""Current names of tools in older session files."""


def last_turns(path: Path) -> list[Message]:
    """Return the last messages of a session file; empty if it cannot be read."""
    from harness.session.session_messages import load_end

    try:
        messages = load_end(path)
    except OSError:
        # Loading the session reports it.
        return []
    return list(messages[last_turn(messages) :])


def last_turn(messages: Sequence[Message]) -> int:
    """Return the index of a recent prompt or, if the last prompt is far, of another message but a tool result."""
    near = max(0, len(messages) - LAST)
    for start in range(near, max(0, len(messages) - 10 * LAST), -1):
        if isinstance(messages[start], UserMessage):
            return start
    places = (*range(near, -1, -1), *range(near, len(messages)))
    return next((at for at in places if at < len(messages) and not isinstance(messages[at], ToolResult)), 0)


def blocks_of(
    messages: Sequence[Message],
    tools: Sequence[Tool],
    session: LoadedSession | None = None,
    span: slice = slice(None),
) -> list[TranscriptBlock]:
    """Return the blocks of past messages as the live transcript would show them.

    Args:
        messages: the history; the blocks of messages on disk read them when they are shown.
        tools: tools for labels and summaries of calls.
        session: its notes identify replies that are plans, and summaries.
        span: messages to return the blocks of; must not start with a tool result.
    """
    return list(_HistoryReader(tools, session).blocks(messages, span))


def _summaries(session: LoadedSession) -> dict[str, list[SummaryBlock]]:
    """Return the lines of the summaries that were not undone, by the message after which they were made."""
    found: dict[str, list[SummaryBlock]] = {}
    summarized: set[str] = set()
    for note, compaction in zip(session.compactions, session.overlay.compactions, strict=True):
        event = CompactionEnd(
            # The notes of tools such as `prun` are in brackets.
            reason="tool" if note.summary.startswith("[") else "auto",
            # A later summary also covers the messages of an earlier one in it.
            replaced=len(compaction.replaced - summarized),
            tokens_before=note.tokens_before,
            tokens=note.tokens_after,
        )
        summarized |= compaction.replaced
        found.setdefault(compaction.after, []).append(SummaryBlock(context_text(event), note.summary))
    return found


def last_todo(messages: Sequence[Message]) -> TodoView:
    """Return the agent's latest todo list."""
    views = (message.view for message in reversed(outline_of(messages)) if isinstance(message, ToolResult))
    return next((view for view in views if isinstance(view, TodoView)), TodoView(()))


class _HistoryReader:
    def __init__(self, tools: Sequence[Tool], session: LoadedSession | None) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._planned = tuple(planned_spans(session.notes)) if session else ()
        self._summaries = _summaries(session) if session and session.compactions else {}
        self._open: dict[str, ToolBlock] = {}

    def blocks(self, messages: Sequence[Message], span: slice) -> Iterator[TranscriptBlock]:
        outline = outline_of(messages)
        stored = messages if isinstance(messages, StoredMessages) else None
        on_disk = stored.on_disk if stored is not None else ()
        for index in range(len(outline))[span]:
            message, disk = outline[index], None
            if stored is not None and index in on_disk:
                disk = DiskSource(stored, index)
            for block in self._blocks_of(message, disk):
                block.time = message.time
                block.message_id = message.id
                if self._planned and isinstance(block, ReplyBlock) and self._is_planned(message.time):
                    block.tag = PLANNED
                yield block
            yield from self._summaries.get(message.id, ())

    def _is_planned(self, time: float) -> bool:
        return any(since <= time < until for since, until in self._planned)

    def _blocks_of(self, message: Message, disk: DiskSource | None) -> Iterable[TranscriptBlock]:
        # Comparing types takes a tenth of the time of `isinstance` for structs that differ.
        if type(message) is AssistantMessage:
            return self._reply(message) if disk is None else self._stored_reply(message, disk)
        if type(message) is UserMessage:
            complete = disk.read() if disk else message
            return user_message_blocks(complete if isinstance(complete, UserMessage) else message, disk)
        if type(message) is ToolResult and (block := self._open.pop(message.call_id, None)):
            show_result(block, message)
            if disk and isinstance(block, StoredToolBlock):
                block.keep_on_disk(disk)
        return ()

    def _stored_reply(self, message: AssistantMessage, disk: DiskSource) -> Iterator[TranscriptBlock]:
        """Yield the blocks of a reply on disk; sources and errors are short, so their messages are read now."""
        if message.error or any(isinstance(each, Text) and each.citations for each in message.content):
            complete = disk.read()
            yield from self._reply(complete if isinstance(complete, AssistantMessage) else message)
            return
        for place, content in enumerate(message.content):
            match content:
                case Text(text):
                    yield StoredReply(text, disk, place)
                case Thinking(text) if text:
                    yield StoredThinking(text, disk, place)
                case ToolCall():
                    yield self._call(content)
                case _:
                    pass

    def _reply(self, message: AssistantMessage) -> Iterator[TranscriptBlock]:
        texts = [content for content in message.content if type(content) is Text]
        for content in message.content:
            if type(content) is ToolCall:
                yield self._call(content)
            elif type(content) is Text:
                reply = ReplyBlock(content.text)
                if not content.text:
                    reply.finish()
                yield reply
                if content is texts[-1] and (sources := sources_of(texts)):
                    yield SourcesBlock(sources)
            elif type(content) is Thinking and content.text:
                yield ThinkingBlock(content.text)
        if message.stop_reason in ("error", "aborted") and message.error:
            level = "error" if message.stop_reason == "error" else "warning"
            yield NoticeBlock(app_hints(message.error), level)

    def _call(self, call: ToolCall) -> ToolBlock:
        tool = self._tools.get(_FORMER_NAMES.get(call.name, call.name))
        label = tool.label if tool else call.name
        block = StoredToolBlock(call.id, label, tool.summary(call.arguments) if tool else "")
        block.status = "failed"
        block.text = "The call was interrupted and has no result."
        self._open[call.id] = block
        return block


def user_message_blocks(message: UserMessage, disk: DiskSource | None = None) -> list[TranscriptBlock]:
    """Return the blocks of a user message: the text, then its images, which are read when drawn if it is on disk."""
    if is_report(message):
        return [report_block(message)]
    own = without_attached(message.content)
    texts = [block.text for block in own if isinstance(block, Text)]
    typed = "".join(texts)
    prompt = _reminder(message.text) if message.synthetic else UserBlock(typed)
    attached = user_input_of(message).images if len(texts) < len(own) else ()
    images = [
        ImageBlock(
            TranscriptImage.of(
                each.image, image_name(each.mark), read=partial(_image_data, disk, place) if disk else None
            )
        )
        for place, each in enumerate(attached)
    ]
    files = attached_names(message.content) if len(own) < len(message.content) else []
    notice = [NoticeBlock(f"Attached {', '.join(files)}")] if files else []
    return [*([prompt] if typed.strip() or not images else []), *images, *notice]


def _reminder(text: str) -> NoticeBlock:
    title, lines = hook_context(text)
    block = HookContextBlock(title, lines) if title else NoticeBlock(reminder_title(text))
    block.channel = "reminder"
    return block


def _image_data(disk: DiskSource, place: int) -> str:
    message = disk.read()
    images = user_input_of(message).images if isinstance(message, UserMessage) else ()
    return images[place].image.data if place < len(images) else ""


def show_result(block: ToolBlock, result: ToolResult) -> None:
    """Set a tool result on its block."""
    block.images = result_images(result)
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
