"""Slow, hanging and failing disks, exhausted descriptors, clocks and processes that stop."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from fakes.model_server import Hang, ModelServer, Reply
from fakes.runs import calls
from fakes.simple_tools import SimpleTool
from fakes.talk import call, reply, result, tell, tour, written
from msgspec.structs import replace

from harness.events import MessageEnd, SubagentEvent, ToolExecutionStart
from harness.messages import Text, new_id, user
from harness.ports.provider import Model
from harness.ports.tool import ToolOutput
from harness.session.doctor import examine
from harness.session.notes import RewindNote
from harness.session.recorder import SessionRecorder
from harness.session.records import to_bytes
from harness.session.resume import load_session
from harness.session.threaded_journal import DiskThread
from providers.demo import scripted

ROOT = Path(__file__).parents[2]
DESCRIPTORS = Path("/proc/self/fd")

NO_DESCRIPTORS = """
import os, resource, sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/tests"]
from fakes.talk import reply, tell
from harness.messages import user
from harness.session.recorder import SessionRecorder
from harness.session.resume import load_session
problems = []
recorder = SessionRecorder(Path(sys.argv[2]), Path(sys.argv[2]), sys.argv[3], on_problem=problems.append)
open_one = SessionRecorder(Path(sys.argv[2]), Path(sys.argv[2]), sys.argv[4], on_problem=problems.append)
tell(open_one, user("before"))
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
taken = []
try:
    while True:
        taken.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
tell(open_one, user("without a free descriptor"))
assert not problems, problems
tell(recorder, user("one"), reply("two"))
assert len(problems) == 1 and "Too many open files" in problems[0], problems
for descriptor in taken:
    os.close(descriptor)
tell(recorder, user("three"))
assert len(problems) == 2 and "saved again" in problems[1], problems
recorder.close()
open_one.close()
assert [message.text for message in load_session(recorder.path).messages] == ["one", "two", "three"]
assert len(load_session(open_one.path).messages) == 2
print("ok")
"""


def file_of(fd: int) -> Path:
    return (DESCRIPTORS / str(fd)).readlink()


class SlowDisk:
    """Delays writes to session files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self._write, self._seconds = os.write, seconds
        monkeypatch.setattr(os, "write", self.write)

    def write(self, fd: int, data: bytes) -> int:
        if file_of(fd).suffix == ".jsonl":
            time.sleep(self._seconds)
        return self._write(fd, data)


def texts(path: Path) -> list[str]:
    return [message.text for message in load_session(path).messages]  # type: ignore[union-attr]  # none is custom


def types(path: Path) -> list[str]:
    return [json.loads(line)["type"] for line in path.read_bytes().splitlines()]


async def test_slow_disk_blocks_the_event_loop_for_a_moment_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    recorder = SessionRecorder(tmp_path, tmp_path, new_id())
    tell(recorder, user("first"))
    SlowDisk(monkeypatch, 0.4)

    began = time.monotonic()
    for number in range(3):
        recorder.store(MessageEnd(message=user(f"prompt {number}")))
    blocked = time.monotonic() - began
    await recorder.drain()

    assert blocked < 0.35
    assert texts(recorder.path) == ["first", *(f"prompt {number}" for number in range(3))]
    monkeypatch.undo()
    recorder.close()


async def test_slow_disk_has_the_prompt_before_the_request_and_the_call_before_its_effect(
    make_agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    seen: dict[str, list[str]] = {}

    async def look(arguments, context) -> ToolOutput:
        seen["call"] = types(recorder.path)
        return ToolOutput((Text("done"),))

    model = scripted(calls("look"), "fine")
    inner = model.provider.stream

    class Observing:
        name = "observing"

        async def stream(self, request):
            seen.setdefault("request", types(recorder.path))
            seen["last"] = types(recorder.path)
            async for delta in inner(request):
                yield delta

        async def close(self) -> None: ...

    agent = make_agent(model=Model(Observing(), model.spec, model.info), tools=[SimpleTool("look", look)])
    recorder = SessionRecorder(tmp_path / "data", tmp_path, agent.session_id)
    agent.subscribe(recorder.store)
    agent.add_drain(recorder.drain)
    SlowDisk(monkeypatch, 0.08)

    await agent.prompt("go")

    assert "user" in seen["request"]
    assert seen["call"][-1] == "cinch-call"
    assert seen["last"].count("user") == 2  # with the result of the call
    assert types(recorder.path).count("assistant") == 2
    monkeypatch.undo()
    recorder.close()


async def test_disk_that_does_not_respond_is_reported_and_not_waited_for_again():
    problems: list[str] = []
    responds = threading.Event()
    disk = DiskThread(problems.append)
    disk.do(responds.wait)

    await disk.drain(0.02)
    began = time.monotonic()
    await disk.drain()
    assert time.monotonic() - began < 1
    assert problems == ["The disk has not responded for 0.02 seconds. The session is kept in memory."]
    responds.set()
    async with asyncio.timeout(5):
        while len(problems) < 2:
            await asyncio.sleep(0.001)

    assert problems[1] == "The session is saved again; nothing is missing."
    disk.close()


def test_new_file_is_flushed_to_disk_before_its_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    flushed: list[Path] = []
    flush = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (flushed.append(file_of(fd)), flush(fd)))

    path = written(tmp_path, *tour())

    folders = [path.parent, path.parent.parent, path.parent.parent.parent, tmp_path]
    assert flushed[0] == path
    assert set(flushed[1:]) >= set(folders)
    flushed.clear()
    recorder = SessionRecorder(tmp_path / "data", tmp_path, path.stem, resumed=load_session(path))
    tell(recorder, user("again"))
    recorder.close()
    assert set(flushed) == {path}


def test_no_free_descriptor_is_reported_and_nothing_is_lost(tmp_path: Path):
    command = [sys.executable, "-c", NO_DESCRIPTORS, str(ROOT), str(tmp_path), new_id(), new_id()]

    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)

    assert done.stdout == "ok\n", done.stderr


def test_messages_keep_their_order_when_the_clock_goes_backwards(tmp_path: Path):
    recorder = SessionRecorder(tmp_path, tmp_path, new_id())
    now = time.time()
    for number in range(4):
        tell(recorder, replace(user(f"{number}"), time=now - 3600 * number))
    recorder.close()

    assert texts(recorder.path) == ["0", "1", "2", "3"]


def test_open_calls_anywhere_have_results_in_the_file_after_the_next_start(tmp_path: Path):
    path = written(
        tmp_path,
        user("go"),
        reply(call("x")),
        user("never mind"),
        reply(call("a"), call("b")),
        result("b"),
        reply("ok"),
    )
    before = texts(path)

    recorder = SessionRecorder(tmp_path / "data", tmp_path, path.stem, resumed=load_session(path))
    recorder.acquire()
    recorder.close()

    found = examine(path)
    assert found.healthy, found
    assert [text for text in texts(path) if "not executed" not in text] == before
    assert texts(path)[-1] == "ok"
    assert load_session(path).last_uuid == load_session(path).messages[-1].id
    size = path.stat().st_size
    again = SessionRecorder(tmp_path / "data", tmp_path, path.stem, resumed=load_session(path))
    again.acquire()
    again.close()
    assert path.stat().st_size == size


def test_results_of_open_calls_do_not_undo_a_rewind(tmp_path: Path):
    path = written(tmp_path, user("go"), reply(call("x")), user("one"), reply("two"), user("dropped"))
    place = next(message.id for message in load_session(path).messages if message.text == "two")
    with path.open("ab") as file:
        file.write(to_bytes(RewindNote(leaf=place)))

    recorder = SessionRecorder(tmp_path / "data", tmp_path, path.stem, resumed=load_session(path))
    recorder.acquire()
    recorder.close()

    assert texts(path)[-2:] == ["one", "two"]


def test_open_calls_of_subagents_have_results_after_the_next_start(tmp_path: Path):
    recorder = SessionRecorder(tmp_path / "data", tmp_path, new_id())
    agent_id = f"{new_id()}.sub.1"
    tell(recorder, user("go"), reply(call("d", "delegate_subagent")))
    recorder.store(ToolExecutionStart(call=call("d", "delegate_subagent"), label="", summary=""))
    for event in (
        MessageEnd(message=user("task"), run_id=agent_id),
        MessageEnd(message=reply(call("x")), run_id=agent_id),
        ToolExecutionStart(call=call("x"), label="", summary="", run_id=agent_id),
    ):
        recorder.store(SubagentEvent(call_id="d", event=event))
    recorder.close()
    (subagent,) = recorder.path.with_suffix("").glob("subagents/*.jsonl")
    assert [each.path for each in examine(recorder.path).subagents] == [subagent]
    assert [each.call_id for each in examine(subagent).unanswered] == ["x"]

    resumed = SessionRecorder(tmp_path / "data", tmp_path, recorder.path.stem, resumed=load_session(recorder.path))
    resumed.acquire()
    resumed.close()

    assert examine(recorder.path).healthy
    assert "may have been executed" in load_session(subagent).messages[-1].text  # type: ignore[union-attr]


def test_laptop_asleep_in_mid_stream_loses_nothing_and_the_reply_is_requested_again(tmp_path: Path):
    script = [Hang(Reply("Half of an answer that never ends"), after_events=6), Reply("The whole answer.")]
    with ModelServer(script) as server:
        env = {**os.environ, "ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": server.url}
        command = [sys.executable, "-m", "cinch_tui", "-p", "-m", "anthropic/fake-model", "--output-format", "events"]
        with subprocess.Popen(
            [*command, "hi"], cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout
            while "message_update" not in process.stdout.readline():
                pass
            process.send_signal(signal.SIGSTOP)
            server.let_go()
            process.send_signal(signal.SIGCONT)
            events = [json.loads(line) for line in process.stdout]

    assert process.returncode == 0
    assert [event["type"] for event in events].count("message_discarded") == 1
    (path,) = Path(os.environ["CINCH_HOME"]).glob("**/projects/*/*.jsonl")
    assert texts(path) == ["hi", "The whole answer."]
    assert examine(path).healthy
