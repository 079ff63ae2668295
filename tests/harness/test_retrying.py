from __future__ import annotations

from dataclasses import replace

from harness.errors import (
    ModelOverloaded,
    ModelThrottled,
    NetworkError,
    RequestRejected,
)
from harness.events import (
    MessageDiscarded,
    MessageStart,
    RetryScheduled,
    UsageUpdate,
)
from harness.messages import AssistantMessage, ModelSpec, Usage
from providers.demo import Break, Reply, Say, scripted


async def test_a_retryable_failure_is_tried_again(make_agent, record):
    agent = make_agent(Reply((Break(ModelThrottled("slow down")),)), Reply((Break(ModelOverloaded("busy")),)), "here")
    happened = record(agent)

    result = await agent.prompt("go")

    assert result.text == "here"
    assert [event.attempt for event in happened.of(RetryScheduled)] == [1, 2]
    assert happened.of(MessageDiscarded) == []


async def test_a_failure_after_the_first_words_discards_them_and_counts_usage_once(make_agent, record):
    cut = Reply((Say("half an ans"), Break(NetworkError("the connection was cut"))))
    agent = make_agent(cut, Reply((Say("the whole answer"),), usage=Usage(10, 5)))
    happened = record(agent)

    result = await agent.prompt("go")

    assert result.text == "the whole answer"
    (discarded,) = happened.of(MessageDiscarded)
    starts = [event.message_id for event in happened.of(MessageStart) if event.role == "assistant"]
    assert discarded.message_id == starts[0] != starts[1]
    assert [event.total.output for event in happened.of(UsageUpdate)] == [5]
    assert sum(isinstance(message, AssistantMessage) for message in agent.history) == 1


async def test_a_refusal_is_not_retried_and_stands_in_the_history(make_agent, record):
    agent = make_agent(Reply((Break(RequestRejected("400: no")),)), "fine")
    happened = record(agent)

    result = await agent.prompt("go")
    again = await agent.prompt("go on")

    assert result.stop_reason == "error"
    assert result.error == "400: no"
    assert happened.of(RetryScheduled) == []
    assert again.text == "fine"


async def test_a_service_that_asks_for_too_long_a_wait_is_not_waited_for(make_agent, record):
    agent = make_agent(Reply((Break(ModelThrottled("slow down", retry_after=3600)),)))
    happened = record(agent)

    result = await agent.prompt("go")

    assert result.stop_reason == "error"
    assert happened.of(RetryScheduled) == []


async def test_another_model_chosen_while_one_is_waited_for_is_asked_in_its_own_name(make_agent):
    agent = make_agent(Reply((Break(ModelThrottled("slow down")),)))
    other = replace(scripted("here"), spec=ModelSpec("demo", "other"))
    agent.subscribe(lambda event: agent.set_model(other) if isinstance(event, RetryScheduled) else None)

    result = await agent.prompt("go")

    assert result.text == "here"
    assert [request.spec.model_id for request in other.provider.requests] == ["other"]
    assert agent.history.last_reply().model == "other"
