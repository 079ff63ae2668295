from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from fakes.contests import Take, failing, model, own, said, spent
from fakes.runs import calls, until
from fakes.simple_tools import SimpleTool

from harness.agent.guardrails import Reject
from harness.agent.limits import Limits
from harness.agent.options import AgentOptions
from harness.agent.policies import Budget, DenyList
from harness.agent.retry import RetryPolicy
from harness.codec import decode, encode
from harness.errors import ConfigError, FileNotRead, ModelOverloaded
from harness.events import BranchEvent, Event, Notice, ParallelEnd, RequestStart
from harness.execution.context import Execution
from harness.messages import AssistantMessage, JsonObject, Message, ToolResult, Usage, UserMessage
from harness.parallel.run import run_parallel
from harness.parallel.selection import LlmJudge, Transparent
from harness.parallel.variant import ParallelVariant
from harness.ports.hooks import Hooks
from harness.ports.tool import ToolContext, ToolOutput
from harness.session.recorder import SessionRecorder
from harness.session.resume import load_session
from providers.demo import Break, Call, Reply, Say


async def test_mutating_tools_are_only_for_variants_that_name_them(make_agent):
    look, change = SimpleTool("look"), SimpleTool("change", risk="edit")
    agent = make_agent("never asked", tools=[look, change])
    tame, bold = model("tame", calls("change"), "could not"), model("bold", calls("change"), "did")

    done = await run_parallel(agent, "hi", [ParallelVariant(tame), ParallelVariant(bold, tools=[change])])

    shown = [[tool.name for tool in each.provider.requests[0].tools] for each in (tame, bold)]
    assert shown == [["look"], ["change"]]
    assert len(change.ran) == 1
    results = [each for each in done.outcomes[0].added if isinstance(each, ToolResult)]
    assert results[0].is_error


async def test_only_the_chosen_run_is_in_the_session_file(make_agent, tmp_path: Path):
    agent = make_agent("never asked", "after", tools=[SimpleTool("look")])
    store = SessionRecorder(tmp_path / "data", tmp_path, agent.session_id)
    agent.subscribe(store.store)
    loser, winner = model("l", calls("look"), "LOSER"), model("w", calls("look"), "WINNER")

    await run_parallel(agent, "which?", [ParallelVariant(loser), ParallelVariant(winner)], Take(1))
    store.close()

    assert [each.id for each in load_session(store.path).messages] == [each.id for each in agent.history]
    assert len(agent.history) == 4
    text = store.path.read_text(encoding="utf-8")
    assert "LOSER" not in text
    assert text.count("WINNER") == 1


async def test_prompt_is_on_disk_before_any_request(make_agent, tmp_path: Path):
    agent = make_agent("never asked")
    store = SessionRecorder(tmp_path / "data", tmp_path, agent.session_id)
    agent.subscribe(store.store)
    on_disk: list[bool] = []

    def look(event: Event) -> None:
        if isinstance(event, BranchEvent) and isinstance(event.event, RequestStart):
            on_disk.append("which?" in store.path.read_text(encoding="utf-8"))

    agent.subscribe(look)
    await run_parallel(agent, "which?", [ParallelVariant(model("a", "A")), ParallelVariant(model("b", "B"))])
    store.close()

    assert on_disk == [True, True]


async def test_all_runs_and_the_choice_are_counted(make_agent):
    agent = make_agent(spent("first", 1), spent("last", 2))
    await agent.prompt("before")
    branches = [ParallelVariant(model("a", spent("A", 10))), ParallelVariant(model("b", spent("B", 100)))]

    done = await run_parallel(agent, "hi", branches, Take(0, usage=Usage(input=1_000, output=1)))

    assert agent.state.usage.input == 1_111
    assert done.result.usage.input == 1_110
    assert [each.usage.input for each in done.outcomes] == [10, 100]
    assert done.usage.input == 1_000


async def test_messages_queued_meanwhile_are_sent_to_the_agents_model_afterwards(make_agent, record):
    agent = make_agent("about steering", "about follow-up")
    happened = record(agent)
    judge = Take(0)
    judge.may.clear()

    run = asyncio.create_task(
        run_parallel(agent, "hi", [ParallelVariant(model("a", "A")), ParallelVariant(model("b", "B"))], judge)
    )
    await until(lambda: judge.asked)
    agent.steer("steering")
    agent.follow_up("follow-up")
    judge.may.set()
    done = await run

    assert said(agent) == ["hi", "A", "steering", "about steering", "follow-up", "about follow-up"]
    reported = [name for name in own(happened.events) if name != "MessageUpdate"]
    asked = ["TurnStart", "MessageStart", "MessageEnd", "RequestStart", "MessageStart"]
    answered = ["MessageEnd", "UsageUpdate", "TurnEnd"]
    assert reported[3:] == [
        *["ParallelStart", "ParallelEnd"],
        *["TurnStart", "MessageStart", *answered],
        *[*asked, *answered],
        *[*asked, *answered],
        "AgentEnd",
    ]
    assert done.result.text == "about follow-up"


async def test_messages_queued_meanwhile_stay_queued_when_all_fail(make_agent):
    agent = make_agent("never asked")
    agent.follow_up("later")

    await run_parallel(agent, "hi", [ParallelVariant(failing("a")), ParallelVariant(failing("b"))])

    assert said(agent) == ["hi"]
    assert [each.text for each in agent.inbox.follow_up.messages] == ["later"]


class Wrong:
    async def choose(self, prompts, outcomes):
        return 1


@pytest.mark.parametrize(
    ("strategy", "error"),
    [
        (Take(0, error=RuntimeError("broke")), "RuntimeError: broke"),
        (Wrong(), "TypeError: expected a Selection, not int"),
    ],
)
async def test_failing_strategy_loses_no_answer(make_agent, record, strategy, error: str):
    agent = make_agent("never asked")
    happened = record(agent)
    branches = [ParallelVariant(model("a", "A")), ParallelVariant(model("b", "B"))]

    done = await run_parallel(agent, "hi", branches, strategy)

    assert said(agent) == ["hi", "A"]
    assert [each.text for each in happened.of(Notice)] == [
        f"The selection failed ({error}), so the first answer is used."
    ]
    assert own(happened.events)[3:6] == ["ParallelStart", "Notice", "ParallelEnd"]
    assert done.reason == "the selection failed"


@pytest.mark.parametrize("index", [0, 7, -1], ids=["failed", "too high", "too low"])
async def test_invalid_choice_is_rejected(make_agent, record, index: int):
    agent = make_agent("never asked")
    happened = record(agent)
    branches = [ParallelVariant(failing("x")), ParallelVariant(model("a", "A")), ParallelVariant(model("b", "B"))]

    done = await run_parallel(agent, "hi", branches, Take(index))

    assert done.selected_index == 1
    assert [each.level for each in happened.of(Notice)] == ["warning"]


async def test_judge_chooses_and_its_usage_is_reported_separately(make_agent, record):
    agent = make_agent("never asked")
    happened = record(agent)
    judge = model("judge", Reply((Say("2, it is shorter."),), usage=Usage(input=500, output=5)))
    branches = [ParallelVariant(model("a", spent("A", 10))), ParallelVariant(model("b", spent("B", 100)))]

    done = await run_parallel(agent, "which?", branches, LlmJudge(judge))

    assert own(happened.events) == [
        "AgentStart",
        "MessageStart",
        "MessageEnd",
        "ParallelStart",
        "ParallelEnd",
        "TurnStart",
        "MessageStart",
        "MessageEnd",
        "UsageUpdate",
        "TurnEnd",
        "AgentEnd",
    ]
    assert (done.selected_index, done.reason) == (1, "2, it is shorter.")
    assert (done.usage.input, happened.of(ParallelEnd)[0].usage.input) == (500, 500)
    assert happened.of(ParallelEnd)[0].usage_beside.input == 510
    assert done.result.usage.input == agent.state.usage.input == 610
    assert said(agent) == ["which?", "B"]


async def test_failing_judge_loses_no_answer(make_agent, record):
    agent = make_agent("never asked")
    happened = record(agent)
    branches = [ParallelVariant(model("a", "A")), ParallelVariant(model("b", "B"))]

    done = await run_parallel(agent, "which?", branches, LlmJudge(failing("judge", "no key")))

    assert own(happened.events)[3:6] == ["ParallelStart", "Notice", "ParallelEnd"]
    assert [each.text for each in happened.of(Notice)] == ["The judge failed, so the first answer is used: no key"]
    assert done.selected_index == 0


async def test_guardrail_blocks_a_prompt_for_all_variants(make_agent, record):
    class Never:
        def check(self, message: UserMessage) -> Reject:
            return Reject("not that")

    agent = make_agent("never asked", guardrails=[Never()])
    happened = record(agent)
    asked = model("a", "A")

    done = await run_parallel(agent, "hi", [ParallelVariant(asked)])

    assert happened.names == ["AgentStart", "InputRejected", "AgentEnd"]
    assert (done.result.rejection, done.outcomes) == ("not that", ())
    assert asked.provider.requests == []
    assert said(agent) == []


async def test_limits_apply_to_each_run_and_end_the_whole(make_agent, record):
    agent = make_agent("never asked", tools=[SimpleTool("look")], limits=Limits(max_turns=1))
    happened = record(agent)
    agent.follow_up("later")

    done = await run_parallel(agent, "hi", [ParallelVariant(model("a", calls("look"), "never"))])

    assert own(happened.events)[-3:] == ["MessageStart", "MessageEnd", "AgentEnd"]
    assert done.result.limit == "turns"
    assert [type(each) for each in agent.history] == [UserMessage, AssistantMessage, ToolResult, UserMessage]
    assert len(agent.inbox.follow_up) == 1


async def test_own_options_of_a_variant_are_used(make_agent):
    agent = make_agent("never asked")
    patient = RetryPolicy(max_retries=0)

    done = await run_parallel(
        agent,
        "hi",
        [
            ParallelVariant(
                model("a", Reply((Break(ModelOverloaded("busy")),)), "A"), options=AgentOptions(retry=patient)
            ),
            ParallelVariant(model("b", "B")),
        ],
    )

    assert [each.result.error for each in done.outcomes] == ["busy", None]


async def test_failing_configuration_stops_no_other(make_agent):
    class Broken(Hooks):
        def for_run(self) -> Hooks:
            raise RuntimeError("no hook")

    agent = make_agent("never asked")
    broken = ParallelVariant(model("a", "A"), options=AgentOptions(hooks=[Broken()]))

    done = await run_parallel(agent, "hi", [broken, ParallelVariant(model("b", "B"))])

    assert done.outcomes[0].result.error == "RuntimeError: no hook"
    assert said(agent) == ["hi", "B"]


async def test_transparent_rejects_several_variants_before_any_request(make_agent):
    agent = make_agent("never asked")
    asked = model("a", "A", "A")

    with pytest.raises(ConfigError):
        await run_parallel(agent, "hi", [ParallelVariant(asked), ParallelVariant(asked)], Transparent())
    with pytest.raises(ConfigError):
        await run_parallel(agent, "hi", [])

    assert (asked.provider.requests, said(agent)) == ([], [])


async def test_session_continues_from_the_chosen_run(make_agent, requests):
    agent = make_agent("next")

    await run_parallel(agent, "hi", [ParallelVariant(model("a", "A")), ParallelVariant(model("b", "B"))], Take(1))
    await agent.prompt("and then?")

    assert [each.text for each in requests(agent)[0].messages] == ["hi", "B", "and then?"]


async def test_agent_hooks_apply_to_each_run_and_around_all(make_agent, record):
    class Keeps(Hooks):
        def __init__(self) -> None:
            self.began: list[int] = []

        async def before_loop(self, messages: Sequence[Message], loop_index: int) -> None:
            self.began.append(loop_index)

    look, keeps = SimpleTool("look"), Keeps()
    agent = make_agent("never asked", tools=[look], hooks=[keeps, DenyList("look")])
    happened = record(agent)

    done = await run_parallel(
        agent, "hi", [ParallelVariant(model("a", calls("look"), "A")), ParallelVariant(model("b", calls("look"), "B"))]
    )

    assert look.ran == []
    assert keeps.began == [1, 2, 3]
    assert all("not allowed" in each.added[2].text for each in done.outcomes)
    assert own(happened.events)[5:11] == [
        *["TurnStart", "MessageStart", "MessageEnd", "UsageUpdate"],
        *["ToolCallsReceived", "HookRan"],
    ]
    assert [each.text for each in agent.history] == [each.text for each in done.outcomes[0].messages]


async def test_budget_is_counted_separately_in_each_run(make_agent):
    agent = make_agent("never asked", tools=[SimpleTool("look")], hooks=[Budget(max_tokens=50)])
    thrifty = [Reply((Call("look", {}),), usage=Usage(input=30)), "done"]

    done = await run_parallel(
        agent, "hi", [ParallelVariant(model("a", *thrifty)), ParallelVariant(model("b", *thrifty))]
    )

    assert [each.result.text for each in done.outcomes] == ["done", "done"]


async def test_user_permissions_are_shared_and_each_request_names_its_run(make_agent, user):
    agent = make_agent("never asked", tools=[SimpleTool("look")], approval="on")
    user.deny("not now")

    done = await run_parallel(
        agent, "hi", [ParallelVariant(model("a", calls("look"), "A")), ParallelVariant(model("b", calls("look"), "B"))]
    )

    assert [each.label for each in user.asked] == ["demo/a: Look", "demo/b: Look"]
    assert [each.added[2].is_error for each in done.outcomes] == [True, False]


async def test_files_read_by_the_chosen_run_count_as_read(make_agent, tmp_path: Path):
    for name in ("winner.txt", "loser.txt"):
        (tmp_path / name).write_text("old", encoding="utf-8")

    async def read(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        return ToolOutput.text((await context.workspace.read(str(arguments["path"]))).text)

    agent = make_agent("never asked", tools=[SimpleTool("read", read)])
    branches = [
        ParallelVariant(model(name, calls("read", path=f"{name}.txt"), "read it")) for name in ("loser", "winner")
    ]

    await run_parallel(agent, "hi", branches, Take(1))

    await agent.workspace.write("winner.txt", "new")
    with pytest.raises(FileNotRead):
        await agent.workspace.write("loser.txt", "new")


async def test_long_outputs_of_different_runs_are_in_different_files(make_agent, tmp_path: Path):
    async def shout(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        return ToolOutput.text(str(arguments["what"]) * 1_000)

    agent = make_agent("never asked", tools=[SimpleTool("shout", shout)], execution=Execution(max_result_chars=200))
    branches = [ParallelVariant(model(name, calls("shout", what=name), "said")) for name in ("a", "b")]

    await run_parallel(agent, "hi", branches)

    written = {path.read_text(encoding="utf-8")[:1] for path in (tmp_path / "spill").rglob("*.txt")}
    assert written == {"a", "b"}


async def test_parallel_run_events_round_trip_through_json(make_agent, record):
    agent = make_agent("never asked")
    happened = record(agent)

    await run_parallel(agent, "hi", [ParallelVariant(model("a", "A")), ParallelVariant(failing("b"))])

    reported = [json.loads(json.dumps(encode(each))) for each in happened.events]
    assert [decode(Event, each) for each in reported] == happened.events
