"""Approval of all input to one background job."""

from __future__ import annotations

import asyncio
import sys

import pytest
from fakes.runs import results_of

from cinch_tui.reports.permissions import permissions_text
from cinch_tui.user_dialogs.approval_options import answers_to
from harness.agent.agent import Agent
from harness.permissions import Rule
from harness.user_requests import AllowAlways, AllowForSession, AllowOnce
from providers.demo import Call, Reply
from tools.builtin import LazyTool

READS = 'echo ready; while read line; do echo "<$line>"; [ "$line" = end ] && exit; done'
ASKS = f"echo ready; read x; {sys.executable} -c \"import getpass; print(len(getpass.getpass('Password: ')))\""


def program(command: str) -> Reply:
    return Reply((Call("bash", {"command": command, "pty": True}),))


def typed(text: str, job: str = "job-1") -> Reply:
    return Reply((Call("job_input", {"job_id": job, "text": text, "wait_s": 3}),))


def rules_of(agent: Agent) -> list[str]:
    return [str(rule) for rule in agent.state.permissions.store.session_rules]


@pytest.fixture
def session(make_agent, user):
    """Create an agent that may start programs, and close it with its jobs."""
    agents: list[Agent] = []

    def make(*script: Reply | str) -> Agent:
        agent = make_agent(*script, tools=[LazyTool("bash"), LazyTool("job_input")])
        agent.state.permissions.store.add(Rule("bash"))
        agents.append(agent)
        return agent

    yield make
    for agent in agents:
        assert not agent.jobs.running


async def test_session_grant_covers_all_input_to_the_job_and_ends_with_it(session, user):
    script = (program(READS), typed("a"), typed("ls; echo b"), "ok", typed("end"), "done", typed("x"), "gone")
    agent = session(*script)
    user.approvals = [AllowForSession()]

    await agent.prompt("go")
    granted, listed = rules_of(agent), permissions_text(agent)
    await agent.prompt("end it")
    ended = rules_of(agent)
    await agent.prompt("again")

    assert [request.call.arguments["text"] for request in user.asked] == ["a", "x"]
    scope = f"all input to job-1 ({READS})"
    assert [each.text for each in answers_to(user.asked[0])][:2] == ["Allow once", f"Allow {scope} this session"]
    assert not user.asked[0].is_revisable
    assert granted == ["bash", "job_input(job-1)"]
    assert "| allow | `job_input(job-1)` | 1×" in listed
    assert "session, all input to job-1 (echo ready; while read line;" in listed
    assert results_of(agent)[2].text.endswith("<ls; echo b>")
    assert ended == ["bash"]
    assert user.asked[1].session == ()


async def test_grant_covers_no_other_job_no_dangerous_text_and_ends_when_revoked(session, user):
    script = (
        *(program(READS), program(READS), typed("a"), typed("b", "job-2"), typed("sudo ls"), "ok"),
        *(typed("c"), typed("end"), typed("end", "job-2"), "done"),
    )
    agent = session(*script)
    user.approvals = [AllowForSession()]

    await agent.prompt("go")
    agent.state.permissions.store.remove(Rule("job_input", "job-1"))
    await agent.prompt("more")

    asked = [request.call.arguments["text"] for request in user.asked]
    assert asked == ["a", "b", "sudo ls", "c", "end", "end"]
    assert user.asked[2].session == ()


async def test_no_grant_is_stored_for_the_project(session, user):
    agent = session(program(READS), typed("a"), typed("end"), "done")
    user.approvals = [AllowAlways(), AllowOnce()]

    await agent.prompt("go")

    assert len(user.asked) == 2
    assert user.asked[0].rule == ""
    assert [str(rule) for rule in agent.state.permissions.store.rules] == []


async def test_rules_that_ask_apply_in_spite_of_a_grant(session, user):
    agent = session(program(READS), typed("a"), typed("git push"), typed("end"), "done")
    agent.state.permissions.store.add(Rule("bash", "git push:*", "ask"))
    user.approvals = [AllowForSession()]

    await agent.prompt("go")

    assert [request.call.arguments["text"] for request in user.asked] == ["a", "git push"]


async def test_password_is_not_typed_in_spite_of_a_grant(session, user):
    agent = session(program(ASKS), typed("go"), typed("hunter2"), "done")
    user.approvals = [AllowForSession()]

    await agent.prompt("go")
    job = agent.jobs.find("job-1")
    assert job is not None
    still_asks = job.state
    await agent.jobs.stop(job)
    await asyncio.sleep(0)

    assert len(user.asked) == 1
    assert results_of(agent)[-1].text.startswith("Nothing was typed into job-1.")
    assert still_asks == "running"
    assert rules_of(agent) == ["bash"]
