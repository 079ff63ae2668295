"""Searches by the service of the model in the history: sent back complete, or not at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fakes.asking import Serve
from fakes.judges import accepted_by_anthropic, accepted_by_google, accepted_by_responses
from fakes.model_server import Raw, Reply
from fakes.people import ScriptedUser
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.deltas import BlockEnd, Delta, Done
from harness.messages import (
    AssistantContent,
    AssistantMessage,
    JsonObject,
    ModelMessage,
    ModelSpec,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    user,
)
from harness.ports.provider import Request, ToolSpec
from providers import Secret, connect
from providers.anthropic.encode import encode as encode_messages
from providers.anthropic.thinking import thinking_form
from providers.endpoint import Endpoint
from providers.gemini.encode import encode as encode_gemini
from providers.openai_responses.decode import ResponseDecoder
from providers.openai_responses.encode import encode as encode_responses
from providers.preset import presets
from providers.wire.hosted_search import as_signature
from tools import builtin_tools

CLAUDE = ModelSpec("anthropic", "claude-sonnet-5-5", "off")
GPT = ModelSpec("openai", "gpt-5.6-terra", "low")
GEMINI = ModelSpec("gemini", "gemini-3.8-flash", "off")
READ = ToolSpec("read_file", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})
SEARCH = ToolSpec("web_search", "Searches.", {"type": "object", "properties": {}}, "preferred")
QUESTION = user("What is new?")
READ_CALL = ToolCall("toolu_1", "read_file", {"path": "a.py"})
READ_RESULT = ToolResult("toolu_1", "read_file", (Text("x = 1"),))


def request(spec: ModelSpec, *messages: ModelMessage) -> Request:
    return Request(spec, "Be brief.", (QUESTION, *messages), (READ, SEARCH))


def reply(spec: ModelSpec, *content: AssistantContent) -> AssistantMessage:
    return AssistantMessage(content, spec.model_id, spec.provider)


def kept(item: JsonObject) -> Thinking:
    return Thinking("", as_signature(item))


USE: JsonObject = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "retries"}}
FOUND: JsonObject = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "EqgfCioIARgB"}
    ],
}
ANSWER: JsonObject = {"type": "text", "text": "Three times."}
SEARCH_AND_CALL = reply(CLAUDE, kept(USE), READ_CALL)


def claude_types(*messages: ModelMessage) -> list[list[str]]:
    """Return the types of the blocks in each turn after the question."""
    body: Any = encode_messages(request(CLAUDE, *messages), thinking_form(CLAUDE))
    assert accepted_by_anthropic(body)
    return [[block["type"] for block in turn["content"]] for turn in body["messages"][1:]]


def test_search_next_to_a_tool_call_is_sent_back_before_its_result() -> None:
    assert claude_types(SEARCH_AND_CALL, READ_RESULT) == [["server_tool_use", "tool_use"], ["tool_result"]]


def test_search_answered_by_the_next_reply_is_sent_back_with_its_result() -> None:
    answer = reply(CLAUDE, kept(FOUND), Text("Three times."))

    assert claude_types(SEARCH_AND_CALL, READ_RESULT, answer, user("And?")) == [
        ["server_tool_use", "tool_use"],
        ["tool_result"],
        ["web_search_tool_result", "text"],
        ["text"],
    ]


def test_search_that_a_later_reply_left_unanswered_is_not_sent_back() -> None:
    answer = reply(GPT, Text("Three times."))

    assert claude_types(SEARCH_AND_CALL, READ_RESULT, answer, user("And?"))[0] == ["tool_use"]


def test_result_without_its_search_is_not_sent_back() -> None:
    # Compaction removed the reply with the search.
    answer = reply(CLAUDE, kept(FOUND), Text("Three times."))

    assert claude_types(answer, user("And?")) == [["text"], ["text"]]


class AnyKey:
    def find(self, preset_name: str, variables: Sequence[str]) -> Secret:
        return Secret("sk-test", "a test")


def claude_stream(stop: str, *blocks: JsonObject) -> Raw:
    """Return a reply with complete blocks as the service streams it."""
    events: list[JsonObject] = [{"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 9}}}]
    for index, block in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}})
    events.append({"type": "message_stop"})
    return Raw("".join(f"data: {json.dumps(event)}\n\n" for event in events).encode())


async def test_paused_reply_is_sent_back_and_continued(serve: Serve) -> None:
    server = serve([claude_stream("pause_turn", USE), claude_stream("end_turn", FOUND, ANSWER), Reply("Again")])
    model = connect("anthropic/claude-sonnet-5-5", base_url=server.url, credentials=AnyKey())
    agent = Agent(replace(model, native_search=True), builtin_tools(), "Be brief.", AgentOptions(user=ScriptedUser()))

    first = await agent.prompt("What is new?")
    await agent.prompt("And?")
    await model.provider.close()

    assert first.stop_reason == "stop"
    bodies = [sent.body for sent in server.requests]
    assert all(map(accepted_by_anthropic, bodies))
    turns = [
        [(turn["role"], [block["type"] for block in turn["content"]]) for turn in body["messages"]] for body in bodies
    ]
    assert [each[1:] for each in turns] == [
        [],
        [("assistant", ["server_tool_use"])],
        [("assistant", ["server_tool_use", "web_search_tool_result", "text"]), ("user", ["text"])],
    ]


REASONING: JsonObject = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
CALL: JsonObject = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "retries", "queries": ["retries"]},
}


def gpt_types(*content: AssistantContent) -> list[str]:
    """Return the types of the items of a reply."""
    body: Any = encode_responses(request(GPT, reply(GPT, *content), user("And?")))
    assert accepted_by_responses(body)
    return [item["type"] for item in body["input"][1:-1]]


def test_reasoning_whose_search_ends_the_reply_is_not_sent_back() -> None:
    assert gpt_types(kept(REASONING), kept(CALL)) == []
    assert gpt_types(Text("I search."), kept(REASONING), kept(CALL)) == ["message"]
    assert gpt_types(kept(REASONING), kept(CALL), Text("Found.")) == ["reasoning", "web_search_call", "message"]


def test_search_is_not_sent_back_without_its_reasoning() -> None:
    assert gpt_types(Thinking("Not encrypted."), kept(CALL), Text("Found.")) == ["message"]
    assert gpt_types(kept(CALL), Text("Found.")) == ["web_search_call", "message"]


def test_incomplete_search_and_pages_that_were_opened_are_decoded() -> None:
    opened: JsonObject = {**CALL, "id": "ws_2", "action": {"type": "open_page", "url": "https://a.example"}}
    unknown = {name: value for name, value in CALL.items() if name != "action"}
    decoder = ResponseDecoder(Endpoint(presets()["openai"], "https://api.openai.com/v1"))
    ends: list[Delta] = []
    for index, item in enumerate((CALL, opened, unknown)):
        event: Any = {"type": "response.output_item.done", "output_index": index, "item": item}
        ends += [delta for delta in decoder.take(event) if isinstance(delta, BlockEnd)]

    kept, page, dropped = (end.signature for end in ends if isinstance(end, BlockEnd))

    assert (json.loads(kept or ""), json.loads(page or ""), dropped) == (CALL, opened, None)
    # Opening a page is free; a search without details may not be.
    assert [end.usage.searches for end in decoder.finish() if isinstance(end, Done)] == [2]
    assert gpt_types(kept_as(kept), kept_as(dropped), Text("Found.")) == ["message"]


def kept_as(signature: str | None) -> Thinking:
    return Thinking("Web search", signature)


TOOL_CALL: JsonObject = {
    "toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["retries"]}, "id": "tc_1"},
    "thoughtSignature": "QUI=",
}
TOOL_RESPONSE: JsonObject = {
    "toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "response": {"search_suggestions": "<div>"}, "id": "tc_1"},
    "thoughtSignature": "Q0Q=",
}
SEARCHED = kept({"type": "toolCall", "part": TOOL_CALL})
FINISHED = kept({"type": "toolResponse", "part": TOOL_RESPONSE})


def gemini_parts(tools: tuple[ToolSpec, ...], *content: AssistantContent) -> list[JsonObject]:
    """Return the parts of a reply."""
    body: Any = encode_gemini(replace(request(GEMINI, reply(GEMINI, *content), user("And?")), tools=tools))
    assert accepted_by_google({name: body[name] for name in ("contents", "tools", "toolConfig") if name in body})
    return body["contents"][1]["parts"]


def test_gemini_search_is_sent_back_only_with_its_response() -> None:
    text = Text("Three times.")

    assert gemini_parts((READ, SEARCH), SEARCHED, FINISHED, text)[:2] == [TOOL_CALL, TOOL_RESPONSE]
    assert gemini_parts((READ, SEARCH), text, SEARCHED) == [{"text": "Three times."}]
    assert gemini_parts((READ, SEARCH), FINISHED, text) == [{"text": "Three times."}]


def test_gemini_search_is_not_sent_back_where_it_is_not_declared() -> None:
    # Without a function, the request does not declare that searches are returned.
    for tools in (READ,), (SEARCH,), ():
        assert gemini_parts(tools, SEARCHED, FINISHED, Text("Three times.")) == [{"text": "Three times."}]
