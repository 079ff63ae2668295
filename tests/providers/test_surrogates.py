from __future__ import annotations

import json

from fakes.asking import Asker, ModelAt, Serve
from fakes.model_server import Raw

from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta
from harness.messages import JsonObject
from providers.net.stream import SurrogateBuffer


def pieces(*texts: str) -> Raw:
    events: list[JsonObject] = [{"choices": [{"delta": {"content": text}}]} for text in texts]
    events.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    return Raw(b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events))


async def test_a_letter_that_came_in_two_halves_is_one(serve: Serve, model_at: ModelAt, ask: Asker) -> None:
    server = serve([pieces("a\ud83d", "\ude00", " b\ud83d", "\ude00c")])

    deltas = await ask(model_at(server, "openai-chat"))

    assert "".join(delta.text for delta in deltas if isinstance(delta, BlockDelta)) == "a😀 b😀c"


async def test_lone_surrogate_becomes_a_replacement_character_before_the_block_ends(
    serve: Serve, model_at: ModelAt, ask: Asker
) -> None:
    server = serve([pieces("a\ud83d", "b\ud83d")])

    deltas = await ask(model_at(server, "openai-chat"))

    assert [delta.text for delta in deltas if isinstance(delta, BlockDelta)] == ["a", "\ufffdb", "\ufffd"]
    assert isinstance(deltas[-2], BlockEnd)


def test_blocks_that_come_at_once_keep_their_own_halves() -> None:
    reported: list[Delta] = [BlockStart(0, "text"), BlockDelta(0, "\ud83d"), BlockStart(1, "tool_call", "c", "t")]
    reported += [BlockDelta(1, "\ud83c"), BlockDelta(0, "\ude00"), BlockEnd(0), BlockDelta(1, "\udf0d")]

    joined = list(SurrogateBuffer().joined(reported))

    assert [delta for delta in joined if isinstance(delta, BlockDelta)] == [BlockDelta(0, "😀"), BlockDelta(1, "🌍")]
