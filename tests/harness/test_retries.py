from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from fakes.runs import until
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.agent.retry import RetryPolicy
from harness.errors import (
    AuthenticationFailed,
    ContextWindowOverflow,
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


async def test_retryable_error_is_retried(make_agent, record):
    agent = make_agent(Reply((Break(ModelThrottled("slow down")),)), Reply((Break(ModelOverloaded("busy")),)), "here")
    happened = record(agent)

    result = await agent.prompt("go")

    assert result.text == "here"
    assert [event.attempt for event in happened.of(RetryScheduled)] == [1, 2]
    assert happened.of(MessageDiscarded) == []


async def test_error_after_partial_text_discards_it_and_counts_usage_once(make_agent, record):
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


async def test_rejection_is_not_retried_and_is_in_the_history(make_agent, record):
    agent = make_agent(Reply((Break(RequestRejected("400: no")),)), "fine")
    happened = record(agent)

    result = await agent.prompt("go")
    again = await agent.prompt("go on")

    assert result.stop_reason == "error"
    assert result.error == "400: no"
    assert happened.of(RetryScheduled) == []
    assert again.text == "fine"


async def test_too_long_retry_after_is_not_waited_for(make_agent, record):
    agent = make_agent(Reply((Break(ModelThrottled("slow down", retry_after=3600)),)))
    happened = record(agent)

    result = await agent.prompt("go")

    assert result.stop_reason == "error"
    assert happened.of(RetryScheduled) == []


async def test_model_switched_during_a_wait_is_called_under_its_own_name(make_agent):
    agent = make_agent(Reply((Break(ModelThrottled("slow down")),)))
    other = replace(scripted("here"), spec=ModelSpec("demo", "other"))
    agent.subscribe(lambda event: agent.set_model(other) if isinstance(event, RetryScheduled) else None)

    result = await agent.prompt("go")

    assert result.text == "here"
    assert [request.spec.model_id for request in other.provider.requests] == ["other"]
    assert agent.history.last_reply().model == "other"


THROTTLED = ModelThrottled("slow down")


def delays(policy: RetryPolicy) -> list[float | None]:
    return [policy.delay(THROTTLED, attempt) for attempt in range(1, policy.max_retries + 2)]


def test_delays_double_up_to_the_cap_until_retries_run_out():
    assert delays(RetryPolicy(max_retries=7, jitter=0.0)) == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, None]
    assert delays(RetryPolicy(max_retries=3, initial=0.5, multiplier=3.0, max_delay=2.0, jitter=0.0)) == [
        0.5,
        1.5,
        2.0,
        None,
    ]
    assert delays(RetryPolicy(max_retries=0)) == [None]


@given(st.integers(1, 8), st.floats(0, 1), st.floats(0, 1, exclude_max=True))
def test_jitter_stays_within_its_fraction_and_the_cap(attempt, jitter, chance):
    policy = RetryPolicy(max_retries=9, jitter=jitter, random=lambda: chance)

    delay = policy.delay(THROTTLED, attempt)

    middle = min(2.0 ** (attempt - 1), 30.0 / (1 + jitter))
    assert middle * (1 - jitter) - 1e-9 <= delay <= middle * (1 + jitter) + 1e-9
    assert 0 <= delay <= 30.0 + 1e-9


def test_default_jitter_desynchronizes_clients_even_at_the_cap():
    policies = [RetryPolicy(max_retries=9) for _ in range(20)]

    assert len({policy.delay(THROTTLED, 1) for policy in policies}) == 20
    assert len({policy.delay(THROTTLED, 9) for policy in policies}) == 20


def test_delay_never_exceeds_the_cap_after_many_retries():
    assert RetryPolicy(max_retries=10**9, jitter=0.0).delay(THROTTLED, 10**6) == 30.0


@pytest.mark.parametrize(
    ("error", "delay"),
    [
        (ModelThrottled("slow", retry_after=7.5), 7.5),
        (ModelThrottled("slow", retry_after=0.0), 0.0),
        (ModelOverloaded("busy", retry_after=120.0), 120.0),
        (ModelOverloaded("busy", retry_after=121.0), None),
        (NetworkError("cut"), 1.0),
        (AuthenticationFailed("no key", retry_after=1.0), None),
        (RequestRejected("400"), None),
        (ContextWindowOverflow("too long"), None),
    ],
)
def test_retry_after_is_honored_and_a_rejection_is_final(error, delay):
    assert RetryPolicy(jitter=0.0).delay(error, 1) == delay


async def test_each_wait_is_published_before_it_starts(make_agent, record):
    policy = RetryPolicy(max_retries=4, initial=0.001, max_delay=0.004, jitter=0.0)
    agent = make_agent(*[Reply((Break(THROTTLED),))] * 4, "here", retry=policy)
    happened = record(agent)

    result = await agent.prompt("go")

    assert [name for name in happened.names if name != "MessageUpdate"] == [
        "AgentStart",
        "TurnStart",
        "MessageStart",
        "MessageEnd",
        *["RequestStart", "RetryScheduled"] * 4,
        "RequestStart",
        "MessageStart",
        "MessageEnd",
        "UsageUpdate",
        "TurnEnd",
        "AgentEnd",
    ]
    scheduled = happened.of(RetryScheduled)
    assert [(each.attempt, each.max_retries, each.delay) for each in scheduled] == [
        (1, 4, 0.001),
        (2, 4, 0.002),
        (3, 4, 0.004),
        (4, 4, 0.004),
    ]
    assert all(later.time - each.time >= each.delay / 2 for each, later in pairwise(scheduled))
    assert result.text == "here"


async def test_retries_run_out_with_the_last_error(make_agent, record):
    failures = [Reply((Break(ModelThrottled(f"no {number}")),)) for number in range(9)]
    agent = make_agent(*failures, retry=RetryPolicy(max_retries=2, initial=0.0))
    happened = record(agent)

    result = await agent.prompt("go")

    assert [each.error for each in happened.of(RetryScheduled)] == ["no 0", "no 1"]
    assert (result.stop_reason, result.error) == ("error", "no 2")


async def test_empty_reply_does_not_use_up_the_retries_of_errors(make_agent, record):
    failure = Reply((Break(THROTTLED),))
    agent = make_agent("", failure, failure, "here", retry=RetryPolicy(max_retries=2, initial=0.0, empty_delay=0.0))
    happened = record(agent)

    result = await agent.prompt("go")

    assert result.text == "here"
    assert [event.attempt for event in happened.of(RetryScheduled)] == [1, 1, 2]


async def test_wait_can_be_aborted(make_agent, record):
    agent = make_agent(Reply((Break(THROTTLED),)), "never said", retry=RetryPolicy(initial=60.0, max_delay=60.0))
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: happened.of(RetryScheduled))
    agent.abort()
    result = await run

    assert result.stop_reason == "aborted"
    assert happened.names[-1] == "AgentEnd"


async def test_wait_can_be_skipped(make_agent, record):
    slow = ModelThrottled("slow down", retry_after=100)
    agent = make_agent(Reply((Break(slow),)), "here", retry=RetryPolicy())
    happened = record(agent)
    running = asyncio.create_task(agent.prompt("go"))
    await until(lambda: bool(happened.of(RetryScheduled)) and agent.retry_now())

    result = await asyncio.wait_for(running, 5)

    assert result.text == "here"
    assert not agent.retry_now()


async def test_switched_model_is_called_at_once_with_all_its_attempts(make_agent, record):
    slow = Reply((Break(ModelThrottled("slow down", retry_after=100)),))
    agent = make_agent(slow, retry=RetryPolicy(max_retries=1))
    other = scripted(Reply((Break(ModelOverloaded("busy", retry_after=0)),)), "here", name="other")
    happened = record(agent)
    running = asyncio.create_task(agent.prompt("go"))
    await until(lambda: bool(happened.of(RetryScheduled)))

    agent.set_model(other)
    result = await asyncio.wait_for(running, 5)

    assert result.text == "here"
    assert [event.attempt for event in happened.of(RetryScheduled)] == [1, 1]
