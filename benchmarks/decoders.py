"""CPU time to decode 1,000 streamed tokens, for each wire format, compared with `json.loads` on the same bytes."""

from __future__ import annotations

import json
import random
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from fakes import (  # noqa: E402  the path comes first
    anthropic_wire,
    bedrock_wire,
    gemini_wire,
    ollama_wire,
    openai_wire,
    proxy_wire,
    responses_wire,
)
from fakes.script import Reply  # noqa: E402
from measure import in_turn, report  # noqa: E402

from harness.deltas import BlockDelta, Delta  # noqa: E402
from providers.anthropic.decode import MessageDecoder  # noqa: E402
from providers.bedrock.decode import ConverseDecoder  # noqa: E402
from providers.bedrock.frames import FrameDecoder  # noqa: E402
from providers.endpoint import Endpoint  # noqa: E402
from providers.gemini.decode import ContentDecoder  # noqa: E402
from providers.net.framing import EventDecoder, Framing, LineDecoder  # noqa: E402
from providers.net.stream import ReplyDecoder, decoded  # noqa: E402
from providers.ollama.decode import LineReplyDecoder  # noqa: E402
from providers.openai_chat.decode import ChatDecoder  # noqa: E402
from providers.openai_responses.decode import ResponseDecoder  # noqa: E402
from providers.preset import presets  # noqa: E402
from providers.proxy.decode import ProxyDecoder  # noqa: E402

TOKENS = 20_000
RUNS = 7
GOAL = 3.0

Wire = tuple[str, ModuleType, Callable[[], Framing], Callable[[Endpoint], ReplyDecoder]]
WIRES: Sequence[Wire] = (
    ("anthropic", anthropic_wire, EventDecoder, MessageDecoder),
    ("openai", responses_wire, EventDecoder, ResponseDecoder),
    ("openai-chat", openai_wire, EventDecoder, ChatDecoder),
    ("gemini", gemini_wire, EventDecoder, ContentDecoder),
    ("bedrock", bedrock_wire, FrameDecoder, ConverseDecoder),
    ("ollama", ollama_wire, LineDecoder, LineReplyDecoder),
    ("proxy", proxy_wire, EventDecoder, ProxyDecoder),
)


def main() -> int:
    """Print a line per wire format; return 1 if one misses the goal."""
    ratios = [_measured(*wire) for wire in WIRES]
    return 1 if max(ratios) > GOAL else 0


def _measured(
    name: str, wire: ModuleType, framing: Callable[[], Framing], decoder: Callable[[Endpoint], ReplyDecoder]
) -> float:
    chunks = list(wire.events(Reply(text=_text()), "some-model", 1))
    endpoint = Endpoint(presets()[name], "http://127.0.0.1:1")
    payloads = [payload.encode() for payload in _payloads(framing(), chunks)]
    tokens = sum(isinstance(delta, BlockDelta) for delta in _deltas(framing(), decoder(endpoint), endpoint, chunks))
    assert tokens >= TOKENS, f"{name}: {tokens} deltas came of {TOKENS} tokens"

    ours, bare = in_turn(
        RUNS,
        lambda: _cpu_of(_deltas(framing(), decoder(endpoint), endpoint, chunks)),
        lambda: _cpu_of(json.loads(payload) for payload in payloads),
    )

    scale = 1e6 / tokens
    report(name, ours * scale, bare * scale, unit="ms/1,000 tokens", than="json.loads", goal="≤ 3")
    return ours / bare


def _deltas(framing: Framing, decoder: ReplyDecoder, endpoint: Endpoint, chunks: Sequence[bytes]) -> Iterator[Delta]:
    for chunk in chunks:
        yield from decoded(decoder, framing.feed(chunk), endpoint)
    yield from decoder.finish()


def _payloads(framing: Framing, chunks: Sequence[bytes]) -> Iterator[str]:
    for chunk in chunks:
        yield from (data for data in framing.feed(chunk) if data != "[DONE]")


def _text() -> str:
    words = random.Random(7)
    return "".join(" " + "x" * words.randint(1, 6) for _ in range(TOKENS))


def _cpu_of(steps: Iterator[object]) -> float:
    """Return the seconds to consume all; none is kept, since garbage collection would dominate."""
    began = time.process_time()
    deque(steps, maxlen=0)
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
