from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path

import pytest
from fakes.jobs import Silent, answers, background, news
from fakes.processes import is_alive
from fakes.runs import calls, until
from fakes.simple_tools import SimpleTool, sleeper

from harness.agent import job_wake
from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.codec import decode, encode
from harness.events import (
    Event,
    JobEnded,
    JobStarted,
    Notice,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from harness.job_spec import JobSpec
from harness.jobs import MAX_ENDED, MAX_RUNNING, Jobs
from harness.messages import AssistantMessage, JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from harness.workspace.workspace import Workspace
from providers.demo import Call, Reply, scripted
from tools import builtin_tools

SLEEPER = "echo $$ > pid; echo begun; sleep 300"


async def pid_in(folder: Path) -> int:
    await until(lambda: (folder / "pid").exists() and (folder / "pid").read_text().strip())
    return int((folder / "pid").read_text())


async def test_background_command_returns_at_once_and_keeps_running(agents, record, tmp_path: Path):
    agent = agents(background(SLEEPER), "done")
    happened = record(agent)

    result = await agent.prompt("go")

    assert result.text == "done"
    assert answers(agent)[0].startswith("Running in the background as job-1.")
    assert [job.id for job in agent.jobs.running] == ["job-1"]
    assert is_alive(await pid_in(tmp_path))
    started = happened.of(JobStarted)[0]
    assert (started.job_id, started.title) == ("job-1", SLEEPER)
    assert started.call_id == happened.of(ToolExecutionStart)[0].call.id


async def test_background_command_failing_at_once_returns_its_result(agents):
    agent = agents(background("no-such-program"), "done")

    await agent.prompt("go")

    assert answers(agent)[0].startswith("Exit code: 127\n")
    assert agent.jobs.all == ()


async def test_job_end_is_reported_to_the_model_in_its_next_turn(agents, record, tmp_path: Path):
    async def let_it_end(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        (tmp_path / "go").touch()
        await until(lambda: not agent.jobs.running)
        return ToolOutput.text("waited")

    command = "until [ -e go ]; do sleep 0.01; done; echo over; exit 3"
    agent = agents(background(command), calls("meanwhile"), "done", tools=[SimpleTool("meanwhile", let_it_end)])
    happened = record(agent)

    await agent.prompt("go")

    assert len(news(agent)) == 1
    assert "job-1" in news(agent)[0]
    assert "exit code 3" in news(agent)[0]
    assert [(each.job_id, each.state, each.exit_code) for each in happened.of(JobEnded)] == [("job-1", "ended", 3)]


async def test_job_end_between_runs_is_sent_with_the_next_prompt_and_starts_no_run(agents, requests, tmp_path: Path):
    agent = agents(background("until [ -e go ]; do sleep 0.01; done"), "done", "again")
    await agent.prompt("go")
    asked = len(requests(agent))

    (tmp_path / "go").touch()
    await until(lambda: not agent.jobs.running)
    await asyncio.sleep(0)
    assert len(requests(agent)) == asked
    await agent.prompt("and now")

    assert len(news(agent)) == 1


async def test_stopped_run_keeps_pending_notices(agents, tmp_path: Path):
    slow = sleeper("slow", 30)
    command = "until [ -e go ]; do sleep 0.01; done"
    agent = agents(background(command), calls("slow"), "heard", tools=[slow])

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: slow.ran)
    (tmp_path / "go").touch()
    await until(lambda: not agent.jobs.running)
    agent.abort()
    await run
    before = news(agent)
    await agent.prompt("and now")

    assert before == []
    assert len(news(agent)) == 1


async def test_end_that_a_call_reports_is_not_announced_as_well(agents, tmp_path: Path):
    async def let_it_end(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        (tmp_path / "go").touch()
        await until(lambda: not agent.jobs.running)
        return ToolOutput.text("it has ended")

    look = Call("job_output", {"job_id": "job-1", "depends_on": ["a"]}, "b")
    command = "until [ -e go ]; do sleep 0.01; done; echo built"
    both = Reply((Call("meanwhile", {}, "a"), look))
    agent = agents(background(command), both, "done", tools=[SimpleTool("meanwhile", let_it_end)])

    await agent.prompt("go")

    assert "ended with exit code 0" in answers(agent)[-1]
    assert news(agent) == []


async def test_only_new_output_is_shown_and_a_waiting_call_gets_no_notice(agents, tmp_path: Path):
    look = Reply((Call("job_output", {"job_id": "job-1"}),))
    command = "echo first; touch begun; until [ -e go ]; do sleep 0.01; done; echo second; sleep 0.05; exit 4"

    async def ready(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        await until((tmp_path / "begun").exists)
        return ToolOutput.text("ready")

    async def go(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        (tmp_path / "go").touch()
        return ToolOutput.text("went")

    wait = Reply((Call("job_output", {"job_id": "job-1", "wait_s": 20}),))
    script = (background(command), calls("ready"), look, calls("go"), wait, "done")
    agent = agents(*script, tools=[SimpleTool("ready", ready), SimpleTool("go", go)])

    await agent.prompt("go")

    begun, _, first, _, last = answers(agent)
    assert begun.count("\nfirst") + first.count("\nfirst") == 1
    assert "running" in first
    assert "\nfirst" not in last
    assert last.endswith("second")
    assert "ended with exit code 4" in last
    assert news(agent) == []


async def test_run_without_later_runs_waits_for_its_jobs(agents, record, tmp_path: Path):
    agent = agents(background("until [ -e go ]; do sleep 0.01; done; echo over"), "It runs.", "It is over.")
    happened = record(agent)
    agent.jobs.stop_with_run(10)

    run = asyncio.create_task(agent.prompt("go"))
    await until(
        lambda: any(
            each.text == "Waiting for job-1 (until [ -e go ]; do sleep 0.01; done; echo over) to end."
            for each in happened.of(Notice)
        )
    )
    (tmp_path / "go").touch()
    result = await run

    assert result.text == "It is over."
    assert "this run waits for that" in answers(agent)[0]
    assert len(news(agent)) == 1


async def test_run_waits_for_a_job_for_a_limited_time_and_can_be_aborted(agents):
    agent = agents(background(SLEEPER), "It runs.", background(SLEEPER), "Both run.")
    agent.jobs.stop_with_run(0.1)
    late = await agent.prompt("go")
    agent.jobs.stop_with_run(60)
    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: len(agent.jobs.running) == 2 and agent.history.at_rest)
    agent.abort()

    assert late.text == "It runs."
    assert (await run).stop_reason == "aborted"


async def test_end_of_a_job_starts_a_run_of_an_idle_agent(agents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(job_wake, "DELAY_S", 0)
    agent = agents(background("until [ -e go ]; do sleep 0.01; done"), "It runs.", "It is over.")
    agent.subscribe(job_wake.JobWake(agent).receive)
    await agent.prompt("go")

    (tmp_path / "go").touch()
    await until(lambda: isinstance(last := agent.history.messages[-1], AssistantMessage) and last.text == "It is over.")

    assert len(news(agent)) == 1


async def test_model_kills_a_job_and_its_processes(agents, record, tmp_path: Path):
    kill = Reply((Call("job_kill", {"job_id": "job-1"}),))
    agent = agents(background(f"sleep 300 & {SLEEPER}"), kill, "done")
    happened = record(agent)

    await agent.prompt("go")

    assert not is_alive(await pid_in(tmp_path))
    assert "killed" in answers(agent)[1]
    assert [each.state for each in happened.of(JobEnded)] == ["killed"]
    assert news(agent) == []


async def test_unknown_job_id_is_answered_with_the_known_ones(agents):
    unknown = Reply((Call("job_output", {"job_id": "job-9"}), Call("job_kill", {"job_id": "job-9"})))
    agent = agents(unknown, background(SLEEPER), unknown, "done")

    await agent.prompt("go")

    nothing, _, _, known, _ = answers(agent)
    assert "Nothing runs in the background." in nothing
    assert "job-1 (echo $$" in known


async def test_user_kills_a_job_and_the_model_is_notified(agents, tmp_path: Path):
    agent = agents(background(SLEEPER), "done", "heard")
    await agent.prompt("go")

    assert agent.jobs.kill("job-1")
    await until(lambda: not agent.jobs.running)
    assert not agent.jobs.kill("job-1")
    await agent.prompt("what now")

    assert not is_alive(await pid_in(tmp_path))
    assert "by the user" in news(agent)[0]


async def test_user_moves_a_running_command_to_the_background_and_the_agent_continues(agents, record, tmp_path: Path):
    agent = agents(calls("bash", command=SLEEPER), "went on")
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: happened.of(ToolExecutionUpdate))
    moved = await asyncio.to_thread(agent.background_call, happened.of(ToolExecutionStart)[0].call.id)
    result = await run

    assert moved
    assert result.text == "went on"
    assert answers(agent)[0].startswith(
        "The user moved the command to the background, where it keeps running as job-1."
    )
    assert answers(agent)[0].endswith("begun")
    assert is_alive(await pid_in(tmp_path))
    assert not agent.background_call("never was")


async def test_abort_keeps_jobs_and_close_kills_them(make_agent, tmp_path: Path):
    agent = make_agent(background(SLEEPER), calls("bash", command="sleep 301"), tools=builtin_tools(), approval="off")
    agent.subscribe(lambda event: agent.abort() if isinstance(event, ToolExecutionStart) and agent.jobs.all else None)

    result = await agent.prompt("go")
    pid = await pid_in(tmp_path)
    survived = is_alive(pid)
    await agent.close()

    assert result.stop_reason == "aborted"
    assert survived
    assert not is_alive(pid)
    assert agent.jobs.all[0].killer == "leaving"


def test_jobs_end_with_the_event_loop_of_an_unclosed_agent(tmp_path: Path):
    workspace = Workspace(tmp_path)
    agent = Agent(
        scripted(background(SLEEPER), "done"), builtin_tools(), "You help.", AgentOptions(workspace, approval="off")
    )

    result = asyncio.run(agent.prompt("go"))

    assert result.text == "done"
    assert not is_alive(int((tmp_path / "pid").read_text()))


def test_jobs_of_prompt_sync_end_with_it(tmp_path: Path):
    workspace = Workspace(tmp_path)
    agent = Agent(
        scripted(background(SLEEPER), "done"), builtin_tools(), "You help.", AgentOptions(workspace, approval="off")
    )

    agent.prompt_sync("go")

    assert not is_alive(int((tmp_path / "pid").read_text()))
    assert agent.jobs.running == ()


async def test_job_events_round_trip_through_json(agents, record):
    agent = agents(background(SLEEPER), Reply((Call("job_kill", {"job_id": "job-1"}),)), "done")
    happened = record(agent)

    await agent.prompt("go")

    for event in (*happened.of(JobStarted), *happened.of(JobEnded)):
        assert decode(Event, json.loads(json.dumps(encode(event)))) == event


async def test_running_and_finished_jobs_are_limited():
    jobs = Jobs()
    release = asyncio.Event()

    async def work() -> int:
        await release.wait()
        return 0

    for number in range(MAX_RUNNING):
        jobs.to_background(jobs.start(JobSpec(str(number), "work", Silent(), work)))
    one_more = jobs.start(JobSpec("more", "work", Silent(), work))
    moved = jobs.move("more")
    release.set()
    await until(lambda: not jobs.running)
    await asyncio.wait([one_more.task])
    for _ in range(5):
        job = jobs.start(JobSpec("later", "work", Silent(), work))
        await asyncio.sleep(0)
        jobs.to_background(job)
        await until(lambda: not jobs.running)

    assert not moved
    assert len(jobs.all) <= MAX_ENDED + 1
    assert jobs.all[-1].id == f"job-{MAX_RUNNING + 5}"


async def test_job_raising_an_exception_has_failed():
    jobs = Jobs()

    async def work() -> int:
        await asyncio.sleep(0)
        raise OSError("no room")

    job = jobs.start(JobSpec("1", "work", Silent(), work))
    jobs.to_background(job)
    with contextlib.suppress(OSError):
        await job.task
    await asyncio.sleep(0)

    assert (job.state, job.status_text) == ("failed", "failed: no room")


async def test_command_being_stopped_is_not_moved_to_the_background():
    happened: list[Event] = []
    jobs, stopping, release = Jobs(happened.append), asyncio.Event(), asyncio.Event()

    async def work() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            stopping.set()
            await release.wait()
        return 0

    job = jobs.start(JobSpec("1", "work", Silent(), work))
    assert await jobs.wait(job, 0.01) == "late"
    stopped = asyncio.create_task(jobs.stop(job))
    await stopping.wait()
    moved = jobs.move("1")
    release.set()
    await stopped

    assert not moved
    assert jobs.all == ()
    assert happened == []
