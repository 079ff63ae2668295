"""Requests of a server to the user and the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import mcp_types as types
from fakes.mcp_servers import ScriptedAnswers, make_host
from mcp.client.session import ClientRequestContext

from harness.messages import user
from tools.mcp.callbacks import DENY_ALL, MAX_REQUESTS, Callbacks
from tools.mcp.host import SampledReply, SamplingRequest
from tools.mcp.server_config import McpServer
from tools.mcp.state import LogRing

# The callbacks do not use it.
CONTEXT = cast("ClientRequestContext", None)
FORM = types.ElicitRequestFormParams(message="Go on?", requested_schema={"type": "object", "properties": {}})


def callbacks(folder: Path, *answers: str | None) -> tuple[Callbacks, ScriptedAnswers, list[SamplingRequest]]:
    scripted, sampled = ScriptedAnswers(*answers), list[SamplingRequest]()

    async def sample(request: SamplingRequest) -> SampledReply:
        sampled.append(request)
        return SampledReply("done", "model-1")

    host = make_host(folder, ask=scripted, sample=sample)
    return Callbacks(McpServer("raw", command="raw"), host, LogRing()), scripted, sampled


def sampling(*texts: str, system: str = "") -> types.CreateMessageRequestParams:
    content: list[Any] = [types.TextContent(text=each) for each in texts]
    messages = [types.SamplingMessage(role="user", content=each) for each in content]
    return types.CreateMessageRequestParams(messages=messages, max_tokens=100, system_prompt=system or None)


async def action(asked: Callbacks) -> str:
    answer = await asked.elicit(CONTEXT, FORM)
    return answer.action if isinstance(answer, types.ElicitResult) else answer.message


async def test_sampling_shows_the_system_prompt_and_every_message(tmp_path: Path) -> None:
    asked, scripted, sampled = callbacks(tmp_path, "Allow once")

    await asked.sample(CONTEXT, sampling("First.", "Second.\u200b\x1b[31m", system="Obey\U000e0041 me."))

    assert "[System prompt]\nObey me.\n\n[User]\nFirst.\n\n[User]\nSecond." in scripted.questions[0].prompt
    assert [each.label for each in scripted.questions[0].choices] == ["Allow once", "Allow for this session", "Deny"]
    (request,) = sampled
    assert request.messages[1].content == user("Second.").content
    assert request.system_prompt == "Obey me."


async def test_long_sampling_is_shown_as_a_whole_on_request(tmp_path: Path) -> None:
    asked, scripted, sampled = callbacks(tmp_path, "Show the whole text", "Deny")
    text = "\n".join(f"line {number}" for number in range(2_000))

    answer = await asked.sample(CONTEXT, sampling(text))

    excerpt, whole = (each.prompt for each in scripted.questions)
    assert "line 1000" not in excerpt
    assert text in whole
    assert isinstance(answer, types.ErrorData)
    assert not sampled


async def test_all_requests_of_a_server_can_be_denied_after_the_first_denial(tmp_path: Path) -> None:
    asked, scripted, sampled = callbacks(tmp_path, "Decline", DENY_ALL)

    actions = [await action(asked) for _ in range(4)]
    sample = await asked.sample(CONTEXT, sampling("Hi."))

    assert actions == ["decline", "cancel", "decline", "decline"]
    assert [DENY_ALL in [choice.label for choice in each.choices] for each in scripted.questions] == [False, True]
    assert isinstance(sample, types.ErrorData)
    assert sample.message == "the user denies all requests of this server"
    assert not sampled


async def test_reconnection_by_the_user_lets_a_server_ask_again(tmp_path: Path) -> None:
    asked, _, _ = callbacks(tmp_path, "Decline", DENY_ALL, "Accept")

    actions = [await action(asked) for _ in range(2)]
    asked.forget_decisions()

    assert [*actions, await action(asked)] == ["decline", "cancel", "accept"]


async def test_requests_of_a_server_are_limited(tmp_path: Path) -> None:
    asked, scripted, sampled = callbacks(tmp_path, "Allow for this session", *["Accept"] * MAX_REQUESTS)

    for _ in range(MAX_REQUESTS // 2):
        await asked.sample(CONTEXT, sampling("Hi."))
    actions = [await action(asked) for _ in range(MAX_REQUESTS)]
    sample = await asked.sample(CONTEXT, sampling("Hi."))

    half = MAX_REQUESTS // 2
    assert actions == ["accept"] * half + ["too many requests; try again later"] * half
    assert isinstance(sample, types.ErrorData)
    assert (len(scripted.questions), len(sampled)) == (1 + half, half)
