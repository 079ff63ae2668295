"""Cache misses: detected from the usage of replies, and explained by what changed between two requests."""

from __future__ import annotations

import pytest
from fakes.simple_tools import SimpleTool
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.agent.prompt_cache import UNKNOWN_CAUSE, CacheMonitor
from harness.events import Notice
from harness.messages import AssistantMessage, ModelMessage, ModelSpec, Text, Usage, UserMessage, synthetic, user
from harness.ports.provider import NO_CACHE, CacheStrategy, ModelInfo, Price, Request, StaticModelInfo, ToolSpec
from harness.ports.session_store import InMemorySessionStore, SessionStore
from providers.demo import Reply, Say, scripted

WRITTEN = Usage(input=10, output=100, cache_write=50_000)
READ = Usage(input=10, output=100, cache_read=50_000, cache_write=200)
MISSED = Usage(input=10, output=100, cache_write=50_300)
FIRST, SECOND = user("one"), UserMessage((Text("two"),))
CLEARED = replace(SECOND, content=(Text("[Cleared]"),))
LOOK, RUN = ToolSpec("look", "Looks.", {}), ToolSpec("run", "Runs.", {})
SENT = Request(ModelSpec("demo", "m"), "You are é.\nDate: 1", (FIRST, SECOND), (LOOK,), session_id="s")


def reply(usage: Usage) -> AssistantMessage:
    return AssistantMessage((Text("hi"),), usage=usage, model="m", provider="demo")


def cause_of(request: Request, *, after: float = 10.0, usage: Usage = MISSED) -> str:
    """Return the cause of the miss of a request that is sent some seconds after `SENT`."""
    monitor = CacheMonitor()
    monitor.observe(SENT, 1000.0, reply(WRITTEN))
    found = monitor.observe(request, 1000.0 + after, reply(usage))
    return found[0].cause if found else ""


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"spec": ModelSpec("demo", "n")}, "the model changed from demo/m to demo/n"),
        ({"spec": ModelSpec("demo", "m", "high")}, "the thinking level changed to high"),
        ({"system": "You are é.\nDate: 2"}, "the system prompt changed at byte 18 (“2”)"),
        ({"tools": (LOOK, RUN)}, "the tool list changed (+run)"),
        ({"tools": ()}, "the tool list changed (-look)"),
        ({"tools": (replace(LOOK, description="Sees."),)}, "the tool list changed (look declared differently)"),
        (
            {"messages": (FIRST, CLEARED)},
            "message 2 of the context was shortened",
        ),
        ({"messages": (synthetic("Summary"), SECOND)}, "message 1 of the context was replaced by a summary"),
        ({"messages": (FIRST, user("other"))}, "message 2 of the context changed"),
        ({"messages": (FIRST, SECOND, user("three"))}, UNKNOWN_CAUSE),
    ],
)
def test_cause_is_what_changed_first(changes: dict[str, object], cause: str) -> None:
    assert cause_of(replace(SENT, **changes)).startswith(cause)


@pytest.mark.parametrize("messages", [(FIRST, CLEARED), (synthetic("Summary"), SECOND)])
def test_user_is_not_notified_of_announced_causes(messages: tuple[ModelMessage, ...]) -> None:
    monitor = CacheMonitor()
    monitor.observe(SENT, 1000.0, reply(WRITTEN))

    found = monitor.observe(replace(SENT, messages=messages), 1010.0, reply(MISSED))

    assert found is not None
    assert found[1] is False


def test_pause_longer_than_the_lifetime_is_a_cause() -> None:
    hour = replace(SENT, cache=CacheStrategy(lifetime="1h"))

    assert cause_of(SENT, after=720) == "the request before was 12 min ago, and the cache is kept for 5 min"
    assert cause_of(hour, after=720) == UNKNOWN_CAUSE
    assert cause_of(hour, after=9000) == "the request before was 2 h ago, and the cache is kept for 60 min"


@pytest.mark.parametrize(
    ("request_", "usage"),
    [
        (SENT, READ),
        (SENT, Usage(input=4_000, output=1, cache_read=46_000)),
        (SENT, Usage(input=3_000, output=1)),
        (SENT, Usage()),
        (replace(SENT, cache=NO_CACHE), MISSED),
        (replace(SENT, session_id="other"), MISSED),
    ],
    ids=["read", "mostly read", "short", "no usage", "cache off", "another session"],
)
def test_other_requests_are_no_misses(request_: Request, usage: Usage) -> None:
    assert cause_of(request_, usage=usage) == ""


def test_service_that_reports_no_cache_has_no_misses() -> None:
    monitor = CacheMonitor()

    assert [monitor.observe(SENT, float(at), reply(Usage(input=90_000, output=1))) for at in range(3)] == [None] * 3


def agent_with(*usages: Usage, options: AgentOptions = AgentOptions()) -> tuple[Agent, list[str]]:
    model = scripted(*(Reply((Say("hi"),), usage=usage) for usage in usages))
    price = Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
    model = replace(model, info=StaticModelInfo(ModelInfo(price=price)))
    agent = Agent(model, [SimpleTool("look")], "You help.", options)
    notices: list[str] = []
    agent.subscribe(lambda event: notices.append(event.text) if isinstance(event, Notice) else None)
    return agent, notices


async def test_user_is_notified_once_of_repeated_misses_with_the_same_cause() -> None:
    agent, notices = agent_with(WRITTEN, MISSED, MISSED, READ)

    await agent.prompt("one")
    agent.set_system_prompt("You sing.")
    await agent.prompt("two")
    agent.set_system_prompt("You dance.")
    await agent.prompt("three")
    await agent.prompt("four")

    assert notices == [
        "Prompt cache miss: 50,010 tokens were read at full price ($0.17 more): "
        "the system prompt changed at byte 4 (“sing.”)."
    ]


async def test_miss_after_a_resume_names_the_tool_that_changed() -> None:
    store: SessionStore = InMemorySessionStore()
    agent, _ = agent_with(WRITTEN)
    await agent.open_session(store, "11111111-1111-4111-8111-111111111111")
    await agent.prompt("one")
    await agent.close()
    other, notices = agent_with(MISSED)
    other.add_tool(SimpleTool("run"))

    await other.open_session(store, "11111111-1111-4111-8111-111111111111")
    await other.prompt("two")

    assert len(notices) == 1
    assert notices[0].endswith("the tool list changed (+run).")
