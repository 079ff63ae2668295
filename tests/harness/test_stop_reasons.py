"""Stop reasons are consistent, and a library prints no tracebacks (H14)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from fakes.runs import calls
from fakes.simple_tools import SimpleTool

from harness.agent.limits import Limits
from harness.errors import LimitExceeded, RequestRejected
from harness.events import AgentEnd
from harness.messages import StopReason
from harness.ports.hooks import Hooks, Stop
from providers.demo import Break, Reply

ROOT = Path(__file__).resolve().parents[2]


class StopAfter(Hooks):
    async def after_turn(self, end):
        return Stop("seen enough")


class StopBefore(Hooks):
    async def before_turn(self, messages, turn):
        return Stop("seen enough") if turn > 1 else None


@pytest.mark.parametrize("hook", [StopAfter(), StopBefore()])
async def test_hook_stop_completes_the_run_with_its_reason_and_no_error(make_agent, record, hook):
    agent = make_agent(calls("look"), "never", tools=[SimpleTool("look")], hooks=[hook])
    seen = record(agent)

    result = await agent.prompt("go")

    assert (result.stop_reason, result.limit, result.stop_message) == ("stop", "policy", "seen enough")
    assert (result.error, result.failure, result.rejection) == (None, None, "")
    (end,) = seen.of(AgentEnd)
    assert (end.stop_reason, end.limit, end.stop_message, end.error) == ("stop", "policy", "seen enough", None)
    with pytest.raises(LimitExceeded, match="seen enough"):
        result.raise_for_failure()


async def test_limit_keeps_the_last_replys_stop_reason_and_has_no_error(make_agent):
    agent = make_agent(calls("look"), "never", tools=[SimpleTool("look")], limits=Limits(max_turns=1))

    result = await agent.prompt("go")

    assert (result.stop_reason, result.limit, result.error) == ("tool_use", "turns", None)
    assert "1" in result.stop_message


async def test_error_is_set_for_failed_and_aborted_runs_only(make_agent):
    failed = await make_agent(Reply((Break(RequestRejected("no")),))).prompt("go")
    done = await make_agent("done").prompt("go")

    assert (failed.stop_reason, failed.error, failed.stop_message) == ("error", "no", "")
    assert (done.stop_reason, done.error, done.stop_message) == ("stop", None, "")


def test_documented_table_of_stop_reasons_is_complete():
    text = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
    table = text.partition("| `stop_reason` |")[2].partition("\n\n")[0]

    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == sorted(get_args(StopReason))


FAILING_TOOL = """
import logging, sys
from harness import Agent, tool
from providers.demo import Break, Call, Reply, scripted

if "--logging" in sys.argv:
    logging.basicConfig()

@tool(risk="none")
def divide() -> float:
    "Divides."
    return 1 / 0

agent = Agent(scripted(Reply((Call("divide", {}),)), Reply((Break(ValueError("odd")),))), [divide])
print(agent.prompt_sync("go").error)
"""


@pytest.mark.parametrize("logs", [False, True])
def test_tracebacks_of_tools_and_providers_reach_stderr_only_where_logging_is_set_up(logs):
    command = [sys.executable, "-c", FAILING_TOOL, *(["--logging"] if logs else [])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "demo failed: ValueError: odd\n"
    assert ("ZeroDivisionError" in done.stderr) is logs
    assert logs or done.stderr == ""
