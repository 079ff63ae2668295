from __future__ import annotations

import re
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.runs import calls, deeds, results_of
from fakes.simple_tools import SimpleTool

from harness.execution.context import Execution
from harness.messages import Image, JsonObject, Text
from harness.ports.tool import ToolContext, ToolOutput
from providers.demo import Call, Reply, scripted
from tools import builtin_tools

LINES = "".join(f"line {number:04}\n" for number in range(500))
SHORT = Execution(max_result_chars=1000)


def speaker(*content: Text | Image, name: str = "speak", **options) -> SimpleTool:
    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        return ToolOutput(content)

    return SimpleTool(name, work, **options)


@pytest.fixture
def smallest_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def where(text: str) -> Path:
    found = re.search(r"the full text is in (.+)\]", text)
    assert found
    return Path(found[1])


async def test_long_result_keeps_its_head_and_tail(make_agent, record):
    agent = make_agent(calls("speak"), "done", tools=[speaker(Text(LINES))], execution=SHORT)
    happened = record(agent)

    await agent.prompt("go")

    (result,) = results_of(agent)
    head, marker, tail = result.text.partition(f"[truncated: {len(LINES)} bytes total; the full text is in ")
    assert marker
    assert LINES.startswith(head)
    assert LINES.endswith(tail.partition("]\n")[2])
    assert 500 < len(head) <= 600
    assert 300 < len(tail.partition("]\n")[2]) <= 400
    assert where(result.text).read_text() == LINES
    assert deeds(happened.events) == ["start speak", "end speak"]


async def test_truncated_output_can_be_read_by_the_model(make_agent, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    tools = [speaker(Text(LINES)), *builtin_tools()]
    agent = make_agent(calls("speak"), "done", tools=tools, execution=SHORT, spill_dir=elsewhere)
    await agent.prompt("go")
    path = str(where(results_of(agent)[0].text))

    agent.state.model = scripted(Reply((Call("read_file", {"path": path, "offset": 250, "limit": 1}),)), "done")
    await agent.prompt("read it")

    assert "line 0249" in results_of(agent)[-1].text


async def test_short_result_is_unchanged(make_agent, tmp_path: Path):
    agent = make_agent(calls("speak"), "done", tools=[speaker(Text("x" * 1000))], execution=SHORT)

    await agent.prompt("go")

    assert results_of(agent)[0].text == "x" * 1000
    assert not (tmp_path / "spill").exists()


async def test_without_a_limit_nothing_is_truncated(make_agent):
    tools = [speaker(Text("x" * 100_000))]
    agent = make_agent(calls("speak"), "done", tools=tools, execution=Execution(max_result_chars=0))

    await agent.prompt("go")

    assert len(results_of(agent)[0].text) == 100_000


async def test_limit_counts_utf8_bytes(make_agent):
    text = "é\ud800" * 2000
    agent = make_agent(calls("speak"), "done", tools=[speaker(Text(text))], execution=SHORT)

    await agent.prompt("go")

    assert "[truncated: 6000 bytes total;" in results_of(agent)[0].text
    assert where(results_of(agent)[0].text).read_text() == "é?" * 2000


async def test_images_stay_and_texts_are_joined(make_agent):
    picture = Image("image/png", "A" * 5000)
    tool = speaker(picture, Text(LINES), picture, Text("the end"))
    agent = make_agent(calls("speak"), "done", tools=[tool], execution=SHORT)

    await agent.prompt("go")

    before, text, after = results_of(agent)[0].content
    assert (before, after) == (picture, picture)
    assert isinstance(text, Text)
    assert text.text.endswith("the end")


async def test_error_result_is_truncated_too(make_agent):
    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        return ToolOutput.failure(LINES, details={"kept": True})

    agent = make_agent(calls("fail"), "done", tools=[SimpleTool("fail", work)], execution=SHORT)

    await agent.prompt("go")

    (result,) = results_of(agent)
    assert result.is_error
    assert result.details == {"kept": True}
    assert "[truncated: " in result.text


async def test_disk_error_loses_only_the_spilled_output(make_agent, tmp_path: Path):
    (tmp_path / "file").touch()
    agent = make_agent(
        calls("speak"), "done", tools=[speaker(Text(LINES))], execution=SHORT, spill_dir=tmp_path / "file" / "spill"
    )

    await agent.prompt("go")

    (result,) = results_of(agent)
    assert not result.is_error
    assert f"[truncated: {len(LINES)} bytes total; the full text could not be saved: Not a directory]" in result.text


async def test_full_disk_leaves_no_partial_file(make_agent, tmp_path: Path, smallest_files: None):
    agent = make_agent(calls("speak"), "done", tools=[speaker(Text(LINES))], execution=SHORT)

    await agent.prompt("go")

    assert (
        "[truncated: 5000 bytes total; the full text could not be saved: File too large]" in results_of(agent)[0].text
    )
    assert list((tmp_path / "spill").iterdir()) == []


@pytest.mark.parametrize("call", [Call("bash", {"command": "cat a.txt"}), Call("read_file", {"path": "a.txt"})])
async def test_built_in_tools_respect_the_limit(make_agent, tmp_path: Path, call: Call):
    (tmp_path / "a.txt").write_text(LINES * 4)
    tools, execution = builtin_tools(), Execution(max_result_chars=10_000)
    agent = make_agent(Reply((call,)), "done", tools=tools, approval="off", execution=execution)

    await agent.prompt("go")

    (result,) = results_of(agent)
    assert not result.is_error
    assert 9_000 < len(result.text) <= 10_000
    assert "[truncated: " not in result.text


async def test_large_output_is_written_without_blocking(make_agent):
    agent = make_agent(calls("speak"), "done", tools=[speaker(Text("x" * 3_000_000))], execution=SHORT)

    await agent.prompt("go")

    assert "[truncated: 3000000 bytes total;" in results_of(agent)[0].text
    assert where(results_of(agent)[0].text).stat().st_size == 3_000_000
