from __future__ import annotations

from fakes.contests import failing, model, own, said, spent
from fakes.runs import calls, deeds
from fakes.simple_tools import SimpleTool
from msgspec.structs import replace

from harness.agent.guardrails import Warn
from harness.agent.options import AgentOptions
from harness.agent.routing import Single
from harness.events import BranchEvent, ToolCacheHit, UsageUpdate
from harness.messages import Cost, UserMessage
from harness.parallel.run import run_parallel
from harness.parallel.variant import ParallelVariant
from harness.ports.provider import ModelInfo, Price
from providers.demo import Reply, Say


class Careful:
    def check(self, message: UserMessage) -> Warn:
        return Warn("mind the gap")


async def test_guardrail_warning_is_added_once(make_agent):
    agent = make_agent("never asked", guardrails=[Careful()])
    asked = model("a", "A")

    await run_parallel(agent, "hi", [ParallelVariant(asked), ParallelVariant(model("b", "B"))])

    assert [each.text for each in asked.provider.requests[0].messages] == ["hi\n[Warning: mind the gap]"]
    assert said(agent)[0] == "hi\n[Warning: mind the gap]"


async def test_later_permission_of_the_user_applies_to_all(make_agent, user):
    look = SimpleTool("look", risk="read")
    agent = make_agent("never asked", tools=[look], approval="off")
    agent.state.approval = "on"

    def loosen(event: object) -> None:
        if user.asked:
            agent.state.approval = "off"

    agent.subscribe(loosen)
    await run_parallel(agent, "hi", [ParallelVariant(model("a", calls("look"), calls("look"), "A"))])

    assert len(user.asked) == 1
    assert len(look.ran) == 2


async def test_agent_routing_and_fallback_are_not_used_for_variants(make_agent):
    elsewhere = model("elsewhere", "E", "E")
    agent = make_agent("never asked", routing=Single(elsewhere), fallback=[elsewhere])

    done = await run_parallel(agent, "hi", [ParallelVariant(failing("broken")), ParallelVariant(model("a", "A"))])

    assert elsewhere.provider.requests == []
    assert [each.result.text for each in done.outcomes] == ["", "A"]


async def test_routing_of_a_variant_is_used(make_agent):
    agent = make_agent("never asked")
    routed = ParallelVariant(model("a", "never"), options=AgentOptions(routing=Single(model("b", "B"))))

    done = await run_parallel(agent, "hi", [routed])

    assert done.result.text == "B"


async def test_reported_usage_includes_every_run(make_agent, record):
    agent = make_agent(spent("first", 1))
    await agent.prompt("before")
    happened = record(agent)

    await run_parallel(
        agent, "hi", [ParallelVariant(model("a", spent("A", 10))), ParallelVariant(model("b", spent("B", 100)))]
    )

    (reported,) = happened.of(UsageUpdate)
    assert (reported.usage.input, reported.total.input, reported.context) == (10, 111, 11)
    inner = [each.event for each in happened.of(BranchEvent) if isinstance(each.event, UsageUpdate)]
    assert sorted(each.total.input for each in inner) == [10, 100]


async def test_run_ends_like_the_chosen_variant(make_agent, record):
    agent = make_agent("never asked")
    happened = record(agent)
    long = model("a", Reply((Say("cut o"),), stop_reason="length"))

    done = await run_parallel(agent, "hi", [ParallelVariant(long)])

    assert done.result.stop_reason == "length"
    assert own(happened.events)[-1] == "AgentEnd"


async def test_cached_results_are_cleared_after_parallel_runs(make_agent, record):
    look, change = SimpleTool("look", cacheable=True), SimpleTool("change", risk="edit")
    agent = make_agent(calls("look"), "seen", calls("look"), "seen anew", tools=[look])
    happened = record(agent)

    await agent.prompt("look")
    await run_parallel(agent, "change it", [ParallelVariant(model("a", calls("change"), "A"), tools=[change])])
    await agent.prompt("look again")

    assert len(look.ran) == 2
    assert happened.of(ToolCacheHit) == []


async def test_call_answered_from_the_cache_is_reported_as_cached(make_agent, record):
    agent = make_agent("never asked", tools=[SimpleTool("look", cacheable=True)])
    happened = record(agent)

    await run_parallel(agent, "hi", [ParallelVariant(model("a", calls("look"), calls("look"), "A"))])

    assert deeds(happened.events) == ["start look", "end look", "start look", "hit look", "end look"]


async def test_cost_of_a_run_is_known_once_its_price_is(make_agent):
    class Late:
        now: ModelInfo | None = None

        async def load(self) -> ModelInfo:
            self.now = ModelInfo(price=Price(1.0, 0.0))
            return self.now

    agent = make_agent("never asked")
    dear = replace(model("dear", spent("A", 2_000_000)), info=Late())

    done = await run_parallel(agent, "hi", [ParallelVariant(dear), ParallelVariant(model("b", "B"))])

    assert done.outcomes[0].usage.cost == agent.state.usage.cost == Cost(input=2.0)


async def test_variants_have_the_reading_tools_of_sources(make_agent):
    read, write = SimpleTool("mcp__github__read"), SimpleTool("mcp__github__write", risk="execute")
    agent = make_agent("never asked", approval="off")
    agent.set_source_tools("the MCP server github", [read, write])
    asked = model("a", calls("mcp__github__read"), calls("mcp__github__write"), "A")

    await run_parallel(agent, "hi", [ParallelVariant(asked)])

    assert [spec.name for spec in asked.provider.requests[0].tools] == ["mcp__github__read", "find_tools", "call_tool"]
    assert (read.ran, write.ran) == ([{}], [])
    assert [tool.name for tool in agent.state.late.sources.tools] == ["mcp__github__read", "mcp__github__write"]
