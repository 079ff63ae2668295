from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.people import ScriptedUser
from fakes.runs import calls, results_of, until
from fakes.simple_tools import SimpleTool, sleeper
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.agent.limits import Limits
from harness.agent.options import AgentOptions
from harness.agent.presets import preset, preset_model, preset_names
from harness.agent.retry import RetryPolicy
from harness.agent.tool_calls import STEERING_GRACE_S
from harness.context.policy import NO_STAGES, ContextPolicy
from harness.errors import ConfigError, ModelThrottled
from harness.events import RetryScheduled
from harness.execution.context import Execution
from harness.messages import JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from harness.workspace.workspace import Workspace
from providers.demo import Break, Reply, scripted

NAMES = ("cinch", "trustee", "swink", "phi", "cersei")
# Values from the documents of each preset's origin.
LIMITS = {
    "cinch": Limits(max_turns=10),
    "trustee": Limits(max_turns=1_000),
    "swink": Limits(max_turns=50, max_cost=10.0),
    "phi": Limits(max_turns=50, max_tokens=1_000_000, max_seconds=600.0),
    "cersei": Limits(max_turns=10),
}
MAX_TOKENS = {"cinch": 1_024, "trustee": 16_000, "swink": None, "phi": 8_192, "cersei": 16_384}
TEMPERATURES = {"cinch": 0.7, "trustee": None, "swink": None, "phi": None, "cersei": None}
RETRIES = {
    "cinch": RetryPolicy(max_retries=0, max_empty=3, empty_delay=0.5),
    "trustee": RetryPolicy(max_retries=3, initial=1.0, multiplier=2.0, jitter=0.0),
    "swink": RetryPolicy(max_retries=2, initial=1.0, multiplier=2.0, max_delay=60.0, jitter=0.5),
    "phi": RetryPolicy(max_retries=3, initial=1.0, multiplier=2.0, max_delay=30.0, jitter=0.2),
    "cersei": RetryPolicy(max_retries=5, initial=1.0, multiplier=2.0, max_delay=30.0, jitter=0.25),
}
WINDOWS = {
    "cinch": ContextPolicy(
        200_000,
        advise_at=0.60,
        warn_at=0.80,
        evict_at=0.80,
        evict_to=0.60,
        evict_min_age=3,
        compact_at=0.80,
        compact_cooldown=10,
        summary_in_context=False,
        keep_first=1,
        keep_recent=10,
        tool_output_lines=0,
    ),
    "trustee": NO_STAGES,
    "swink": replace(NO_STAGES, window=100_000, reserve=0, overflow_tokens=50_000, keep_first=2, tool_output_lines=0),
    "phi": replace(NO_STAGES, window=100_000, reserve=0, keep_first=2, keep_recent=10, tool_output_lines=50),
    "cersei": ContextPolicy(
        200_000,
        reserve=0,
        advise_at=0,
        warn_at=0.80,
        critical_at=0.95,
        evict_at=0,
        compact_at=0.90,
        compact_cooldown=0,
        summary_in_context=False,
        keep_first=0,
        keep_recent=10,
        tool_output_lines=160,
    ),
}
EXECUTIONS = {
    "cinch": Execution(timeout=60.0, max_result_chars=30_000, cache_entries=100, cache_turns=10),
    "trustee": Execution("sequential", timeout=120.0, max_result_chars=256_000),
    "swink": Execution(timeouts={"bash": 30.0}, max_result_chars=102_400),
    "phi": Execution(timeouts={"bash": 120.0}),
    "cersei": Execution(max_result_chars=20_000),
}
APPROVALS = {"cinch": "off", "trustee": "on", "swink": "smart", "phi": "smart", "cersei": "off"}


@pytest.mark.parametrize("name", NAMES)
def test_preset_sets_its_documented_values(name):
    options = preset(name)

    assert options.limits == LIMITS[name]
    assert options.max_tokens == MAX_TOKENS[name]
    assert options.temperature == TEMPERATURES[name]
    assert options.retry == RETRIES[name]
    assert options.window == WINDOWS[name]
    assert options.execution == EXECUTIONS[name]
    assert options.approval == APPROVALS[name]
    assert options.steering_mode == ("after_batch" if name == "phi" else "interrupt")
    assert (options.steering, options.follow_up) == ("one", "one")


@pytest.mark.parametrize("name", NAMES)
def test_undocumented_values_are_the_defaults(name):
    ours = AgentOptions()
    said = {
        "approval",
        "limits",
        "max_tokens",
        "temperature",
        "retry",
        "window",
        "execution",
        "steering_mode",
        "mode",
        "planning",
    }

    options = preset(name)

    assert all(getattr(options, each) == getattr(ours, each) for each in AgentOptions.__slots__ if each not in said)


def test_there_are_five_presets_and_two_name_a_model():
    assert preset_names() == NAMES
    assert {name: preset_model(name) for name in NAMES if preset_model(name)} == {
        "cinch": "anthropic/claude-sonnet-4",
        "swink": "anthropic/claude-sonnet-4-6",
    }


@pytest.mark.parametrize(
    ("name", "hint"),
    [("ph", "did you mean 'phi'"), ("Cinch", "did you mean 'cinch'"), ("", "available presets: cinch, trustee, swink")],
)
def test_unknown_preset_suggests_the_nearest_name(name, hint):
    with pytest.raises(ConfigError, match=hint):
        preset(name)
    with pytest.raises(ConfigError, match=hint):
        preset_model(name)


def test_changing_a_copy_changes_no_other():
    one = replace(preset("phi"), approval="on")
    one.execution.timeouts["bash"] = 1.0

    assert preset("phi").approval == "smart"
    assert preset("phi").execution.timeouts == {"bash": 120.0}


MakePreset = Callable[..., Agent]


@pytest.fixture
def make(user: ScriptedUser, tmp_path: Path) -> MakePreset:
    def make_agent(name: str, *script: Reply | str, tools: tuple[SimpleTool, ...] = ()) -> Agent:
        options = replace(preset(name), user=user, workspace=Workspace(tmp_path), spill_dir=tmp_path / "spill")
        return Agent(scripted(*script), tools, options=options)

    return make_agent


@pytest.mark.parametrize("name", NAMES)
async def test_every_preset_runs_an_agent(make, record, name):
    agent = make(name, calls("look"), "done", tools=(SimpleTool("look"),))
    happened = record(agent)

    result = await agent.prompt("go")

    request = ["RequestStart", "MessageStart", "MessageEnd", "UsageUpdate"]
    asked = ["ToolApprovalRequested", "ToolApprovalResolved"] if name == "trustee" else []
    assert [each for each in happened.names if each != "MessageUpdate"] == [
        "AgentStart",
        "TurnStart",
        "MessageStart",
        "MessageEnd",
        *request,
        "ToolCallsReceived",
        *asked,
        "ToolExecutionStart",
        "ToolExecutionEnd",
        "MessageStart",
        "MessageEnd",
        "TurnEnd",
        "TurnStart",
        *request,
        "TurnEnd",
        "AgentEnd",
    ]
    assert result.text == "done"
    (sent, _) = agent.state.model.provider.requests
    assert (sent.max_tokens, sent.temperature) == (MAX_TOKENS[name], TEMPERATURES[name])


async def test_cinch_preset_never_retries_a_failing_model(make, record):
    agent = make("cinch", Reply((Break(ModelThrottled("slow down")),)), "never said")
    happened = record(agent)

    result = await agent.prompt("go")

    assert result.stop_reason == "error"
    assert happened.of(RetryScheduled) == []


async def test_cinch_preset_stops_after_ten_turns(make):
    look = SimpleTool("look")
    agent = make("cinch", *[calls("look", path=str(number)) for number in range(12)], tools=(look,))

    result = await agent.prompt("go")

    assert result.limit == "turns"
    assert len(look.ran) == 10


async def test_trustee_preset_runs_calls_sequentially_and_asks_about_each(make, record, user):
    agent = make("trustee", calls("look", "look", path="x"), "done", tools=(SimpleTool("look"),))
    happened = record(agent)

    await agent.prompt("go")

    assert [name for name in happened.names if name.startswith("ToolExecution")] == [
        "ToolExecutionStart",
        "ToolExecutionEnd",
    ] * 2
    assert len(user.asked) == 2


@pytest.mark.parametrize(("name", "texts"), [("phi", ["first", "second"]), ("swink", ["first", "[interrupted"])])
async def test_phi_preset_finishes_a_batch_and_swink_interrupts_it(make, name, texts):
    async def first(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        await until(lambda: tools[1].ran)
        agent.steer("something else")
        return ToolOutput.text("first")

    tools = (SimpleTool("first", first), sleeper("second", 2 * STEERING_GRACE_S))
    agent = make(name, calls("first", "second"), "done", tools=tools)

    await agent.prompt("go")

    assert [each.text.split()[0] for each in results_of(agent)] == texts


async def test_cersei_preset_asks_nothing_but_blocks_forbidden_calls(make, user):
    danger, forbidden = SimpleTool("danger", risk="dangerous"), SimpleTool("forbidden", risk="forbidden")
    agent = make("cersei", calls("danger", "forbidden"), "done", tools=(danger, forbidden))

    await agent.prompt("go")

    assert user.asked == []
    assert (len(danger.ran), len(forbidden.ran)) == (1, 0)
