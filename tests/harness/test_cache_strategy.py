from __future__ import annotations

from fakes.contests import model
from fakes.family import cast, delegates

from harness.parallel.run import run_parallel
from harness.parallel.variant import ParallelVariant
from harness.ports.provider import NO_CACHE, CacheStrategy
from tools.delegate import DelegateTool


async def test_subagents_inherit_the_cache_strategy(make_agent):
    family = cast({"go": [delegates("dig"), "ok"], "dig": ["Found it."]})
    agent = make_agent(model=family, tools=[DelegateTool()], cache=NO_CACHE)

    await agent.prompt("go")

    assert [request.cache for request in family.provider.requests] == [NO_CACHE] * 3


async def test_parallel_models_inherit_the_cache_strategy(make_agent):
    hour = CacheStrategy(lifetime="1h")
    agent = make_agent("never asked", cache=hour)
    one, other = model("a", "A"), model("b", "B")

    await run_parallel(agent, "hi", [ParallelVariant(one), ParallelVariant(other)])

    assert [request.cache for each in (one, other) for request in each.provider.requests] == [hour] * 2
