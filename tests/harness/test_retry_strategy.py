"""Retry strategy as a port: any object with its methods decides about model calls (PRD 11)."""

from __future__ import annotations

import pytest

from harness.agent.retry import RetryPolicy
from harness.errors import ModelThrottled, NetworkError, ProviderError, RequestRejected, StreamError
from harness.events import AgentEnd, RetryScheduled
from providers.demo import Break, Reply

GONE = Reply((Break(NetworkError("gone")),))
BUSY = Reply((Break(ModelThrottled("busy", retry_after=600.0)),))


class Twice:
    """Strategy that is not a RetryPolicy and has its two methods only."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def should_retry(self, error: ProviderError, attempt: int) -> bool:
        self.asked.append((type(error).__name__, attempt))
        return attempt <= 2

    def delay(self, error: ProviderError, attempt: int) -> float:
        return 0.001 * attempt


async def test_any_object_with_the_two_methods_decides_about_retries(make_agent, record, requests):
    strategy = Twice()
    agent = make_agent(GONE, Reply((Break(RequestRejected("odd")),)), "here", retry=strategy)
    seen = record(agent)

    result = await agent.prompt("go")

    assert (result.text, result.error) == ("here", None)
    assert strategy.asked == [("NetworkError", 1), ("RequestRejected", 2)]
    assert [(each.attempt, each.delay, each.max_retries) for each in seen.of(RetryScheduled)] == [
        (1, 0.001, 0),
        (2, 0.002, 0),
    ]
    assert len(requests(agent)) == 3


async def test_a_strategy_that_gives_up_ends_the_run_with_the_models_error(make_agent):
    result = await make_agent(GONE, GONE, BUSY, "never", retry=Twice()).prompt("go")

    assert (result.stop_reason, result.error) == ("error", "busy")
    assert isinstance(result.failure, ModelThrottled)


async def test_default_policy_retries_an_empty_reply(make_agent, requests):
    agent = make_agent("", "here", retry=Twice())

    assert (await agent.prompt("go")).text == "here"
    assert len(requests(agent)) == 2


class Raising(Twice):
    def should_retry(self, error: ProviderError, attempt: int) -> bool:
        raise KeyError("limits")


class Unfinished:
    """Strategy without the method `delay`."""

    def should_retry(self, error: ProviderError, attempt: int) -> bool:
        return True


class Async(Twice):
    async def should_retry(self, error: ProviderError, attempt: int) -> bool:  # pyright: ignore
        return False


class Negative(Twice):
    def delay(self, error: ProviderError, attempt: int) -> float:
        return float("nan")


@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.parametrize(
    ("strategy", "error"),
    [
        (Raising(), "the retry strategy failed: KeyError: 'limits'"),
        (Unfinished(), "the retry strategy failed: AttributeError: 'Unfinished' object has no attribute 'delay'"),
        (Async(), "the retry strategy failed: TypeError: should_retry returned coroutine, not a bool"),
        (Negative(), "the retry strategy failed: ValueError: delay returned nan seconds"),
    ],
)
async def test_strategy_violating_its_contract_ends_the_run_with_a_clear_error(make_agent, record, strategy, error):
    agent = make_agent(GONE, "never", retry=strategy)
    seen = record(agent)

    result = await agent.prompt("go")

    assert (result.stop_reason, result.error) == ("error", error)
    assert isinstance(result.failure, StreamError)
    assert len(seen.of(AgentEnd)) == 1


@pytest.mark.parametrize(
    ("error", "attempt", "again"),
    [
        (NetworkError("x"), 3, True),
        (NetworkError("x"), 4, False),
        (RequestRejected("x"), 1, False),
        (ModelThrottled("x", retry_after=120.0), 1, True),
        (ModelThrottled("x", retry_after=121.0), 1, False),
    ],
)
def test_the_default_policy_retries_transient_errors_with_attempts_left(error, attempt, again):
    policy = RetryPolicy(jitter=0.0)

    assert policy.should_retry(error, attempt) is again
    assert (policy.delay(error, attempt) is not None) is again
