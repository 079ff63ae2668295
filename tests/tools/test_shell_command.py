from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.processes import is_alive

from tools.environment import command_environment
from tools.shell_command import PAUSE_EVERY_BYTES, PAUSE_SECONDS, CommandResult, ShellCommand, run_command


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., asyncio.Task[CommandResult]]:
    """Starts a command in `tmp_path`; what it prints ends in `run.printed`."""

    def start(text: str, sink: Callable[[bytes], None] = lambda data: None, **how: int) -> asyncio.Task[CommandResult]:
        command = ShellCommand(text, tmp_path, command_environment(os.environ))
        return asyncio.create_task(run_command(command, sink, **how))

    return start


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def pids_in(folder: Path, count: int) -> list[int]:
    """The process ids that a command wrote into files named `pid*`, once there are `count`."""

    def written() -> list[str]:
        return [text for file in sorted(folder.glob("pid*")) if (text := file.read_text().strip())]

    await until(lambda: len(written()) == count)
    return [int(text) for text in written()]


STUBBORN = "trap '' TERM; echo $$ > pid0; while :; do sleep 0.1; done"
TWO_SLEEPERS = "sleep 100 & echo $! > pid0; sleep 100 & echo $! > pid1; wait"
ESCAPED = "setsid sh -c 'echo $$ > pid0; exec sleep 100' & sleep 100"
CLEARED = "env -i setsid sh -c 'sh -c \"echo \\$\\$ > pid0; exec sleep 100\" &' ; sleep 100"
DAEMON = "setsid sh -c 'sh -c \"echo \\$\\$ > pid0; exec sleep 100\" &' ; sleep 100"


async def test_output_and_errors_arrive_in_order_as_printed(run: Callable) -> None:
    chunks: list[bytes] = []

    ended = await run("echo a; echo b >&2; echo c; exit 3", sink=chunks.append)

    assert b"".join(chunks) == b"a\nb\nc\n"
    assert ended.exit_code == 3
    assert ended.left_running is None


async def test_output_arrives_before_the_command_ends(run: Callable, tmp_path: Path) -> None:
    chunks: list[bytes] = []

    task = run("echo first; until [ -e go ]; do sleep 0.01; done; echo last", sink=chunks.append)
    await until(lambda: chunks == [b"first\n"])
    (tmp_path / "go").touch()
    await task

    assert b"".join(chunks) == b"first\nlast\n"


async def test_standard_input_is_empty_and_there_is_no_terminal(run: Callable) -> None:
    chunks: list[bytes] = []

    await run("cat; (: < /dev/tty) 2>/dev/null || echo none; echo $TERM $PAGER", sink=chunks.append)

    assert b"".join(chunks) == b"none\ndumb cat\n"


@pytest.mark.parametrize(("text", "code"), [("kill -KILL $$", 137), ("kill -TERM $$", 143), ("no-such-program", 127)])
async def test_exit_codes_are_those_of_a_shell(text: str, code: int, run: Callable) -> None:
    assert (await run(text)).exit_code == code


async def stop(task: asyncio.Task[CommandResult]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_endless_output_is_read_in_small_pieces(run: Callable) -> None:
    freely, loop = 1_000_000, asyncio.get_running_loop()
    came: list[tuple[float, int]] = []

    task = run("yes", lambda data: came.append((loop.time(), len(data))), unthrottled=freely)
    await until(lambda: sum(size for _, size in came) > freely + 8 * PAUSE_EVERY_BYTES)
    await stop(task)

    room, pauses = freely, list[float]()
    for (moment, size), (next_moment, _) in itertools.pairwise(came[:-2]):
        room -= size
        if room <= 0:
            room = PAUSE_EVERY_BYTES
            pauses.append(next_moment - moment)
    assert len(pauses) >= 7
    assert min(pauses) >= 0.9 * PAUSE_SECONDS


async def test_all_that_is_printed_arrives_though_it_is_read_a_little_at_a_time(run: Callable) -> None:
    sizes: list[int] = []

    await run("head -c 3000000 /dev/zero", lambda data: sizes.append(len(data)), unthrottled=1)

    assert sum(sizes) == 3_000_000


@pytest.mark.parametrize(
    ("text", "count"),
    [(TWO_SLEEPERS, 2), (STUBBORN, 1), (ESCAPED, 1), (DAEMON, 1), (CLEARED, 1)],
    ids=["two", "stubborn", "setsid", "daemon", "cleared environment"],
)
async def test_cancelling_leaves_no_process_alive(text: str, count: int, run: Callable, tmp_path: Path) -> None:
    task = run(text)
    pids = await pids_in(tmp_path, count)
    assert all(is_alive(pid) for pid in pids)

    await stop(task)

    assert [pid for pid in pids if is_alive(pid)] == []


async def test_cancelling_twice_kills_at_once(run: Callable, tmp_path: Path) -> None:
    task = run(STUBBORN)
    pids = await pids_in(tmp_path, 1)

    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await until(lambda: not any(is_alive(pid) for pid in pids))


async def test_a_program_may_tidy_up_when_it_is_stopped(run: Callable) -> None:
    chunks: list[bytes] = []

    task = run("trap 'echo tidied; exit' TERM; echo ready; while :; do sleep 0.02; done", sink=chunks.append)
    await until(lambda: bool(chunks))
    await stop(task)

    assert b"".join(chunks).endswith(b"tidied\n")


async def test_a_background_process_that_holds_the_output_open_is_not_waited_for(run: Callable, tmp_path: Path) -> None:
    chunks: list[bytes] = []
    started = time.monotonic()

    ended = await run("sleep 100 & echo $! > pid0; echo started", sink=chunks.append)

    (pid,) = await pids_in(tmp_path, 1)
    assert time.monotonic() - started < 5
    assert b"".join(chunks) == b"started\n"
    assert ended.exit_code == 0
    assert is_alive(pid)
    assert ended.left_running is not None
    os.killpg(ended.left_running, 9)


async def test_all_that_was_printed_before_the_end_is_read(run: Callable) -> None:
    sizes: list[int] = []

    await run("head -c 3000000 /dev/zero", sink=lambda data: sizes.append(len(data)))

    assert sum(sizes) == 3_000_000


@pytest.mark.parametrize("text", ["a\0b", "x" * 200_000])
async def test_a_command_that_cannot_start_is_reported_and_leaks_nothing(text: str, run: Callable) -> None:
    before = open_files()

    with pytest.raises((OSError, ValueError)):
        await run(text)

    assert open_files() == before


async def test_no_file_descriptor_is_left_open(run: Callable) -> None:
    await run("true")
    before = open_files()

    await run("true")
    await stop(run("sleep 9"))

    assert open_files() == before


def test_only_keys_of_model_services_are_kept_from_a_command() -> None:
    hidden = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "anthropic_auth_token", "OPENROUTER_API_KEY", "MY_PROXY_KEY"]
    kept = ["GITHUB_TOKEN", "STRIPE_API_KEY", "OPENAI_BASE_URL", "PATH", "AWS_SECRET_ACCESS_KEY"]

    environment = command_environment(dict.fromkeys([*hidden, *kept], "x"), ["MY_PROXY_KEY"])

    assert list(environment) == [*kept, "TERM", "PAGER"]
