from __future__ import annotations

import json
from collections.abc import Callable
from itertools import permutations

import pytest
from fakes.asking import ModelAt, Serve
from fakes.bedrock_judge import accepted_by_bedrock
from fakes.histories import SIGNATURE, THOUGHT
from fakes.judges import (
    accepted_by_anthropic,
    accepted_by_google,
    accepted_by_ollama,
    accepted_by_openai,
    accepted_by_responses,
)
from fakes.model_server import Reply
from fakes.simple_tools import SimpleTool
from fakes.turns import said_by

from harness.agent.agent import Agent
from harness.events import Event, TurnEnd
from harness.messages import AssistantMessage, JsonObject, ToolResult

JUDGES: dict[str, tuple[str, Callable[[JsonObject], bool]]] = {
    "anthropic": ("anthropic", accepted_by_anthropic),
    "openai-chat": ("chat", accepted_by_openai),
    "openai": ("responses", accepted_by_responses),
    "gemini": ("gemini", accepted_by_google),
    "vertex": ("gemini", accepted_by_google),
    "ollama": ("chat", accepted_by_ollama),
    "bedrock": ("bedrock", accepted_by_bedrock),
}
"""For each service, how its requests are read, and who judges them."""
FIRST = Reply("I look.", thinking=THOUGHT, signature=SIGNATURE, calls=[("look", {"at": "ü"}), ("look", {})])
ASKED = ("RequestStart", "MessageStart", "MessageEnd", "UsageUpdate")
RAN = ("ToolExecutionStart", "ToolExecutionEnd")
RESULT = ("MessageStart", "MessageEnd")


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "ya29.token")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "my-project")
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "a-key")


@pytest.mark.parametrize(("first", "second"), permutations(JUDGES, 2))
async def test_another_vendor_continues_in_the_middle_of_a_run(
    serve: Serve, model_at: ModelAt, first: str, second: str
) -> None:
    one, other = serve([FIRST]), serve([Reply(calls=[("look", {"at": "x"})]), Reply("Done.")])
    agent = Agent(model_at(one, first), [SimpleTool("look")])
    successor = model_at(other, second)
    names: list[str] = []

    def change_after_the_first_turn(event: Event) -> None:
        names.append(type(event).__name__)
        if isinstance(event, TurnEnd) and agent.state.model is not successor:
            agent.set_model(successor)

    agent.subscribe(change_after_the_first_turn)

    result = await agent.prompt("Go")

    protocol, accepts = JUDGES[second]
    bodies: list[JsonObject] = [recorded.body for recorded in other.requests]
    assert [accepts(body) for body in bodies] == [True, True]
    assert [len([said for said in said_by(protocol, body) if said.kind == "result"]) for body in bodies] == [2, 3]
    assert not [canary for canary in (THOUGHT, SIGNATURE) if canary in json.dumps(bodies)]
    assert result.text == "Done."
    assert_each_call_has_its_result(agent)
    assert len(one.requests) == 1
    assert authors(agent) == [first, second, second]
    assert [name for name in names if name != "MessageUpdate"] == [
        *(
            "AgentStart",
            "TurnStart",
            "MessageStart",
            "MessageEnd",
            *ASKED,
            "ToolCallsReceived",
            *RAN,
            *RAN,
            *RESULT,
            *RESULT,
            "TurnEnd",
            "ModelChanged",
        ),
        *("TurnStart", *ASKED, "ToolCallsReceived", *RAN, *RESULT, "TurnEnd"),
        *("TurnStart", *ASKED, "TurnEnd", "AgentEnd"),
    ]


def authors(agent: Agent) -> list[str]:
    return [message.provider for message in agent.history if isinstance(message, AssistantMessage)]


def assert_each_call_has_its_result(agent: Agent) -> None:
    replies = [message for message in agent.history if isinstance(message, AssistantMessage)]
    called = [call.id for reply in replies for call in reply.tool_calls]
    assert len(set(called)) == 3
    assert [message.call_id for message in agent.history if isinstance(message, ToolResult)] == called
