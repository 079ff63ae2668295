from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from fakes.contexts import tool_context
from fakes.conversations import FakeConversation
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.context.overlay import stub_text
from harness.errors import InvalidArguments
from harness.messages import (
    AssistantMessage,
    CustomMessage,
    Image,
    JsonObject,
    Message,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    synthetic,
)
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import Risk
from providers.demo import scripted
from providers.demo.provider import Call, Reply
from tools.recall import PAGE_CHARS, RecallTool

LONG = "".join(f"line {number}\n" for number in range(5_000))
READ = ToolCall("read-1", "read_file", {"path": "src/lexer.py"})
MESSAGES = (
    UserMessage((Text("The port must be 8421, never 8080."),), id="aaaa1111-user"),
    AssistantMessage((Text("I read the lexer."), READ), id="bbbb2222-reply"),
    ToolResult("read-1", "read_file", (Text(LONG),), id="cccc3333-result"),
    CustomMessage("hidden", {"port": 8421}, id="dddd4444-custom"),
    AssistantMessage((ToolCall("recall-1", "recall", {"query": "port"}),), id="eeee5555-reply"),
    ToolResult("recall-1", "recall", (Text("port 8421"),), id="ffff6666-result"),
    AssistantMessage((Text("The port is a number. " * 50),), id="aaaa7777-reply"),
)


def context_of(folder: Path, messages: Sequence[Message] = MESSAGES) -> ToolContext:
    return replace(tool_context(folder), conversation=FakeConversation(messages))


async def recall(folder: Path, messages: Sequence[Message] = MESSAGES, **arguments: object) -> ToolOutput:
    tool = RecallTool()
    return await tool.run(tool.validate(dict(arguments)), context_of(folder, messages))


def text_of(output: ToolOutput) -> str:
    return "".join(block.text for block in output.content if isinstance(block, Text))


async def test_query_ranks_messages_and_names_their_ids(tmp_path: Path):
    text = text_of(await recall(tmp_path, query="port 8421"))

    assert text.startswith(
        "[aaaa1111] message 1, user\n  The port must be 8421, never 8080.\n[aaaa7777] message 7, agent"
    )
    assert text.endswith("[2 hits. recall(id=…) returns a message in full.]")
    assert "recall(" not in text.removesuffix("[2 hits. recall(id=…) returns a message in full.]")


async def test_excerpt_shows_the_place_with_most_words(tmp_path: Path):
    text = text_of(await recall(tmp_path, query='"line 4321" 4322'))

    assert text.startswith('[cccc3333] message 3, result of read_file({"path": "src/lexer.py"})')
    assert "line 4321 line 4322" in text


async def test_only_the_best_hits_are_shown(tmp_path: Path):
    messages = [synthetic(f"same {at}") for at in range(30)]

    text = text_of(await recall(tmp_path, messages, query="same"))

    assert text.count("note of the program") == 10
    assert text.startswith(f"[{messages[-1].id[:8]}] message 30")
    assert text.endswith("[10 hits. The 10 best of 30 are shown. recall(id=…) returns a message in full.]")


async def test_message_is_returned_in_pages(tmp_path: Path):
    first = text_of(await recall(tmp_path, id="cccc3333"))
    rest = text_of(await recall(tmp_path, id="[cccc3333]", offset=2 * PAGE_CHARS))

    shown = first.partition("\n")
    assert shown[0].endswith(f"Characters 0–20,000 of {len(LONG):,}. Continue with offset=20000.")
    assert shown[2] == LONG[:PAGE_CHARS]
    assert rest.partition("\n")[2] == LONG[2 * PAGE_CHARS :]


async def test_result_is_found_by_its_call_and_images_come_with_it(tmp_path: Path):
    image = Image("image/png", "abcd")
    messages = [AssistantMessage((READ,)), ToolResult("read-1", "read_file", (Text("a picture"), image))]

    output = await recall(tmp_path, messages, id="read-1")

    assert output.content[1:] == (image,)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"query": "nothing-like-this"}, "No message of this conversation contains"),
        ({"id": "0000"}, "has no message '0000'"),
        ({"id": "aaaa"}, "'aaaa' is a part of several ids:\naaaa1111-user message 1, user\naaaa7777-reply"),
        ({"id": "aaaa1111", "offset": 99}, "offset 99 is past its end"),
        ({"id": "dddd4444"}, "has no message"),
    ],
)
async def test_missing_message_is_reported_with_a_remedy(arguments: JsonObject, expected: str, tmp_path: Path):
    assert expected in text_of(await recall(tmp_path, **arguments))


@pytest.mark.parametrize("arguments", [{}, {"query": " "}, {"query": "a", "id": "b"}])
def test_call_gives_either_a_query_or_an_id(arguments: JsonObject):
    with pytest.raises(InvalidArguments, match="either `query` or `id`"):
        RecallTool().validate(arguments)


def test_recall_needs_no_approval():
    tool = RecallTool()

    assert tool.risk({"query": "x"}) == Risk("none")
    assert not tool.mutates


async def test_agent_recalls_an_earlier_message():
    model = scripted("Noted.", Reply((Call("recall", {"query": "port"}, "r1"),)), "8421.")
    agent = Agent(model, [RecallTool()])
    await agent.prompt("The port must be 8421.")

    await agent.prompt("Which number did I say?")

    (result,) = [each for each in agent.messages if isinstance(each, ToolResult)]
    assert "message 1, user\n  The port must be 8421." in result.text
    await agent.close()


async def test_stub_names_its_call_which_recall_finds(tmp_path: Path):
    call = ToolCall("toolu_01AbCdEfGhIjKl", "read_file", {"path": "a.py"})
    result = ToolResult(call.id, "read_file", (Text("the content"),))

    stub = stub_text(result, call, can_recall=True)
    text = text_of(await recall(tmp_path, (AssistantMessage((call,)), result), id="EfGhIjKl"))

    assert stub == '[Cleared: read_file(a.py) — 11 chars. recall(id="EfGhIjKl") returns it.]'
    assert text.endswith("the content")
