from __future__ import annotations

import asyncio
import tracemalloc
from pathlib import Path

import pytest
from fakes.contexts import tool_context

from harness.errors import InvalidArguments
from harness.messages import JsonObject, Text
from harness.ports.tool import ToolOutput
from harness.views import TerminalView, View
from tools.bash import BashTool
from tools.command_execution import LIMIT


async def run(folder: Path, command: str, **arguments: float) -> ToolOutput:
    tool = BashTool()
    return await tool.run(tool.validate({"command": command, **arguments}), tool_context(folder))


def text_of(output: ToolOutput) -> str:
    return "".join(block.text for block in output.content if isinstance(block, Text))


async def test_result_starts_with_the_exit_code(tmp_path: Path) -> None:
    output = await run(tmp_path, "pwd; exit 3")

    assert text_of(output) == f"Exit code: 3\n{tmp_path}"
    assert not output.is_error
    assert output.view == TerminalView("pwd; exit 3", f"{tmp_path}\n", 3)
    assert output.details is not None
    assert output.details["exit_code"] == 3


async def test_silence_is_reported(tmp_path: Path) -> None:
    assert text_of(await run(tmp_path, "true")) == "Exit code: 0\n(no output)"


async def test_every_line_of_the_output_reaches_the_model_unchanged(tmp_path: Path) -> None:
    printed = "\n    def f(self):\n\t    return 1  \n\n \n"
    (tmp_path / "part.py").write_text(printed)

    finished = await run(tmp_path, "cat part.py")
    timed_out = await run(tmp_path, "cat part.py; sleep 100", timeout_s=0.3)

    assert text_of(finished) == f"Exit code: 0\n{printed.removesuffix(chr(10))}"
    assert text_of(timed_out).endswith(f"until then:\n{printed.removesuffix(chr(10))}")


async def test_git_status_keeps_its_first_column(tmp_path: Path) -> None:
    make = "git init -q && echo a > f && git add f && git -c user.name=n -c user.email=e commit -qm c && echo b > f"

    output = await run(tmp_path, f"{make} && git status --short")

    assert text_of(output) == "Exit code: 0\n M f"


async def test_death_by_a_signal_is_named(tmp_path: Path) -> None:
    assert text_of(await run(tmp_path, "kill -KILL $$")).startswith("Exit code: 137 (SIGKILL)\n")


async def test_exit_code_of_a_usage_error_is_not_called_a_signal(tmp_path: Path) -> None:
    assert text_of(await run(tmp_path, "git log --no-such-option; exit 129")).startswith("Exit code: 129\n")


async def test_timeout_is_an_error_that_keeps_what_was_printed(tmp_path: Path) -> None:
    output = await run(tmp_path, "echo half; sleep 100", timeout_s=0.3)

    assert output.is_error
    assert "Timed out after 0.3 s" in text_of(output)
    assert "killed" in text_of(output)
    assert text_of(output).endswith("\nhalf")
    assert output.view == TerminalView("echo half; sleep 100", "half\n", note="timed out after 0.3 s")


async def test_control_sequences_and_bad_bytes_are_made_harmless(tmp_path: Path) -> None:
    output = await run(tmp_path, r"printf '\033]0;title\007\033[31mred\033[0m\377\n'")

    assert text_of(output) == "Exit code: 0\nred\ufffd"


async def test_a_hundred_megabytes_stay_small_in_memory(tmp_path: Path) -> None:
    tracemalloc.start()

    output = await run(tmp_path, "head -c 100000000 /dev/zero | tr '\\0' '\\n'; echo end")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 10_000_000
    assert len(text_of(output)) < LIMIT + 1000
    assert text_of(output).endswith("\nend")
    assert "left out of 100,000,004 bytes" in text_of(output)


async def test_five_megabytes_with_bad_bytes_can_be_read_in_full(tmp_path: Path) -> None:
    output = await run(tmp_path, r"yes $'w\xc3\xb6rd \xff' | head -c 5000000; echo; echo end")

    (spill,) = (tmp_path / "spill").glob("bash-call_1-*.txt")
    assert str(spill) in text_of(output)
    lines = spill.read_text().splitlines()
    assert lines[0] == "wörd \ufffd"
    assert lines[-1] == "end"


async def test_output_is_shown_while_it_runs_and_not_more_than_ten_times_a_second(tmp_path: Path) -> None:
    views: list[View] = []
    context = tool_context(tmp_path, update=views.append)
    command = "i=0; until [ -e go ]; do echo $i; i=$((i+1)); sleep 0.002; done"
    loop = asyncio.get_running_loop()
    started = loop.time()

    task = asyncio.create_task(BashTool().run({"command": command}, context))
    async with asyncio.timeout(10):
        while len(views) < 4:
            await asyncio.sleep(0.005)
    seconds = loop.time() - started
    (tmp_path / "go").touch()
    await task

    assert len(views) <= seconds * 10 + 2
    assert all(isinstance(view, TerminalView) and view.exit_code is None for view in views)
    assert isinstance(views[3], TerminalView)
    assert len(views[3].output) > len(getattr(views[0], "output", ""))


async def test_last_line_before_a_pause_is_shown(tmp_path: Path) -> None:
    views: list[View] = []
    context = tool_context(tmp_path, update=views.append)
    command = "echo one; sleep 0.01; echo two; until [ -e go ]; do sleep 0.01; done"

    task = asyncio.create_task(BashTool().run({"command": command}, context))
    async with asyncio.timeout(10):
        while not views or views[-1] != TerminalView(command, "one\ntwo\n"):
            await asyncio.sleep(0.005)
    (tmp_path / "go").touch()

    assert text_of(await task) == "Exit code: 0\none\ntwo"


async def test_background_process_is_reported(tmp_path: Path) -> None:
    output = await run(tmp_path, "sleep 30 > /dev/null 2>&1 & echo started")
    group = text_of(output).partition("kill -- -")[2].partition(".")[0]

    stopped = await run(tmp_path, f"kill -- -{group}")

    assert text_of(output).startswith("Exit code: 0\nstarted\n[It left processes running")
    assert text_of(stopped).startswith("Exit code: 0")


async def test_keys_of_model_services_do_not_reach_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "MY_PROXY_KEY", "GITHUB_TOKEN"):
        monkeypatch.setenv(name, f"secret-{name}")

    output = await BashTool(["MY_PROXY_KEY"]).run({"command": "env | grep secret-"}, tool_context(tmp_path))

    assert text_of(output) == "Exit code: 0\nGITHUB_TOKEN=secret-GITHUB_TOKEN"


@pytest.mark.parametrize("command", ["a\0b", "cd 'a\0b' && git status", ": " + "x" * 200_000])
async def test_a_command_that_cannot_be_started_is_a_failure(command: str, tmp_path: Path) -> None:
    output = await run(tmp_path, command)

    assert output.is_error
    assert text_of(output).startswith("The command could not be started")


async def test_a_folder_that_was_deleted_is_a_failure(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    context = tool_context(folder)
    folder.rmdir()

    output = await BashTool().run({"command": "ls"}, context)

    assert output.is_error


@pytest.mark.parametrize(
    ("arguments", "seconds"),
    [({}, 120), ({"timeout_s": 5}, 5), ({"timeout": 600}, 600), ({"timeout": 30_000}, 30), ({"timeout_s": 9e9}, 600)],
)
def test_timeout_is_in_seconds_or_milliseconds_and_at_most_ten_minutes(arguments: JsonObject, seconds: float) -> None:
    validated = BashTool().validate({"cmd": "ls", **arguments})

    assert (validated["command"], validated["timeout_s"]) == ("ls", seconds)
    assert BashTool().validate(validated) == validated


@pytest.mark.parametrize(
    "arguments", [{}, {"command": ""}, {"command": "ls", "timeout_s": 0}, {"command": "ls", "x": 1}]
)
def test_arguments_that_make_no_sense_are_refused(arguments: JsonObject) -> None:
    with pytest.raises(InvalidArguments, match="arguments of bash"):
        BashTool().validate(arguments)


async def test_the_user_sees_the_command_before_it_runs(tmp_path: Path) -> None:
    preview = await BashTool().preview({"command": "make\nls"}, tool_context(tmp_path))

    assert preview == TerminalView("make\nls", "")
    assert BashTool().summary({"command": "make\nls"}) == "make …"
    assert BashTool().risk({"command": "git status -s"}).level == "read"
    assert BashTool.mutates == "by_call"


def test_command_in_the_background_is_more_than_reading() -> None:
    tool = BashTool()

    foreground, background = (
        tool.risk(tool.validate({"command": "tail -n 3 x", "background": each})) for each in (False, True)
    )

    assert (foreground.level, foreground.access) == ("read", "read")
    assert (background.level, background.access) == ("execute", "by_level")
    assert background.reason == "runs in the background"
