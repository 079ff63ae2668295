from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from fakes.proxy_server import ProxyServer, request_in
from fakes.runs import results_of
from fakes.simple_tools import SimpleTool
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.agent.reply import ReplyBuilder
from harness.agent.retry import RetryPolicy
from harness.deltas import Delta, Done
from harness.errors import (
    AuthenticationFailed,
    ConfigError,
    ContextWindowOverflow,
    ModelOverloaded,
    ModelThrottled,
    NetworkError,
    ProviderError,
    StreamError,
)
from harness.events import Event, MessageDiscarded, MessageUpdate, RetryScheduled
from harness.messages import (
    AssistantMessage,
    Cost,
    Image,
    ModelSpec,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    user,
)
from harness.ports.provider import Model, OutputSchema, Request, ToolSpec
from providers import Secret, connect
from providers.demo import Break, Call, Reply, Say, Think, scripted
from providers.endpoint import Endpoint
from providers.net.framing import EventDecoder
from providers.net.stream import decoded
from providers.preset import presets
from providers.proxy.decode import ERRORS, ProxyDecoder
from providers.proxy.encode import encode

TOKEN = "proxy-token-0123"
ENDPOINT = Endpoint(presets()["proxy"], "http://127.0.0.1", Secret(TOKEN, "a test"))

# As a proxy of another make might send it: CR LF, comments, several data lines, no blank line after the last event.
STREAM = (
    b": connected\r\n\r\n"
    b'data: {"type":"start"}\r\n\r\n'
    b'event: message\r\ndata: {"type":"thinking_start","content_index":0}\r\n\r\n'
    b'data: {"type":"thinking_delta","content_index":0,"delta":"Which one?"}\r\n\r\n'
    b'data: {"type":"thinking_end","content_index":0,"signature":"sig123"}\r\n\r\n'
    b'data: {"type":"text_start","content_index":1}\r\n\r\n'
    b": keep-alive\r\n\r\n"
    b'data: {"type":"text_delta","content_index":1,"delta":"Gr\xc3\xbc\xc3\x9fe \xf0\x9f\x91\xa9\xe2\x80\x8d"}\r\n\r\n'
    b'data: {"type":"text_delta","content_index":1,\r\ndata: "delta":"\xf0\x9f\x92\xbb\\n"}\r\n\r\n'
    b'data: {"type":"tool_call_start","content_index":2,"id":"tc_1","name":"read_file"}\r\n\r\n'
    b'data: {"type":"tool_call_start","content_index":3,"id":"tc_2","name":"bash"}\r\n\r\n'
    b'data: {"type":"tool_call_delta","content_index":3,"delta":"{\\"command\\": \\"l"}\r\n\r\n'
    b'data: {"type":"tool_call_delta","content_index":2,"delta":"{\\"path\\": \\"a.py\\"}"}\r\n\r\n'
    b'data: {"type":"tool_call_end","content_index":2}\r\n\r\n'
    b'data: {"type":"tool_call_delta","content_index":3,"delta":"s\\"}"}\r\n\r\n'
    b'data: {"type":"tool_call_end","content_index":3}\r\n\r\n'
    b'data: {"type":"text_end","content_index":1}\r\n\r\n'
    b'data: {"type":"done","stop_reason":"tool_use","usage":{"input":10,"output":20,"cache_read":5,"cache_write":1,'
    b'"total":36},"cost":{"input":0.01,"output":0.02,"cache_read":0.0,"cache_write":0.0,"total":0.03}}'
)
WHOLE = (
    Thinking("Which one?", "sig123"),
    Text("Grüße 👩\u200d💻\n"),
    ToolCall("tc_1", "read_file", {"path": "a.py"}),
    ToolCall("tc_2", "bash", {"command": "ls"}),
)


def rebuilt(body: bytes, cuts: list[int]) -> AssistantMessage:
    edges = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    decoder, events = ProxyDecoder(ENDPOINT), EventDecoder()
    deltas = [delta for start, end in pairwise(edges) for delta in decoded(decoder, events.feed(body[start:end]))]
    deltas += decoded(decoder, events.finish())
    return built([*deltas, *decoder.finish()])


def built(deltas: list[Delta]) -> AssistantMessage:
    builder = ReplyBuilder(ModelSpec("proxy", "m"))
    for delta in deltas:
        builder.take(delta)
    return builder.finish()


@given(st.lists(st.integers(min_value=0), max_size=20))
def test_a_message_is_rebuilt_from_its_deltas_however_the_bytes_are_cut(cuts: list[int]) -> None:
    message = rebuilt(STREAM, cuts)

    assert message.content == WHOLE
    assert message.stop_reason == "tool_use"
    assert message.usage == Usage(10, 20, 5, 1, Cost(0.01, 0.02))


def test_a_message_is_rebuilt_from_single_bytes_whatever_ends_its_lines() -> None:
    for body in (STREAM, STREAM.replace(b"\r\n", b"\n"), STREAM.replace(b"\r\n", b"\r"), STREAM + b"\n\n"):
        assert rebuilt(body, [*range(len(body))]).content == WHOLE


def script() -> Model:
    return scripted(
        Reply(
            (
                Think("Where? 🌍 " * 9, "sig-1"),
                Say("I look at both, schön. " * 9),
                Call("look", {"at": "ü"}, "call_a"),
                Call("look", {"at": "b"}, "call_b"),
            )
        ),
        Reply((Say("Both seen."),), usage=Usage(50, 5, 40, 3, Cost(0.1, 0.2, 0.3, 0.4))),
    )


async def run(model: Model, retries: int = 0) -> tuple[Agent, list[Event]]:
    retry = RetryPolicy(max_retries=retries, initial=0.0, max_delay=0.0)
    agent = Agent(model, [SimpleTool("look")], "Be brief.", AgentOptions(retry=retry))
    events: list[Event] = []
    agent.subscribe(events.append)
    await agent.prompt("look at both")
    await agent.close()
    return agent, events


def through(server: ProxyServer) -> Model:
    return connect("proxy/some-model", base_url=server.url, credentials=Keys(), thinking="high")


class Keys:
    def find(self, preset_name: str, variables: object) -> Secret:
        return Secret(TOKEN, "a test")


def bare(agent: Agent) -> list[object]:
    """What was said, without what is new in every run."""
    return [
        (message.content, replace(message.usage, cost=None), message.stop_reason)
        if isinstance(message, AssistantMessage)
        else message.content
        for message in agent.history.messages
    ]


@pytest.mark.parametrize("width", [0, 1, 7])
async def test_a_run_through_a_proxy_is_the_run_without_it(width: int) -> None:
    directly, seen_directly = await run(script())

    async with ProxyServer(script().provider, token=TOKEN, width=width) as server:
        agent, seen = await run(through(server))

    assert [type(event) for event in seen] == [type(event) for event in seen_directly]
    assert [event.delta for event in seen if isinstance(event, MessageUpdate)] == [
        event.delta for event in seen_directly if isinstance(event, MessageUpdate)
    ]
    assert len(results_of(agent)) == 2
    assert bare(agent) == bare(directly)
    last = agent.history.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert last.usage.cost == Cost(0.1, 0.2, 0.3, 0.4)


async def test_every_part_of_a_request_reaches_the_proxy() -> None:
    async with ProxyServer(script().provider, token=TOKEN) as server:
        agent, _ = await run(through(server))

    asked = server.requests[1]
    assert asked.messages[1].content == agent.history.messages[1].content  # type: ignore[union-attr] - no custom message
    assert (asked.system, asked.spec.model_id, asked.spec.thinking) == ("Be brief.", "some-model", "high")
    assert [tool.name for tool in asked.tools] == ["look"]
    assert server.bodies[0]["options"] == {"session_id": agent.session_id, "thinking": "high"}


def test_a_request_is_encoded_without_loss() -> None:
    messages = (
        UserMessage((Text("What is this? 🌍"), Image("image/png", "aGk=")), time=7),
        AssistantMessage(
            (
                Thinking("Hm", "sig"),
                Thinking("", redacted="b64"),
                Text("Let me see.", "s2"),
                ToolCall("a", "look", {"at": [1, None]}, signature="s3"),
                ToolCall("b", "look", {}, '{"at'),
            ),
            "m",
            "proxy",
            Usage(1, 2, 3, 4, Cost(0.1, 0.2, 0.3, 0.4)),
            "error",
            "went wrong",
            time=8,
        ),
        ToolResult("a", "look", (Text("seen"), Image("image/png", "aGk=")), time=9),
        ToolResult("b", "look", (Text("broken"),), is_error=True, details={"private": True}, time=10),
    )
    tool = ToolSpec("look", "Looks.", {"type": "object", "properties": {}})
    request = Request(ModelSpec("upstream", "m"), "Be brief.", messages, (tool,), 99, 0.5, "s-1")

    body = json.loads(json.dumps(encode(request)))

    understood = request_in(body)
    same_ids = [replace(now, id=then.id) for now, then in zip(understood.messages, messages, strict=True)]
    assert same_ids == [*messages[:3], replace(messages[3], details=None)]  # type: ignore[type-var] - the last is a result
    assert replace(understood, messages=()) == replace(request, messages=())


def test_unset_options_are_not_sent() -> None:
    body = encode(Request(ModelSpec("proxy", "m"), "", (user("Hi"),)))

    assert set(body) == {"model", "system", "messages", "options"}
    assert body["options"] == {}


def test_a_form_of_the_answer_is_passed_on() -> None:
    form = OutputSchema("Invoice", {"type": "object"})

    body = encode(Request(ModelSpec("proxy", "m"), "", (), output_schema=form))

    assert body["answer_schema"] == {"name": "Invoice", "schema": {"type": "object"}}


async def test_a_broken_stream_is_retried_and_leaves_one_message() -> None:
    async with ProxyServer(scripted("One two three.", "One two three.").provider, token=TOKEN) as server:
        server.cut_after = 4
        agent, events = await run(through(server), retries=1)

    assert [type(message) for message in agent.history] == [UserMessage, AssistantMessage]
    assert agent.history.messages[-1].text == "One two three."  # type: ignore[union-attr] - as asserted above
    again = [type(event) for event in events if isinstance(event, RetryScheduled | MessageDiscarded)]
    assert sorted(kind.__name__ for kind in again) == ["MessageDiscarded", "RetryScheduled"]


async def test_a_stream_that_breaks_off_in_a_call_leaves_its_text_and_no_call() -> None:
    reply = Reply((Say("I look."), Call("look", {"at": "a" * 90})))
    async with ProxyServer(scripted(reply).provider, token=TOKEN) as server:
        server.cut_after = 7
        agent, _ = await run(through(server))

    last = agent.history.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert (last.content, last.stop_reason) == ((Text("I look."),), "error")
    assert "closed early" in (last.error or "")


async def test_a_wrong_token_is_reported() -> None:
    async with ProxyServer(script().provider, token="another") as server:
        agent, _ = await run(through(server))

    last = agent.history.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert "the key from a test was rejected (401) by Proxy" in (last.error or "")
    assert TOKEN not in (last.error or "")


@pytest.mark.parametrize("kind", [*ERRORS.values(), StreamError], ids=lambda kind: kind.__name__)
async def test_a_failure_behind_the_proxy_is_the_same_failure_here(kind: type[ProviderError]) -> None:
    upstream = scripted(Reply((Say("I beg"), Break(kind(f"it said {TOKEN}", retry_after=3.0)))))
    async with ProxyServer(upstream.provider, token=TOKEN) as server:
        model = through(server)
        with pytest.raises(kind, match=r"Proxy: it said \[key\]") as caught:
            _ = [delta async for delta in model.provider.stream(Request(model.spec, "", (user("Hi"),)))]
        await model.provider.close()

    assert type(caught.value) is kind
    assert caught.value.retry_after == 3.0


async def test_a_refusal_behind_the_proxy_is_the_models_answer() -> None:
    upstream = scripted(Reply((Say("I may not."),), stop_reason="error", error="flagged", usage=Usage(3, 4)))
    async with ProxyServer(upstream.provider, token=TOKEN) as server:
        agent, _ = await run(through(server), retries=2)

    last = agent.history.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert (last.text, last.stop_reason, last.error) == ("I may not.", "error", "flagged")
    assert (last.usage.input, last.usage.output) == (3, 4)
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("rate limit exceeded (429)", ModelThrottled),
        ("context window exceeded for m", ContextWindowOverflow),
        ("prompt is too long: 9 tokens > 8 maximum", ContextWindowOverflow),
        ("network error: connection reset", NetworkError),
        ("server error: 502", NetworkError),
        ("HTTP 529: overloaded", ModelOverloaded),
        ("auth error: 401", AuthenticationFailed),
        ("something else", StreamError),
    ],
)
def test_an_error_without_a_type_is_classified_by_its_message(said: str, kind: type[ProviderError]) -> None:
    event: Any = {"type": "error", "stop_reason": "error", "error_message": said, "usage": None}

    with pytest.raises(kind) as caught:
        ProxyDecoder(ENDPOINT).take(event)

    assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("reported", "stop"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("tool_use", "tool_use"),
        ("pause", "pause"),
        ("transfer", "stop"),
        ("aborted", "error"),
    ],
)
def test_each_stop_reason_has_ours(reported: str, stop: str) -> None:
    decoder = ProxyDecoder(ENDPOINT)
    event: Any = {"type": "done", "stop_reason": reported, "usage": {}, "cost": None}

    decoder.take(event)

    (done,) = decoder.finish()
    assert isinstance(done, Done)
    assert (done.stop_reason, done.usage) == (stop, Usage())


def test_a_block_that_was_not_closed_ends_with_the_reply() -> None:
    open_end = (
        b'data: {"type":"text_start","content_index":0}\n\n'
        b'data: {"type":"text_delta","content_index":0,"delta":"Hi"}\n\n'
        b'data: {"type":"done","stop_reason":"stop","usage":null,"cost":null}\n\n'
    )

    assert rebuilt(open_end, []).content == (Text("Hi"),)


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "text_delta", "content_index": 0, "delta": "x"}],
        [{"type": "text_start", "content_index": 0}, {"type": "thinking_delta", "content_index": 0, "delta": "x"}],
        [{"type": "text_start", "content_index": 0}, {"type": "text_more", "content_index": 0}],
        [{"type": "tool_call_start", "content_index": 0, "id": "a"}],
        [{"type": "citation_start", "content_index": 0}],
        [{"type": "done"}],
        [{}],
    ],
)
def test_a_protocol_violation_breaks_the_stream(events: list[dict[str, Any]]) -> None:
    with pytest.raises(StreamError, match="invalid"):
        _ = [*decoded(ProxyDecoder(ENDPOINT), [json.dumps(event) for event in events])]


def test_calls_without_an_id_get_different_ones() -> None:
    start = b'data: {"type":"tool_call_start","content_index":%d,"name":"look"}\n\n'
    done = b'data: {"type":"done","stop_reason":"tool_use"}\n\n'

    calls = rebuilt(start % 0 + start % 1 + done, []).tool_calls

    assert len({call.id for call in calls if call.id}) == 2


def test_the_address_of_the_proxy_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="Proxy: no address; set LLM_BASE_URL="):
        connect("proxy/m")
    monkeypatch.setenv("LLM_BASE_URL", "https://models.example.com")
    with pytest.raises(ConfigError, match="proxy: name a model, as in proxy/NAME"):
        connect("proxy")

    assert connect("proxy/m").spec == ModelSpec("proxy", "m")
