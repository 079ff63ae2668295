"""Import of Codex sessions: rollout files, `~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl`.

A line is `{timestamp, type, payload}`. The conversation is in the `response_item` lines, items of the Responses API;
`event_msg` lines repeat most of it for displays. Files of before September 2025 have the items without an envelope.

Source: openai/codex, `codex-rs/protocol` (`RolloutItem`, `ResponseItem`, `EventMsg`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from harness.messages import (
    AssistantContent,
    AssistantMessage,
    JsonObject,
    JsonValue,
    ModelSpec,
    Text,
    Thinking,
    ToolResult,
    Usage,
    UserContent,
    UserMessage,
    new_id,
)
from harness.session.formats.foreign import (
    Compacted,
    ForeignSession,
    ModelUsed,
    RolledBack,
    count_at,
    image_content,
    tool_call,
)
from harness.session.paths import SUFFIX, open_session_file
from harness.session.reading import iso_time, object_at, objects_in, parse, text_at
from harness.thinking_level import THINKING_LEVELS, ThinkingLevel

_LINES = frozenset({"session_meta", "response_item", "turn_context", "event_msg", "compacted"})
_THREAD = re.compile(r"[A-Za-z0-9-]{8,64}")
_ITEMS = frozenset({"message", "reasoning", "function_call", "function_call_output", "local_shell_call"})
# Codex sends its own texts as messages of the user.
_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<permissions",
)
_LEVELS: dict[str, ThinkingLevel] = {
    **{level: level for level in THINKING_LEVELS},
    "none": "off",
    "xhigh": "extra-high",
}
# Repeated elsewhere in the file, or without meaning for the conversation.
_SILENT = frozenset({"world_state", "ghost_snapshot"})


def is_codex(record: JsonObject) -> bool:
    """Return True for a line of a rollout file."""
    kind = text_at(record, "type")
    if isinstance(record.get("payload"), dict):
        return kind in _LINES
    return kind in _ITEMS or "record_type" in record or {"id", "timestamp", "instructions"} <= record.keys()


def codex_records(
    path: Path, end: int | None = None, read: frozenset[Path] = frozenset()
) -> Iterator[JsonObject | None]:
    """Yield the lines of a rollout file, up to the offset `end`; None for one that cannot be read.

    A forked session may refer to the beginning of another file instead of repeating it; its lines are included.

    Raises:
        OSError: A file cannot be read.
    """
    with open_session_file(path) as file:
        for line in file:
            if end is not None and file.tell() > end:
                return
            if line.isspace():
                continue
            record = parse(line)
            yield record
            if record and (base := object_at(object_at(record, "payload"), "history_base")):
                yield from _base_records(path, base, read | {path})


def _base_records(path: Path, base: JsonObject, read: frozenset[Path]) -> Iterator[JsonObject | None]:
    thread, end = text_at(base, "thread_id"), base.get("end_byte_offset")
    root = next((folder for folder in path.parents if folder.name == "sessions"), path.parent)
    files = root.rglob(f"*{thread}{SUFFIX}") if _THREAD.fullmatch(thread) else ()
    found = next((file for file in files if file not in read), None)
    if found and isinstance(end, int):
        yield from codex_records(found, end, read)
    else:
        yield {"type": f"beginning of the session, in the file of {thread}", "payload": {}}


def read_codex(records: Iterable[JsonObject | None]) -> ForeignSession:
    """Return the conversation of a rollout file from its lines; None is a line that could not be read."""
    reader = _Reader()
    for record in records:
        reader.read(record)
    reader.end_reply()
    return reader.session


class _Reader:
    """Collects items to replies: a reply ends before the first item that is not the model's."""

    def __init__(self) -> None:
        self.session = ForeignSession()
        self._time = 0.0
        self._provider = "openai"
        self._spec: ModelSpec | None = None
        self._content: list[AssistantContent] = []
        self._started = 0.0
        self._reply: int | None = None
        """Index of the last reply, while its usage is not known."""
        self._usage: Usage | None = None
        self._tools: dict[str, str] = {}
        self._has_meta = False

    def read(self, record: JsonObject | None) -> None:
        if record is None:
            self.session.damaged += 1
            return
        self._time = iso_time(text_at(record, "timestamp")) or self._time
        payload = record.get("payload")
        if not isinstance(payload, dict):
            # A line without an envelope is an item, or the metadata of the session.
            self._line("response_item" if text_at(record, "type") else "session_meta", record)
        else:
            self._line(text_at(record, "type"), payload)

    def _line(self, kind: str, data: JsonObject) -> None:
        match kind:
            case "response_item":
                self._item(data)
            case "session_meta":
                self._meta(data)
            case "turn_context":
                self._turn_context(data)
            case "event_msg":
                self._event(data)
            case "compacted":
                self._compacted(data)
            case "token_usage_record":
                self._count(object_at(data, "usage"))
            case _:
                self._leave_out(kind)

    def end_reply(self) -> None:
        """Add the collected items of the model as one reply."""
        if not self._content:
            return
        has_calls = any(not isinstance(block, Text | Thinking) for block in self._content)
        reply = AssistantMessage(
            tuple(self._content),
            self._spec.model_id if self._spec else "",
            self._provider,
            self._usage or Usage(),
            "tool_use" if has_calls else "stop",
            time=self._started,
        )
        self._reply = None if self._usage else len(self.session.entries)
        self._usage = None
        self.session.entries.append(reply)
        self._content = []

    def _meta(self, data: JsonObject) -> None:
        # A fork contains that of its origin as well.
        if self._has_meta or "record_type" in data:
            return
        self._has_meta = True
        self.session.cwd = text_at(data, "cwd")
        self._provider = text_at(data, "model_provider") or self._provider

    def _turn_context(self, data: JsonObject) -> None:
        self.session.cwd = self.session.cwd or text_at(data, "cwd")
        level = _LEVELS.get(text_at(data, "effort"), "off")
        if (model := text_at(data, "model")) and (spec := ModelSpec(self._provider, model, level)) != self._spec:
            self.end_reply()
            self._spec = spec
            self.session.entries.append(ModelUsed(spec, self._time))

    def _compacted(self, data: JsonObject) -> None:
        self.end_reply()
        if summary := text_at(data, "message"):
            self.session.entries.append(Compacted(summary, self._time))
        else:
            self._leave_out("encrypted summary")

    def _item(self, item: JsonObject) -> None:
        kind = text_at(item, "type")
        match kind:
            case "message":
                self._message(item)
            case "reasoning":
                self._reasoning(item)
            case "function_call" | "local_shell_call" | "custom_tool_call" | "tool_search_call":
                self._call(kind, item)
            case "function_call_output" | "custom_tool_call_output" | "tool_search_output":
                self._result(item)
            case "web_search_call":
                action = object_at(item, "action")
                self._add(Text(f"[Web search: {text_at(action, 'query') or text_at(action, 'url')}]"))
            case "image_generation_call":
                self._leave_out("generated image")
                self._add(Text(f"[Generated image: {text_at(item, 'revised_prompt')}]"))
            case "compaction" | "compaction_summary" | "context_compaction":
                self._leave_out("encrypted summary")
            case _:
                self._leave_out(kind)

    def _message(self, item: JsonObject) -> None:
        content = self._user_content(item.get("content"))
        if text_at(item, "role") == "assistant":
            for block in content:
                if isinstance(block, Text):
                    self._add(block)
            return
        self.end_reply()
        first = content[0].text.lstrip() if content and isinstance(content[0], Text) else ""
        is_injected = text_at(item, "role") != "user" or first.startswith(_INJECTED)
        self.session.entries.append(UserMessage(content, synthetic=is_injected, time=self._time))

    def _reasoning(self, item: JsonObject) -> None:
        parts = (item.get(key) for key in ("summary", "content"))
        texts = [text_at(each, "text") for part in parts for each in objects_in(part)]
        if text := "\n\n".join(filter(None, texts)):
            self._add(Thinking(text))
        if item.get("encrypted_content"):
            self._leave_out("encrypted reasoning")

    def _call(self, kind: str, item: JsonObject) -> None:
        call_id = text_at(item, "call_id") or text_at(item, "id") or new_id()
        name = text_at(item, "namespace") + (text_at(item, "name") or kind.removesuffix("_call"))
        arguments: JsonValue = item.get("arguments")
        if kind == "local_shell_call":
            action = object_at(item, "action")
            command: JsonObject = {key: value for key, value in action.items() if key != "type" and value is not None}
            arguments = command
        elif kind == "custom_tool_call":
            arguments = {"input": text_at(item, "input")}
        self._tools[call_id] = name
        self._add(tool_call(call_id, name, arguments))

    def _result(self, item: JsonObject) -> None:
        self.end_reply()
        call_id = text_at(item, "call_id")
        output = item.get("output", item.get("tools"))
        content, is_error = self._output(output)
        tool = self._tools.get(call_id, "")
        self.session.entries.append(ToolResult(call_id, tool, content, is_error=is_error, time=self._time))

    def _output(self, output: JsonValue) -> tuple[tuple[UserContent, ...], bool]:
        """Return the content of a result, and True if it is an error."""
        match output:
            case str():
                return _shell_output(output)
            case {"content": inner, **rest}:
                content, _ = self._output(inner)
                return content, rest.get("success") is False
            case list() if content := self._user_content(output):
                return content, False
            case None:
                return (), False
            case _:
                return (Text(json.dumps(output, ensure_ascii=False)),), False

    def _user_content(self, content: JsonValue) -> tuple[UserContent, ...]:
        if isinstance(content, str):
            return (Text(content),)
        return tuple(block for item in objects_in(content) for block in self._user_block(item))

    def _user_block(self, item: JsonObject) -> tuple[UserContent, ...]:
        match item:
            case {"text": str(text)}:
                return (Text(text),) if text else ()
            case {"image_url": str(url)}:
                return (image_content(url, self.session.left_out),)
            case _:
                self._leave_out(text_at(item, "type") or "content")
                return ()

    def _event(self, event: JsonObject) -> None:
        match text_at(event, "type"):
            case "token_count":
                self._count(object_at(object_at(event, "info"), "last_token_usage"))
            case "thread_rolled_back":
                self.end_reply()
                self.session.entries.append(RolledBack(count_at(event, "num_turns"), self._time))
            case "thread_name_updated":
                self.session.title = text_at(event, "thread_name")
            case "error":
                self.end_reply()
                failed = AssistantMessage(
                    (), provider=self._provider, stop_reason="error", error=text_at(event, "message"), time=self._time
                )
                self.session.entries.append(failed)
            case _:
                pass

    def _count(self, counts: JsonObject) -> None:
        """Add usage to the reply being read, or to the last one."""
        cached = count_at(counts, "cached_input_tokens")
        usage = Usage(max(count_at(counts, "input_tokens") - cached, 0), count_at(counts, "output_tokens"), cached)
        if self._content:
            self._usage = usage
        elif self._reply is not None and isinstance(reply := self.session.entries[self._reply], AssistantMessage):
            self.session.entries[self._reply] = replace(reply, usage=usage)
            self._reply = None

    def _add(self, block: AssistantContent) -> None:
        if not self._content:
            self._started = self._time
        self._content.append(block)

    def _leave_out(self, kind: str) -> None:
        if kind not in _SILENT:
            self.session.left_out[kind or "line without a type"] += 1


def _shell_output(output: str) -> tuple[tuple[UserContent, ...], bool]:
    """Return the output of a command, which older versions wrap in JSON with its exit code."""
    if output.startswith('{"output":'):
        try:
            wrapped = json.loads(output)
            return (Text(str(wrapped["output"])),), bool(wrapped.get("metadata", {}).get("exit_code"))
        except (ValueError, KeyError, AttributeError, RecursionError):
            pass
    first = output.partition("\n")[0]
    return (Text(output),), first.startswith("Exit code: ") and first != "Exit code: 0"
