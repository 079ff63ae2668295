from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from harness.agent.reply import ReplyBuilder
from harness.messages import AssistantMessage, ModelSpec, Text, Thinking
from harness.ports.provider import ToolSpec
from providers.endpoint import Endpoint
from providers.ollama.decode import LineReplyDecoder
from providers.preset import presets

LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})
ENDPOINT = Endpoint(presets()["ollama"], "http://127.0.0.1:11434")
WRITTEN = '<think>Hm</think>I look.\n<tool_call>\n{"name": "look", "arguments": {"at": "here"}}\n</tool_call>'
PLACES = st.sets(st.integers(0, 99), max_size=20)


def message_of(text: str, places: set[int], tools: tuple[ToolSpec, ...] = (LOOK,)) -> AssistantMessage:
    decoder, builder = LineReplyDecoder(ENDPOINT, tools), ReplyBuilder(ModelSpec("ollama", "x"))
    bounds = [0, *sorted(place % len(text) for place in places), len(text)]
    deltas = [d for start, end in pairwise(bounds) for d in decoder.take({"message": {"content": text[start:end]}})]
    deltas += decoder.take({"done": True, "done_reason": "stop"})
    for delta in [*deltas, *decoder.finish()]:
        builder.take(delta)
    return builder.finish()


@given(places=PLACES)
def test_calls_written_into_the_text_are_recognized_wherever_it_is_cut(places: set[int]) -> None:
    message = message_of(WRITTEN, places)

    assert message.content[:2] == (Thinking("Hm"), Text("I look."))
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("look", {"at": "here"})]
    assert message.stop_reason == "tool_use"


@given(places=PLACES)
def test_a_call_of_an_unknown_tool_stays_text(places: set[int]) -> None:
    message = message_of(WRITTEN, places, tools=())

    assert message.tool_calls == ()
    assert "<tool_call>" in message.text
    assert message.stop_reason == "stop"
