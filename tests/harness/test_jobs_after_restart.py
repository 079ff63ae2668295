from __future__ import annotations

import pytest

from harness.lost_jobs import lost_jobs, lost_jobs_notice
from harness.messages import Message, Text, ToolResult, UserMessage
from providers.demo import Call, Reply
from tools import builtin_tools

BEGUN = {"job_id": "job-7"}
SERVER = "sleep 300"


def answered(details: dict[str, object], call_id: str = "1") -> ToolResult:
    return ToolResult(call_id, "bash", (Text("…"),), details=details)


def reported(text: str) -> UserMessage:
    return UserMessage((Text(text),), synthetic=True)


@pytest.mark.parametrize(
    ("messages", "gone"),
    [
        ([answered({"exit_code": 0})], ()),
        ([answered(BEGUN)], ("job-7",)),
        ([answered(BEGUN), answered({**BEGUN, "state": "running", "exit_code": None}, "2")], ("job-7",)),
        ([answered(BEGUN), answered({**BEGUN, "state": "killed", "exit_code": None}, "2")], ()),
        ([answered(BEGUN), reported("[Background job-7 (make): ended with exit code 0 after 1 s. job_output …]")], ()),
        ([answered(BEGUN), answered({"job_id": "job-9"}, "2")], ("job-7", "job-9")),
        ([answered(BEGUN), answered({"job_id": "job-9"}, "2"), reported(lost_jobs_notice(("job-7", "job-9")))], ()),
    ],
)
def test_job_of_an_earlier_process_is_lost_unless_its_end_was_reported(
    make_agent, messages: list[Message], gone: tuple[str, ...]
):
    assert lost_jobs(messages, make_agent().jobs) == gone


async def test_job_of_this_process_is_kept_and_new_jobs_get_unused_names(make_agent):
    background = Reply((Call("bash", {"command": SERVER, "background": True}),))
    agent = make_agent(background, "done", background, "done", tools=builtin_tools(), approval="off")
    await agent.prompt("go")

    here = lost_jobs(agent.history.messages, agent.jobs)
    lost_jobs([answered(BEGUN)], agent.jobs)
    await agent.prompt("again")
    names = [job.id for job in agent.jobs.running]
    await agent.close()

    assert here == ()
    assert names == ["job-1", "job-8"]
    assert "job-7" in lost_jobs_notice(("job-7",))


async def test_subagent_job_is_lost_with_its_process(make_agent):
    serve = Reply((Call("bash", {"command": SERVER, "background": True}),))
    delegate = Reply((Call("delegate_subagent", {"task": "serve"}),))
    agent = make_agent(delegate, serve, "served", "done", tools=builtin_tools(), approval="off")
    await agent.prompt("go")

    here = lost_jobs(agent.history.messages, agent.jobs)
    await agent.close()

    assert here == ()
    assert lost_jobs(agent.history.messages, make_agent().jobs) == ("job-1",)
