from __future__ import annotations

import asyncio
from pathlib import Path

from fakes.jobs import Silent, answers, background, news
from fakes.runs import calls, until
from fakes.simple_tools import SimpleTool

from harness.events import JobEnded, JobStarted, MessageEnd, SubagentEvent
from harness.inbox import Queue
from harness.job_spec import JobSpec
from harness.jobs import Jobs
from harness.messages import JsonObject, UserMessage
from harness.ports.tool import ToolContext, ToolOutput


async def test_subagent_job_outlives_it_and_is_reported_to_its_caller(agents, record, tmp_path: Path):
    command = "until [ -e go ]; do sleep 0.01; done"
    agent = agents(calls("delegate_subagent", task="serve"), background(command), "served", "done", "heard")
    happened = record(agent)
    await agent.prompt("go")
    running = len(agent.jobs.running)

    (tmp_path / "go").touch()
    await until(lambda: not agent.jobs.running)
    await agent.prompt("what now")

    assert running == 1
    assert len(happened.of(JobStarted)) == len(happened.of(JobEnded)) == 1
    assert len(news(agent)) == 1
    assert f"It left background jobs running: job-1 ({command})." in answers(agent)[0]


async def test_end_of_a_subagent_job_is_reported_to_the_working_subagent_only(agents, record, tmp_path: Path):
    async def let_it_end(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        (tmp_path / "go").touch()
        await until(lambda: not agent.jobs.running)
        return ToolOutput.text("waited")

    command = "until [ -e go ]; do sleep 0.01; done"
    child = (background(command), calls("meanwhile"), "served")
    agent = agents(
        calls("delegate_subagent", task="serve"), *child, "done", "more", tools=[SimpleTool("meanwhile", let_it_end)]
    )
    happened = record(agent)

    await agent.prompt("go")
    await agent.prompt("what now")

    inside = [each.event.message for each in happened.of(SubagentEvent) if isinstance(each.event, MessageEnd)]
    heard = [message.text for message in inside if isinstance(message, UserMessage)]
    assert [text for text in heard if text.startswith("[Background job-1")]
    assert news(agent) == []
    assert "It left background jobs" not in answers(agent)[0]


async def test_notice_missed_by_a_subagent_goes_to_its_caller():
    above, below, release = Queue("all"), Queue("all"), asyncio.Event()

    async def at_once() -> int:
        return 0

    async def later() -> int:
        await release.wait()
        return 0

    jobs = Jobs(news=above)
    its_own = jobs.for_child(below)
    for work in (at_once, later):
        its_own.to_background(its_own.start(JobSpec(work.__name__, work.__name__, Silent(), work)))
    await until(lambda: len(jobs.running) == 1)
    heard_below = len(below)
    left = its_own.transfer_to(jobs)
    handed_up = len(above)
    release.set()
    await until(lambda: not jobs.running)

    assert (heard_below, handed_up) == (1, 1)
    assert [job.spec.title for job in left] == ["later"]
    assert ["at_once" in each.text or "later" in each.text for each in above.clear()] == [True, True]
    assert not below
