"""Histories as each vendor's models produce them, decoded by the real decoders from the real wires."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from fakes import anthropic_wire, bedrock_wire, gemini_wire, ollama_wire, openai_wire, proxy_wire, responses_wire
from fakes.script import Arguments, Reply
from msgspec.structs import replace

from harness.agent.reply import ReplyBuilder
from harness.deltas import BlockStart, Delta
from harness.messages import AssistantMessage, Image, ModelMessage, ModelSpec, Text, Thinking, ToolResult, UserMessage
from providers.anthropic.decode import MessageDecoder
from providers.bedrock.decode import ConverseDecoder
from providers.bedrock.frames import FrameDecoder
from providers.endpoint import Endpoint
from providers.gemini.decode import ContentDecoder
from providers.net.framing import EventDecoder, Framing, LineDecoder
from providers.net.stream import ReplyDecoder, decoded
from providers.ollama.decode import LineReplyDecoder
from providers.openai_chat.decode import ChatDecoder
from providers.openai_responses.decode import ResponseDecoder
from providers.preset import presets
from providers.proxy.decode import ProxyDecoder

THOUGHT = "a-canary-of-thought"
SIGNATURE = "YSBjYW5hcnkgb2YgYSBzaWduYXR1cmUu"
REDACTED = "YSBjYW5hcnkgb2YgYSBzZWNyZXQuLi4="
PICTURE = Image("image/png", "iVBORw0KGgo=")
WORDS = "Schöne Grüße 🌍👩‍👩‍👧 line\u2028separator 思考"


class Wire(Protocol):
    def events(self, reply: Reply, model: str, number: int, /) -> Iterator[bytes]: ...


class MistralWire:
    """OpenAI-compatible, with thinking among the content parts, and ids of nine letters."""

    def events(self, reply: Reply, model: str, number: int, /) -> Iterator[bytes]:
        for event in openai_wire.events(reply, model, number):
            named = re.sub(rb'"call_(\d{4})_(\d)"', rb'"Ab\1xy\2"', event)
            yield re.sub(rb'"reasoning_content":("[^"]*")', self._as_part, named)

    @staticmethod
    def _as_part(thought: re.Match[bytes]) -> bytes:
        text = json.loads(thought[1])
        part = {"type": "thinking", "thinking": [{"type": "text", "text": text}]}
        return b'"content":' + json.dumps([part]).encode()


@dataclass(frozen=True, slots=True)
class Author:
    """A model, and the wire format of its service."""

    spec: ModelSpec
    wire: Wire
    decoder: Callable[[Endpoint], ReplyDecoder]
    framing: type[Framing] = EventDecoder

    def deltas(self, reply: Reply, number: int) -> list[Delta]:
        decoder = self.decoder(Endpoint(presets()[self.spec.provider], "http://127.0.0.1"))
        body = b"".join(self.wire.events(reply, self.spec.model_id, number))
        return [*decoded(decoder, self.framing().feed(body)), *decoder.finish()]


AUTHORS: Mapping[str, Author] = {
    "anthropic": Author(ModelSpec("anthropic", "claude-opus-4-8"), anthropic_wire, MessageDecoder),
    "openai-chat": Author(ModelSpec("openai-chat", "gpt-5.6-terra"), openai_wire, ChatDecoder),
    "deepseek": Author(ModelSpec("deepseek", "deepseek-chat"), openai_wire, ChatDecoder),
    "mistral": Author(ModelSpec("mistral", "mistral-medium-3-5"), MistralWire(), ChatDecoder),
    "openai": Author(ModelSpec("openai", "gpt-5.6-terra"), responses_wire, ResponseDecoder),
    "gemini": Author(ModelSpec("gemini", "gemini-3.8-flash"), gemini_wire, ContentDecoder),
    "vertex": Author(ModelSpec("vertex", "gemini-3.8-flash"), gemini_wire, ContentDecoder),
    "ollama": Author(ModelSpec("ollama", "qwen3:8b"), ollama_wire, LineReplyDecoder, LineDecoder),
    "bedrock": Author(
        ModelSpec("bedrock", "global.anthropic.claude-sonnet-5-5"), bedrock_wire, ConverseDecoder, FrameDecoder
    ),
    "proxy": Author(ModelSpec("proxy", "some-model"), proxy_wire, ProxyDecoder),
}


class Conversation:
    """A conversation in progress; `messages` is its history."""

    def __init__(self, author: Author) -> None:
        self.author = author
        self.messages: list[ModelMessage] = []
        self._replies = 0

    def prompt(self, *content: str | Image) -> None:
        self.messages.append(UserMessage(tuple(Text(each) if isinstance(each, str) else each for each in content)))

    def reply(self, reply: Reply, *, ids: Sequence[str] = ()) -> None:
        """Add a reply with calls; `ids` replaces the usual ids of the service."""
        given = iter(ids)
        builder = self._builder()
        for delta in self._deltas(reply):
            if ids and isinstance(delta, BlockStart) and delta.kind == "tool_call":
                delta = replace(delta, call_id=next(given))
            builder.take(delta)
        self.messages.append(builder.finish())

    def say_more(self, reply: Reply) -> None:
        """Continue the last reply after its calls."""
        last = self.messages.pop()
        assert isinstance(last, AssistantMessage)
        builder = self._builder()
        for delta in self._deltas(reply):
            builder.take(delta)
        more = builder.finish()
        self.messages.append(replace(last, content=(*last.content, *more.content)))

    def break_off(self, reply: Reply, error: str = "") -> None:
        """Stream half of a reply; then fail with the `error`, or stop."""
        deltas = self._deltas(reply)
        builder = self._builder()
        for delta in deltas[: len(deltas) // 2]:
            builder.take(delta)
        self.messages.append(builder.fail(error) if error else builder.abort())

    def answer(self, *results: str | Image | Exception | None) -> None:
        """Add results of the last calls, in order; an exception is a failure, None returns nothing."""
        for call, result in zip(self._last.tool_calls, results, strict=False):
            is_error = isinstance(result, Exception)
            said = Text(str(result)) if is_error else Text(result) if isinstance(result, str) else result
            self.messages.append(ToolResult(call.id, call.name, (said,) if said else (), is_error=is_error))

    @property
    def _last(self) -> AssistantMessage:
        return next(message for message in reversed(self.messages) if isinstance(message, AssistantMessage))

    def _builder(self) -> ReplyBuilder:
        replies = [message for message in self.messages if isinstance(message, AssistantMessage)]
        return ReplyBuilder(self.author.spec, {call.id for reply in replies for call in reply.tool_calls})

    def _deltas(self, reply: Reply) -> list[Delta]:
        self._replies += 1
        return self.author.deltas(replace(reply, signature=SIGNATURE), self._replies)


LOOKS: Sequence[tuple[str, Arguments]] = (("look", {"at": WORDS}), ("look", {}), ("read_file", {"path": "ü.py"}))


def talk(chat: Conversation) -> None:
    chat.prompt(WORDS, PICTURE)
    chat.reply(Reply(WORDS, thinking=THOUGHT))
    chat.prompt("Go on")


def parallel_calls(chat: Conversation) -> None:
    chat.prompt("Look")
    chat.reply(Reply("I look.", thinking=THOUGHT, calls=LOOKS))
    chat.answer(WORDS, ValueError("it is dark"), PICTURE)
    chat.reply(Reply(thinking=THOUGHT, calls=LOOKS[:1]))
    chat.answer(PICTURE)
    chat.reply(Reply("Done."))
    chat.prompt("Thanks")


def words_after_calls(chat: Conversation) -> None:
    chat.prompt("Look")
    chat.reply(Reply(thinking=THOUGHT, calls=LOOKS[:2]))
    chat.say_more(Reply("I have called two tools."))
    chat.answer("one", "two")


def steering_after_results(chat: Conversation) -> None:
    chat.prompt("Look")
    chat.reply(Reply(thinking=THOUGHT, calls=LOOKS[:2]))
    chat.answer(PICTURE, "two")
    chat.prompt("Be quick!", PICTURE)


def broken_replies(chat: Conversation) -> None:
    chat.prompt("Write")
    chat.break_off(Reply("one two three four five six"))
    chat.prompt("Again")
    chat.break_off(Reply("one two three four five six", thinking=THOUGHT, calls=LOOKS), "the connection was cut")
    chat.prompt("Again")
    chat.break_off(Reply(calls=LOOKS), "the connection was cut")
    chat.prompt("   ")
    chat.reply(Reply())
    chat.prompt("Again")
    chat.reply(Reply(thinking=THOUGHT))
    chat.prompt("Again")


def replies_in_a_row(chat: Conversation) -> None:
    chat.prompt("Write")
    chat.break_off(Reply("one two three four five six"), "the connection was cut")
    chat.reply(Reply("I look.", thinking=THOUGHT, calls=LOOKS[:1]))
    chat.answer("one")


def odd_ids(chat: Conversation) -> None:
    chat.prompt("Look")
    chat.reply(Reply(calls=LOOKS), ids=["x" * 450 + "a", "x" * 450 + "b", ""])
    chat.answer("one", "two", "three")
    chat.reply(Reply(calls=LOOKS), ids=["functions.look:0", "functions_look_0", "call_1|fc_ü 🌍"])
    chat.answer("one", "two", "three")
    chat.reply(Reply(calls=LOOKS), ids=["functions.look:0", "same", "same"])
    chat.answer("one", "two", "three")
    chat.reply(Reply(calls=LOOKS), ids=["abcdefgh1", "abcdefgh12", "abcdefgh1!"])
    chat.answer("one", "two", "three")


def odd_names(chat: Conversation) -> None:
    names = ("default_api.look", "mcp/server:ü tool", "1" + "n" * 99, "$look")
    chat.prompt("Look")
    chat.reply(Reply(calls=[(name, {}) for name in names]))
    chat.answer("one", "two", "three", ValueError("no such tool"))


def nothing_said(chat: Conversation) -> None:
    chat.prompt("Look")
    chat.reply(Reply(" \n", calls=LOOKS))
    chat.answer(None, " ", ValueError(""))
    chat.prompt(" ")


def unanswered_calls(chat: Conversation) -> None:
    chat.prompt("Look")
    chat.reply(Reply(thinking=THOUGHT, calls=LOOKS))
    chat.answer("one")
    chat.prompt("What now?")


def begins_with_a_call(chat: Conversation) -> None:
    chat.reply(Reply("I look.", thinking=THOUGHT, calls=LOOKS[:1]))
    chat.answer("one")
    chat.reply(Reply("Done."))
    chat.prompt("Thanks")


def secret_thoughts(chat: Conversation) -> None:
    chat.prompt("Look")
    chat.reply(Reply("I look.", calls=LOOKS[:1]))
    last = chat.messages.pop()
    assert isinstance(last, AssistantMessage)
    chat.messages.append(replace(last, content=(Thinking("", redacted=REDACTED), *last.content)))
    chat.answer("one")


CONVERSATIONS: Mapping[str, Callable[[Conversation], None]] = {
    tell.__name__: tell
    for tell in (
        *(talk, parallel_calls, words_after_calls, steering_after_results, broken_replies, replies_in_a_row),
        *(odd_ids, odd_names, nothing_said, unanswered_calls, begins_with_a_call, secret_thoughts),
    )
}


@cache
def history_of(author: str, name: str) -> tuple[ModelMessage, ...]:
    """Return the history of that conversation with the vendor."""
    chat = Conversation(AUTHORS[author])
    CONVERSATIONS[name](chat)
    return tuple(chat.messages)
