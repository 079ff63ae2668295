from __future__ import annotations

import asyncio

import pytest
from fakes.facts import SlowFacts
from fakes.runs import calls, until
from fakes.simple_tools import SimpleTool
from msgspec.structs import replace

from harness.agent.limits import Limits
from harness.agent.retry import RetryPolicy
from harness.agent.routing import ByTurn, CheapThenPowerful, Routing, Single
from harness.errors import (
    AuthenticationFailed,
    ContextWindowOverflow,
    ModelOverloaded,
    ModelThrottled,
    NetworkError,
    ProviderError,
)
from harness.events import MessageDiscarded, MessageEnd, ModelFallback, ModelRouted, RetryScheduled
from harness.messages import AssistantMessage, Usage
from harness.ports.provider import Model, Price
from providers.demo import Break, Call, DemoProvider, Hang, Reply, Say, replies, scripted

HEARD = ["MessageStart", "MessageEnd"]
ASKED = ["RequestStart", "MessageStart", "MessageEnd", "UsageUpdate"]
RAN = ["ToolCallsReceived", "ToolExecutionStart", "ToolExecutionEnd", "MessageStart", "MessageEnd"]
FAILED = ["RequestStart", "MessageStart", "MessageEnd"]
NEVER = RetryPolicy(max_retries=0)
OFF = ProviderError("it is off")


def named(name: str, *script: Reply | str) -> Model:
    return scripted(*script, name=name)


def fails(*errors: ProviderError) -> list[Reply]:
    return [Reply((Break(error),)) for error in errors]


def looks(count: int) -> list[Reply]:
    return [calls("look")] * count


def brief(names: list[str]) -> list[str]:
    return [name for name in names if name != "MessageUpdate"]


def asked(*models: Model) -> dict[str, int]:
    """Return the number of requests of each model."""
    counts: dict[str, int] = {}
    for model in models:
        assert isinstance(model.provider, DemoProvider)
        counts[model.spec.model_id] = len(model.provider.requests)
    return counts


def models_of(routing: Routing, turns: int = 5) -> list[str]:
    return [routing.model_for(turn).spec.model_id for turn in range(1, turns + 1)]


def test_routing_selects_the_model_per_turn():
    cheap, powerful = named("cheap"), named("powerful")

    assert models_of(Single(cheap)) == ["cheap"] * 5
    assert models_of(ByTurn(cheap, {2: powerful, 5: powerful})) == ["cheap", "powerful", "cheap", "cheap", "powerful"]
    assert models_of(ByTurn(cheap)) == ["cheap"] * 5
    assert models_of(CheapThenPowerful(cheap, powerful, 3)) == ["cheap", "cheap", "powerful", "powerful", "powerful"]
    assert models_of(CheapThenPowerful(cheap, powerful, 1)) == ["powerful"] * 5


class Closing(DemoProvider):
    """Provider that counts how often it was closed."""

    closed = 0

    async def close(self) -> None:
        self.closed += 1


async def test_closed_agent_closes_every_model(make_agent):
    models = [replace(named(str(number)), provider=Closing(replies())) for number in range(5)]
    own, first, second, third, spare = models
    agent = make_agent(model=own, routing=ByTurn(first, {2: second, 3: third}), fallback=[spare])

    await agent.close()

    assert [model.provider.closed for model in models] == [1] * 5


async def test_same_model_in_consecutive_turns_is_reported_once(make_agent, record):
    only = named("only", *looks(1), "done")
    agent = make_agent(tools=[SimpleTool("look")], routing=Single(only))
    happened = record(agent)

    await agent.prompt("go")

    assert brief(happened.names) == [
        "AgentStart",
        "TurnStart",
        *HEARD,
        "ModelRouted",
        *ASKED,
        *RAN,
        "TurnEnd",
        "TurnStart",
        *ASKED,
        "TurnEnd",
        "AgentEnd",
    ]
    assert [each.spec for each in happened.of(ModelRouted)] == [only.spec]


async def test_routing_to_the_agents_own_model_is_not_reported(make_agent, record):
    own = named("own", "done")
    agent = make_agent(model=own, routing=Single(own))
    happened = record(agent)

    await agent.prompt("go")

    assert brief(happened.names) == ["AgentStart", "TurnStart", *HEARD, *ASKED, "TurnEnd", "AgentEnd"]


async def test_cheap_model_explores_and_powerful_model_decides(make_agent, record):
    cheap, powerful = named("cheap", *looks(2)), named("powerful", *looks(1), "decided")
    agent = make_agent(model=cheap, tools=[SimpleTool("look")], routing=CheapThenPowerful(cheap, powerful, switch_at=3))
    happened = record(agent)

    result = await agent.prompt("go")

    acted = [*ASKED, *RAN, "TurnEnd"]
    assert brief(happened.names) == [
        "AgentStart",
        "TurnStart",
        *HEARD,
        *acted,
        "TurnStart",
        *acted,
        "TurnStart",
        "ModelRouted",
        *acted,
        "TurnStart",
        *ASKED,
        "TurnEnd",
        "AgentEnd",
    ]
    assert [each.spec.model_id for each in happened.of(ModelRouted)] == ["powerful"]
    assert result.text == "decided"
    replies = [each.message for each in happened.of(MessageEnd) if isinstance(each.message, AssistantMessage)]
    assert [each.model for each in replies] == ["cheap", "cheap", "powerful", "powerful"]


async def test_turns_are_counted_from_zero_in_each_run(make_agent, record):
    cheap, powerful = named("cheap", *looks(1), *looks(1)), named("powerful", "one", "two")
    agent = make_agent(model=cheap, tools=[SimpleTool("look")], routing=CheapThenPowerful(cheap, powerful, switch_at=2))
    happened = record(agent)

    await agent.prompt("go")
    await agent.prompt("again")

    assert [each.spec.model_id for each in happened.of(ModelRouted)] == ["powerful", "powerful"]
    assert asked(cheap, powerful) == {"cheap": 2, "powerful": 2}


async def test_switching_there_and_back_is_reported_twice(make_agent, record):
    usual, other = named("usual", *looks(1), "done"), named("other", *looks(1))
    agent = make_agent(model=usual, tools=[SimpleTool("look")], routing=ByTurn(usual, {2: other}))
    happened = record(agent)

    await agent.prompt("go")

    assert [(each.spec.model_id, each.turn) for each in happened.of(ModelRouted)] == [("other", 2), ("usual", 3)]


async def test_fallback_model_answers_after_a_permanent_error(make_agent, record):
    first, second = named("first", *fails(AuthenticationFailed("no key"))), named("second", "here")
    agent = make_agent(model=first, fallback=[second])
    happened = record(agent)

    result = await agent.prompt("go")

    assert brief(happened.names) == [
        "AgentStart",
        "TurnStart",
        *HEARD,
        "RequestStart",
        "ModelFallback",
        *ASKED,
        "TurnEnd",
        "AgentEnd",
    ]
    (fallback,) = happened.of(ModelFallback)
    assert (fallback.failed, fallback.spec, fallback.error) == (first.spec, second.spec, "no key")
    assert (result.text, result.stop_reason, result.error) == ("here", "stop", None)


async def test_retries_precede_the_fallback_and_restart_with_it(make_agent, record):
    first = named("first", *fails(*[ModelThrottled("slow", retry_after=0.0)] * 3))
    second = named("second", *fails(ModelOverloaded("busy")), "here")
    policy = RetryPolicy(max_retries=2, initial=0.0)
    agent = make_agent(model=first, fallback=[second], retry=policy)
    happened = record(agent)

    result = await agent.prompt("go")

    assert brief(happened.names) == [
        "AgentStart",
        "TurnStart",
        *HEARD,
        *["RequestStart", "RetryScheduled"] * 2,
        "RequestStart",
        "ModelFallback",
        "RequestStart",
        "RetryScheduled",
        *ASKED,
        "TurnEnd",
        "AgentEnd",
    ]
    assert [each.attempt for each in happened.of(RetryScheduled)] == [1, 2, 1]
    assert result.text == "here"


async def test_fallback_is_used_at_once_for_a_too_long_retry_after(make_agent, record):
    first = named("first", *fails(ModelThrottled("slow", retry_after=3_600)))
    agent = make_agent(model=first, fallback=[named("second", "here")])
    happened = record(agent)

    result = await agent.prompt("go")

    assert happened.of(RetryScheduled) == []
    assert result.text == "here"


async def test_fallbacks_are_tried_in_order(make_agent, record):
    models = [named(name, *fails(ProviderError(f"{name} is off"))) for name in ("a", "b", "c")]
    agent = make_agent(model=models[0], fallback=[*models[1:], named("d", "here"), named("e", "never said")])
    happened = record(agent)

    result = await agent.prompt("go")

    assert [(each.failed.model_id, each.spec.model_id, each.error) for each in happened.of(ModelFallback)] == [
        ("a", "b", "a is off"),
        ("b", "c", "b is off"),
        ("c", "d", "c is off"),
    ]
    assert result.text == "here"


async def test_last_error_ends_the_run_when_all_fallbacks_fail(make_agent, record):
    agent = make_agent(
        model=named("a", *fails(ProviderError("a is off"))), fallback=[named("b", *fails(ProviderError("b is off")))]
    )
    happened = record(agent)

    result = await agent.prompt("go")

    assert brief(happened.names) == [
        "AgentStart",
        "TurnStart",
        *HEARD,
        "RequestStart",
        "ModelFallback",
        *FAILED,
        "TurnEnd",
        "AgentEnd",
    ]
    assert (result.stop_reason, result.error) == ("error", "b is off")


async def test_fallback_stays_for_the_rest_of_the_run_only(make_agent, record):
    first, second = named("first", *fails(OFF), "back"), named("second", *looks(2), "done")
    agent = make_agent(model=first, fallback=[second], tools=[SimpleTool("look")])
    happened = record(agent)

    one = await agent.prompt("go")
    two = await agent.prompt("again")

    assert (one.text, two.text) == ("done", "back")
    assert len(happened.of(ModelFallback)) == 1
    assert asked(first, second) == {"first": 2, "second": 3}


async def test_fallback_overrides_the_routing(make_agent, record):
    cheap, powerful, spare = named("cheap", *fails(OFF)), named("powerful"), named("spare", *looks(2), "done")
    agent = make_agent(
        model=cheap, routing=CheapThenPowerful(cheap, powerful, 2), fallback=[spare], tools=[SimpleTool("look")]
    )
    happened = record(agent)

    result = await agent.prompt("go")

    assert result.text == "done"
    assert happened.of(ModelRouted) == []
    assert asked(cheap, powerful, spare) == {"cheap": 1, "powerful": 0, "spare": 3}


async def test_partial_reply_of_the_failing_model_is_discarded(make_agent, record):
    cut = Reply((Say("half an ans"), Break(NetworkError("the connection was cut"))))
    agent = make_agent(model=named("first", cut), fallback=[named("second", "the whole answer")], retry=NEVER)
    happened = record(agent)

    result = await agent.prompt("go")

    assert brief(happened.names) == [
        "AgentStart",
        "TurnStart",
        *HEARD,
        "RequestStart",
        "MessageStart",
        "MessageDiscarded",
        "ModelFallback",
        *ASKED,
        "TurnEnd",
        "AgentEnd",
    ]
    assert happened.of(MessageDiscarded)[0].reason == "the connection was cut"
    assert result.text == "the whole answer"
    assert [each.text for each in agent.history if isinstance(each, AssistantMessage)] == ["the whole answer"]


async def test_context_is_shrunk_before_a_fallback_is_tried(make_agent, record):
    first = named("first", *fails(ContextWindowOverflow("too long")), "short enough")
    agent = make_agent(model=first, fallback=[named("second", "never said")])
    happened = record(agent)

    result = await agent.prompt("go")

    assert happened.of(ModelFallback) == []
    assert brief(happened.names)[4:7] == ["RequestStart", "ContextTrimmed", "RequestStart"]
    assert result.text == "short enough"


async def test_fallback_is_tried_when_the_context_is_still_too_long(make_agent, record):
    first = named("first", *fails(*[ContextWindowOverflow("too long")] * 2))
    agent = make_agent(model=first, fallback=[named("second", "mine is larger")])
    happened = record(agent)

    result = await agent.prompt("go")

    assert [each.error for each in happened.of(ModelFallback)] == ["too long"]
    assert result.text == "mine is larger"


@pytest.mark.parametrize("script", [(Say("hm"), Hang()), (Hang(),)])
async def test_abort_does_not_trigger_a_fallback(make_agent, record, script):
    second = named("second", "never said")
    agent = make_agent(model=named("first", Reply(script)), fallback=[second])
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: "RequestStart" in happened.names)
    agent.abort()
    result = await run

    assert result.stop_reason == "aborted"
    assert happened.of(ModelFallback) == []
    assert asked(second) == {"second": 0}


async def test_each_model_is_called_under_its_own_name_and_key(make_agent):
    async def key_of(provider: str) -> str:
        return f"key of {provider}"

    first, second = named("first", *fails(OFF)), named("second", "here")
    second = replace(second, spec=replace(second.spec, provider="elsewhere"))
    agent = make_agent(model=first, fallback=[second], get_api_key=key_of)

    await agent.prompt("go")

    sent = [model.provider.requests[0] for model in (first, second)]
    assert [(each.spec.name, each.api_key) for each in sent] == [
        ("demo/first", "key of demo"),
        ("elsewhere/second", "key of elsewhere"),
    ]


@pytest.mark.parametrize("how", ["routing", "fallback"])
async def test_cost_limit_uses_the_price_of_every_model(make_agent, how):
    spent = Reply((Call("look", {}),), usage=Usage(input=1))
    dear = replace(named("dear", spent, spent, "never said"), info=SlowFacts(Price(1_000_000.0, 0.0)))
    cheap = named("cheap", *fails(OFF))
    options = {"routing": Single(dear)} if how == "routing" else {"fallback": [dear]}
    agent = make_agent(model=cheap, tools=[SimpleTool("look")], limits=Limits(max_cost=2.0), **options)

    result = await agent.prompt("go")

    assert result.limit == "cost"
    assert result.usage.cost.total == 2.0
