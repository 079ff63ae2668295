"""Models whose exchanges are recorded or replayed, closed after the test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fakes.model_server import ModelServer

from harness.ports.provider import Model
from providers import Secret, connect

KEY = "sk-canary-3f9a77c1e5"
HEAD = b'{"type":"cassette","version":1}\n'

_open: list[Model] = []


class OneKey:
    def find(self, preset_name: str, variables: Sequence[str]) -> Secret:
        return Secret(KEY, "a test")


def recording(server: ModelServer, wire: str, tape: Path) -> Model:
    url = server.url if wire in ("anthropic", "gemini", "bedrock") else server.openai_url
    return opened(connect(f"{wire}/some-model", base_url=url, credentials=OneKey(), record=tape))


def replaying(tape: Path) -> Model:
    return opened(connect(f"replay/{tape}"))


def opened(model: Model) -> Model:
    _open.append(model)
    return model


async def close_all() -> None:
    while _open:
        await _open.pop().provider.close()
