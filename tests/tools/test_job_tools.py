from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.contexts import tool_context
from msgspec.structs import replace

from harness.events import Event, Notice
from harness.inbox import Queue
from harness.job_spec import JobSpec
from harness.jobs import MAX_RUNNING, Jobs
from harness.messages import JsonObject
from harness.ports.tool import ToolOutput
from tools.bash import BashTool
from tools.jobs import JobKillTool, JobOutputTool


class Silent:
    def latest(self, limit: int) -> str:
        return ""

    def full_text(self) -> str:
        return ""

    def new_text(self) -> str:
        return ""


def text_of(output: ToolOutput) -> str:
    return "".join(block.text for block in output.content)


@pytest.mark.parametrize("asked", ["background", "run_in_background"])
def test_the_approval_states_that_a_command_continues_in_the_background(asked: str):
    tool, arguments = BashTool(), {"command": "make serve", asked: True}

    assert tool.risk(tool.validate(arguments)).reason.endswith("runs in the background")
    assert tool.summary(arguments) == "make serve  (in the background)"
    assert "background" not in tool.risk(tool.validate({"command": "make serve"})).reason


def test_the_background_makes_a_command_no_safer():
    tool = BashTool()
    levels = [tool.risk(tool.validate({"command": "rm -rf /", "background": apart})).level for apart in (False, True)]

    assert levels == ["forbidden", "forbidden"]


async def test_without_background_jobs_the_model_is_informed(tmp_path: Path):
    tool = BashTool()
    arguments: JsonObject = tool.validate({"command": "sleep 9", "background": True})

    output = await tool.run(arguments, tool_context(tmp_path))

    assert output.is_error
    assert text_of(output).endswith("Run it without background.")


async def test_no_more_than_the_limit_are_started(tmp_path: Path):
    jobs, release, tool = Jobs(), asyncio.Event(), BashTool()

    async def work() -> int:
        await release.wait()
        return 0

    for number in range(MAX_RUNNING):
        jobs.to_background(jobs.start(JobSpec(str(number), "work", Silent(), work)))
    context = replace(tool_context(tmp_path), jobs=jobs)
    output = await tool.run(tool.validate({"command": "touch begun", "background": True}), context)
    await jobs.close()

    assert output.is_error
    assert "job_kill" in text_of(output)
    assert not (tmp_path / "begun").exists()


async def test_long_output_shows_its_end_and_the_path_of_the_full_output(tmp_path: Path):
    jobs, tool, look = Jobs(), BashTool(), JobOutputTool()
    context = replace(tool_context(tmp_path), jobs=jobs)
    command = "echo first; until [ -e go ]; do sleep 0.01; done; seq 100000; touch over; sleep 300"
    await tool.run(tool.validate({"command": command, "background": True}), context)
    await look.run(look.validate({"job_id": "job-1"}), context)

    (tmp_path / "go").touch()
    async with asyncio.timeout(10):
        while not jobs.all[0].spec.output.latest(20).endswith("100000\n"):
            await asyncio.sleep(0.01)
    output = await look.run(look.validate({"job_id": "job-1"}), context)
    await jobs.close()

    assert len(text_of(output)) < 20_000
    assert text_of(output).endswith("100000")
    assert f"Full output: {tmp_path / 'spill'}" in text_of(output)
    assert "first" not in text_of(output).partition("characters left out")[2]


async def test_a_line_that_has_not_ended_is_shown_and_comes_again_whole(tmp_path: Path):
    jobs, tool, look = Jobs(), BashTool(), JobOutputTool()
    context = replace(tool_context(tmp_path), jobs=jobs)
    command = "printf 'half a '; until [ -e go ]; do sleep 0.01; done; echo line; sleep 300"
    begun = await tool.run(tool.validate({"command": command, "background": True}), context)

    (tmp_path / "go").touch()
    async with asyncio.timeout(10):
        while "line" not in jobs.all[0].spec.output.latest(20):
            await asyncio.sleep(0.01)
    output = await look.run(look.validate({"job_id": "job-1"}), context)
    await jobs.close()

    assert text_of(begun).endswith("half a ")
    assert text_of(output).endswith("\nhalf a line")


async def test_indentation_and_empty_lines_of_a_job_are_kept(tmp_path: Path):
    jobs, tool, look, kill = Jobs(), BashTool(), JobOutputTool(), JobKillTool()
    context = replace(tool_context(tmp_path), jobs=jobs)
    command = "printf '    one\n\n'; until [ -e go ]; do sleep 0.01; done; printf '\t two \n'; sleep 300"
    begun = await tool.run(tool.validate({"command": command, "background": True}), context)
    (tmp_path / "go").touch()
    async with asyncio.timeout(10):
        while "two" not in jobs.all[0].spec.output.latest(20):
            await asyncio.sleep(0.01)

    shown = await look.run(look.validate({"job_id": "job-1"}), context)
    killed = await kill.run(kill.validate({"job_id": "job-1"}), context)

    assert text_of(begun).endswith("so far:\n    one\n")
    assert text_of(shown).endswith(" s.\n\t two ")
    assert text_of(killed).endswith("\n(nothing new)")


async def test_a_later_call_of_the_same_id_leaves_the_file_of_a_job_alone(tmp_path: Path):
    jobs, tool = Jobs(), BashTool()
    context = replace(tool_context(tmp_path), jobs=jobs)
    for letter in "ab":
        command = f"yes {letter} | head -c 200000; sleep 300"
        await tool.run(tool.validate({"command": command, "background": True}), context)
    async with asyncio.timeout(10):
        while any(job.spec.output.characters < 200_000 for job in jobs.all):
            await asyncio.sleep(0.01)
    await jobs.close()

    kept = [path.read_text() for path in (tmp_path / "spill").iterdir()]
    assert sorted("".join(sorted(set(text))) for text in kept) == ["\na", "\nb"]


async def test_an_endless_job_is_reported_once_to_the_user_and_the_model(tmp_path: Path):
    happened: list[Event] = []
    news = Queue("all")
    jobs = Jobs(happened.append, news)
    tool = BashTool()
    arguments = tool.validate({"command": "yes a line of a job", "background": True})

    await tool.run(arguments, replace(tool_context(tmp_path), jobs=jobs))
    async with asyncio.timeout(30):
        while not news:
            await asyncio.sleep(0.01)
    job = jobs.all[0]
    await asyncio.sleep(0)
    printed = job.spec.output.full_text()
    await jobs.close()

    reported = [each.text for each in happened if isinstance(each, Notice)]
    assert len(reported) == 1
    assert "job-1 (yes a line of a job) has printed more than 100 MB" in reported[0]
    assert [each.text.startswith("[Still running: job-1 ") for each in news.clear()] == [True]
    assert printed.startswith("a line of a job\n")
    assert "the rest was not saved" in printed
    assert len(printed) < 40_000
