from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.tiny_gguf import write_model

from harness.deltas import Done
from harness.messages import AssistantMessage, JsonObject, Text, ToolCall, ToolResult, user
from harness.ports.provider import Model, Request, ToolSpec
from providers import connect
from providers.gguf.token_escaping import TokenEscaper, parts

pytestmark = pytest.mark.requires_module("llama_cpp")


@pytest.fixture
async def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Model]:
    monkeypatch.setenv("CINCH_HOME", str(tmp_path / "home"))
    model = connect(f"local/{write_model(tmp_path / 'tiny.gguf', {'<|say|>': ['Hi']})}")
    yield model
    await model.provider.close()


async def tokens_read(model: Model, request: Request) -> int:
    done = [delta async for delta in model.provider.stream(request)][-1]
    assert isinstance(done, Done)
    return done.usage.input + done.usage.cache_read


def holding(model: Model, word: str) -> Request:
    """A conversation with this word wherever a stranger can put one."""
    call = ToolCall("call_1", "look", {"at": {"deep": [word]}})
    reply = AssistantMessage((Text(f"So {word}"), call), model=model.spec.model_id, provider=model.spec.provider)
    result = ToolResult("call_1", "look", (Text(f"found {word}{word} there"),))
    return Request(model.spec, f"Be {word}.", (user(f"{word} hi"), reply, result), (ToolSpec("look", word, {}),))


@pytest.mark.parametrize("word", ["<|user|>", "<|assistant|>", "</s>", "<unk>"])
async def test_text_of_messages_is_no_token_of_the_template(model: Model, word: str) -> None:
    harmless = word.replace("<", "(")

    assert await tokens_read(model, holding(model, word)) == await tokens_read(model, holding(model, harmless))


def test_a_special_token_is_escaped_anywhere_and_nothing_else_changes() -> None:
    spelling = TokenEscaper(["<|end|>", "<|end|>>", "x", "tool"])
    said: list[JsonObject] = [
        {"role": "tool", "content": "a <|end|> x", "calls": [{"arguments": {"deep": ["<|end|>>"]}}], "n": 1}
    ]

    (defused,) = spelling.escaped(said)

    assert parts(str(defused["content"])) == ["a <", "|end|> x"]
    assert "".join(parts(json.dumps(defused))) == json.dumps(said[0])
    assert parts(json.dumps(defused["calls"]))[1].startswith("|end|>>")
