"""Web search by the service of the model: declared, decoded, sent back, and left out where it is rejected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.asking import Serve
from fakes.judges import (
    accepted_by_anthropic,
    accepted_by_google,
    accepted_by_responses,
    anthropic_event,
    responses_event,
)
from fakes.model_server import Failure, Reply
from fakes.people import ScriptedUser
from fakes.talk import written
from msgspec.structs import replace

from cinch_tui.reports.citations import sources_of
from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.agent.reply import ReplyBuilder
from harness.deltas import Delta
from harness.messages import AssistantMessage, JsonObject, ModelSpec, Text, Thinking, user
from harness.ports.provider import Hosting, Request, ToolSpec
from harness.session.resume import load_session
from providers import Secret, connect
from providers.anthropic.decode import MessageDecoder
from providers.anthropic.encode import encode as encode_messages
from providers.anthropic.thinking import thinking_form
from providers.endpoint import Endpoint
from providers.gemini.decode import ContentDecoder
from providers.gemini.encode import encode as encode_gemini
from providers.openai_responses.decode import ResponseDecoder
from providers.openai_responses.encode import encode as encode_responses
from providers.preset import presets
from tools import builtin_tools
from tools.web.options import WebOptions

CLAUDE = ModelSpec("anthropic", "claude-sonnet-5-5", "off")
GPT = ModelSpec("openai", "gpt-5.6-terra", "low")
GEMINI = ModelSpec("gemini", "gemini-3.8-flash", "off")
READ = ToolSpec("read_file", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})


def asked(spec: ModelSpec, *replies: AssistantMessage, hosting: Hosting = "preferred") -> Request:
    search = ToolSpec("web_search", "Searches.", {"type": "object", "properties": {}}, hosting)
    messages = [user("What is new?"), *(part for reply in replies for part in (reply, user("And?")))]
    return Request(spec, "Be brief.", tuple(messages), (READ, search))


def claude_body(request: Request, *without: str) -> JsonObject:
    body = encode_messages(request, thinking_form(request.spec), without=frozenset(without))
    assert accepted_by_anthropic(body)
    return body


def gpt_body(request: Request, *without: str) -> JsonObject:
    body = encode_responses(request, without)
    assert accepted_by_responses(body)
    return body


def gemini_body(request: Request, *without: str) -> JsonObject:
    body = encode_gemini(request, without)
    assert accepted_by_google({name: body[name] for name in ("contents", "tools", "toolConfig") if name in body})
    return body


def names(body: JsonObject) -> list[str]:
    """Return the names or types of the declared tools."""
    tools: list[Any] = [*body["tools"]]  # type: ignore[misc]
    if "functionDeclarations" in tools[0]:
        return [
            *(each["name"] for each in tools[0]["functionDeclarations"]),
            *(["search"] * ("googleSearch" in tools[0])),
        ]
    return [each.get("name") if each.get("type") in (None, "function") else f"{each['type']}" for each in tools]


@pytest.mark.parametrize(
    ("body", "spec", "hosted"),
    [
        (claude_body, CLAUDE, "web_search_20250305"),
        (gpt_body, GPT, "web_search"),
        (gemini_body, GEMINI, "search"),
    ],
)
def test_search_of_the_service_replaces_the_function(
    body: Callable[..., JsonObject], spec: ModelSpec, hosted: str
) -> None:
    function = replace(asked(spec), tools=(READ, ToolSpec("web_search", "S.", {"type": "object", "properties": {}})))

    assert names(body(asked(spec))) == ["read_file", hosted]
    assert names(body(function)) == ["read_file", "web_search"]
    # A service that rejects its own search gets the function, if there is one.
    assert names(body(asked(spec), "web_search")) == ["read_file", "web_search"]
    assert names(body(asked(spec, hosting="only"), "web_search")) == ["read_file"]


def replied(spec: ModelSpec, decoder: Any, events: Sequence[dict[str, Any]]) -> AssistantMessage:
    builder = ReplyBuilder(spec)
    deltas: list[Delta] = [delta for event in events for delta in decoder.take(event)]
    for delta in (*deltas, *decoder.finish()):
        builder.take(delta)
    return builder.finish()


SERVER_USE = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {
            "type": "web_search_result",
            "url": "https://docs.example.com/retries",
            "title": "Retries",
            "encrypted_content": "EqgfCioIARgB",
            "page_age": "April 30, 2026",
        }
    ],
}
CITED = {
    "type": "web_search_result_location",
    "url": "https://docs.example.com/retries",
    "title": "Retries",
    "encrypted_index": "Eo8BCioIAhgB",
    "cited_text": "Retry three times.",
}
CLAUDE_EVENTS = [
    {"type": "content_block_start", "index": 0, "content_block": SERVER_USE},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ""}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "input_json_delta", "partial_json": '{"query": "ret'},
    },
    {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": 'ries"}'}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": FOUND},
    {"type": "content_block_stop", "index": 1},
    {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": "", "citations": []}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "citations_delta", "citation": CITED}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "Three times."}},
    {"type": "content_block_stop", "index": 2},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 9, "server_tool_use": {"web_search_requests": 1}},
    },
    {"type": "message_stop"},
]


def claude_reply(events: Sequence[dict[str, Any]] = CLAUDE_EVENTS) -> AssistantMessage:
    endpoint = Endpoint(presets()["anthropic"], "https://api.anthropic.com")
    return replied(CLAUDE, MessageDecoder(endpoint), events)


def test_anthropic_search_is_shown_cited_and_sent_back_unchanged() -> None:
    assert all(map(anthropic_event, CLAUDE_EVENTS[:-2]))

    reply = claude_reply()

    shown = [block.text for block in reply.content if isinstance(block, Thinking | Text)]
    assert shown == [
        "Web search: retries",
        "Web search: 1 result\n- Retries – https://docs.example.com/retries",
        "Three times.",
    ]
    assert [source.url for source in sources_of(reply.content)] == ["https://docs.example.com/retries"]
    assert reply.usage.searches == 1
    sent: Any = claude_body(asked(CLAUDE, reply))["messages"]
    assert sent[1]["content"] == [
        {**SERVER_USE, "input": {"query": "retries"}},
        FOUND,
        {"type": "text", "text": "Three times.", "citations": [CITED]},
    ]


def test_citation_is_sent_back_unchanged_after_a_resume_and_only_with_its_results(tmp_path: Path) -> None:
    long = {**CITED, "title": "Retries " * 60, "cited_text": "Retry three times. " * 200}
    events = [*CLAUDE_EVENTS[:8], {**CLAUDE_EVENTS[8], "delta": {"type": "citations_delta", "citation": long}}]
    path = written(tmp_path, user("What is new?"), claude_reply([*events, *CLAUDE_EVENTS[9:]]))
    reply = [*load_session(path).messages][1]
    assert isinstance(reply, AssistantMessage)

    sent: Any = claude_body(asked(CLAUDE, reply))["messages"]
    without: Any = claude_body(asked(CLAUDE, replace(reply, content=reply.content[2:])))["messages"]

    assert sent[1]["content"][2] == {"type": "text", "text": "Three times.", "citations": [long]}
    assert without[1]["content"] == [{"type": "text", "text": "Three times."}]


def test_search_without_its_result_is_not_sent_back() -> None:
    reply = claude_reply([*CLAUDE_EVENTS[:5], *CLAUDE_EVENTS[7:]])
    cut = claude_reply([*CLAUDE_EVENTS[:4], *CLAUDE_EVENTS[7:]])

    for each in (reply, cut):
        sent: Any = claude_body(asked(CLAUDE, each))["messages"]
        assert sent[1]["content"] == [{"type": "text", "text": "Three times."}]


def test_failed_search_is_shown() -> None:
    error = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    events = [{**CLAUDE_EVENTS[5], "content_block": {**FOUND, "content": error}}, *CLAUDE_EVENTS[6:]]

    reply = claude_reply(events)

    assert isinstance(reply.content[0], Thinking)
    assert reply.content[0].text == "Web search failed: max_uses_exceeded"


@pytest.mark.parametrize(("body", "spec"), [(claude_body, CLAUDE), (gpt_body, GPT), (gemini_body, GEMINI)])
def test_search_of_another_service_is_not_sent(body: Callable[..., JsonObject], spec: ModelSpec) -> None:
    for reply in (claude_reply(), gpt_reply(), gemini_reply()):
        if reply.provider != spec.provider:
            sent = str(body(asked(spec, reply)))
            assert "Three times." in sent
            assert not any(part in sent for part in ("srvtoolu_1", "ws_1", "tc_1"))


CALL = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "retries", "queries": ["retries"]},
}
REASONING = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
ANNOTATION = {
    "type": "url_citation",
    "url": "https://docs.example.com/retries",
    "title": "Retries",
    "start_index": 0,
    "end_index": 12,
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Three times.", "annotations": [ANNOTATION]}],
}


def gpt_reply() -> AssistantMessage:
    events: list[dict[str, Any]] = []
    for index, item in enumerate((REASONING, CALL, MESSAGE)):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item, "sequence_number": 1})
        if item is CALL:
            kind = "response.web_search_call.searching"
            events.append({"type": kind, "output_index": index, "item_id": "ws_1", "sequence_number": 1})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item, "sequence_number": 1})
    assert all(map(responses_event, events))
    events.append({"type": "response.completed", "response": {"id": "r", "usage": None}})
    return replied(GPT, ResponseDecoder(Endpoint(presets()["openai"], "https://api.openai.com/v1")), events)


def test_openai_search_is_shown_cited_and_sent_back_with_its_reasoning() -> None:
    reply = gpt_reply()

    assert [block.text for block in reply.content if isinstance(block, Thinking | Text)] == [
        "",
        "Web search: retries",
        "Three times.",
    ]
    assert [source.title for source in sources_of(reply.content)] == ["Retries"]
    assert reply.usage.searches == 1
    sent: Any = gpt_body(asked(GPT, reply))["input"]
    assert sent[1:4] == [REASONING_SENT, CALL, {"type": "message", "role": "assistant", "content": "Three times."}]


REASONING_SENT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
TOOL_CALL = {
    "toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["retries"]}, "id": "tc_1"},
    "thoughtSignature": "QUI=",
}
TOOL_RESPONSE = {
    "toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "response": {"search_suggestions": "<div>"}, "id": "tc_1"},
    "thoughtSignature": "Q0Q=",
}


def gemini_reply() -> AssistantMessage:
    grounding = {
        "webSearchQueries": ["retries"],
        "groundingChunks": [{"web": {"uri": "https://docs.example.com/retries", "title": "Retries"}}],
        "groundingSupports": [
            {"segment": {"startIndex": 0, "endIndex": 12, "text": "Three times."}, "groundingChunkIndices": [0]}
        ],
    }
    parts = [TOOL_CALL, TOOL_RESPONSE, {"text": "Three times."}]
    event = {
        "candidates": [
            {"content": {"parts": parts, "role": "model"}, "finishReason": "STOP", "groundingMetadata": grounding}
        ],
        "responseId": "r",
    }
    endpoint = Endpoint(presets()["gemini"], "https://generativelanguage.googleapis.com")
    return replied(GEMINI, ContentDecoder(endpoint), [event])


def test_gemini_search_is_shown_cited_and_sent_back_unchanged() -> None:
    reply = gemini_reply()

    shown = [block.text for block in reply.content if isinstance(block, Thinking | Text)]
    assert shown == ["Web search: retries", "Web search finished", "Three times."]
    assert reply.usage.searches == 1
    assert [source.url for source in sources_of(reply.content)] == ["https://docs.example.com/retries"]
    body: Any = gemini_body(asked(GEMINI, reply))
    assert body["contents"][1]["parts"] == [TOOL_CALL, TOOL_RESPONSE, {"text": "Three times."}]
    assert body["toolConfig"] == {"includeServerSideToolInvocations": True}


class AnyKey:
    def find(self, preset_name: str, variables: Sequence[str]) -> Secret:
        return Secret("sk-test", "a test")


@pytest.mark.parametrize(
    ("name", "searches"),
    [
        ("anthropic/claude-sonnet-5-5", True),
        ("anthropic/claude-3-haiku-20240307", False),
        ("openai/gpt-5.6-terra", True),
        ("openai/gpt-4.1-nano", False),
        ("gemini/gemini-3.8-flash", True),
        ("gemini/gemini-2.5-flash", False),
        ("xai/grok-4.7", True),
        ("xai/grok-3-mini", False),
        ("openai-chat/gpt-5.6-terra", False),
        ("ollama/qwen3", False),
    ],
)
def test_models_whose_service_searches(name: str, searches: bool) -> None:
    assert connect(name, credentials=AnyKey()).native_search is searches


def test_another_server_is_not_expected_to_search() -> None:
    assert not connect("anthropic/claude-sonnet-5-5", base_url="http://127.0.0.1:1", credentials=AnyKey()).native_search


@pytest.mark.parametrize(
    ("name", "path", "message"),
    [
        ("anthropic/claude-sonnet-5-5", "url", "Web search is not enabled for this organization"),
        ("openai/gpt-5.6-terra", "openai_url", "Hosted tool 'web_search' is not supported with this model"),
    ],
)
async def test_rejected_search_is_left_out_and_the_request_repeated(
    serve: Serve, name: str, path: str, message: str
) -> None:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    server = serve([Failure(400, error), Reply("Hello"), Reply("Again")])
    model = connect(name, base_url=getattr(server, path), credentials=AnyKey())
    tools = builtin_tools(web=WebOptions(hosting="only"))
    agent = Agent(replace(model, native_search=True), tools, "Be brief.", AgentOptions(user=ScriptedUser()))

    reply = await agent.prompt("Go")
    await agent.prompt("And?")
    await model.provider.close()

    assert reply.text == "Hello"
    declared = ["web_search" in str(sent.body["tools"]) for sent in server.requests]
    assert declared == [True, False, False]
