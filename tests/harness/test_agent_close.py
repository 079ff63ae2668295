from __future__ import annotations

import asyncio

from fakes.runs import until

from harness.events import AgentEnd
from harness.messages import ModelSpec
from harness.ports.provider import Model, StaticModelInfo
from providers.demo import DemoProvider, Hang, Reply, Say, replies


class Connected(DemoProvider):
    """Provider that records whether it was closed."""

    is_closed = False

    async def close(self) -> None:
        self.is_closed = True


async def test_agent_is_closed_at_the_end_of_its_context(make_agent, record):
    provider = Connected(replies(Reply((Say("Once"), Hang()))))

    async with make_agent(model=Model(provider, ModelSpec("demo", "script"), StaticModelInfo())) as agent:
        events = record(agent)
        listener = agent.listen()
        run = asyncio.create_task(agent.prompt("go"))
        await until(lambda: events.names[-1:] == ["MessageUpdate"])

    assert events.names[-3:] == ["MessageEnd", "TurnEnd", "AgentEnd"]
    assert (await run).stop_reason == "aborted"
    assert isinstance([event async for event in listener][-1], AgentEnd)
    assert provider.is_closed
