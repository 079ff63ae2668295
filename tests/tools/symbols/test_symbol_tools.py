"""find_symbol and repo_map, with their index on disk."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import TypeAlias

import msgspec
import pytest
from fakes.workplace import Workplace

from harness.errors import CinchError, OutsideWorkspace
from tools.find_symbol import SymbolTool
from tools.repo_map import MapTool
from tools.symbols import client, indexing, repository_map, worker
from tools.symbols.lookup import SymbolQuery, SymbolResult
from tools.symbols.repository_map import MapQuery, MapResult
from tools.symbols.store import IndexDatabase, index_path, use_index

Process: TypeAlias = subprocess.Popen[bytes]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    (tmp_path / "project").mkdir()
    place = Workplace(tmp_path / "project")
    place.put("core/engine.py", "class TurboEngine:\n    def start_up(self): ...\n\ndef unused_helper(): ...\n")
    place.put("app/one.py", "from core.engine import TurboEngine\nTurboEngine().start_up()\n")
    place.put("app/two.ts", "// TurboEngine in TypeScript\nexport function runApp() { return new TurboEngine(); }\n")
    place.put("tests/test_engine.py", "class TurboEngine: ...\n")
    return place


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Process]]:
    """Processes that answer requests, started during the test."""
    started: list[Process] = []
    start = subprocess.Popen

    def watched(command: list[str], **options: object) -> Process:
        process = start(command, **options)  # pyright: ignore[reportCallIssue, reportArgumentType, reportUnknownVariableType] as they are
        if "tools.symbols.worker" in command:
            started.append(process)  # pyright: ignore[reportUnknownArgumentType]
        return process  # pyright: ignore[reportUnknownVariableType]

    monkeypatch.setattr(client, "_idle", [])
    monkeypatch.setattr(subprocess, "Popen", watched)
    yield started
    for process in started:
        process.kill()


async def test_a_definition_is_found_with_its_references(place: Workplace, cache: Path):
    called = await place.call(SymbolTool(cache), name="TurboEngine", references=True)

    assert called.lines == [
        "core/engine.py:1-2 class TurboEngine: class TurboEngine:",
        "tests/test_engine.py:1-1 class TurboEngine: class TurboEngine: ...",
        "app/one.py",
        "  1: import: from core.engine import TurboEngine",
        "  2: call: TurboEngine().start_up()",
        "app/two.ts",
        "  2: call (in runApp): export function runApp() { return new TurboEngine(); }",
        "[2 definitions, 3 references]",
    ]
    assert called.output.details == {"definitions": 2, "references": 3}


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        ({"name": "TurboEngine.start_up"}, "core/engine.py:2-2 method TurboEngine.start_up: def start_up(self): ..."),
        ({"name": "TurboEngine#start_up"}, "core/engine.py:2-2 method TurboEngine.start_up: def start_up(self): ..."),
        ({"name": "*_helper"}, "core/engine.py:4-4 function unused_helper: def unused_helper(): ..."),
        (
            {"name": "turboengine", "path": "tests"},
            "tests/test_engine.py:1-1 class TurboEngine: class TurboEngine: ...",
        ),
        ({"name": "unused", "kind": "function"}, "core/engine.py:4-4 function unused_helper: def unused_helper(): ..."),
        (
            {"name": "start_up", "path": "core/engine.py"},
            "core/engine.py:2-2 method TurboEngine.start_up: def start_up",
        ),
        (
            {"name": "TurboEngine", "kind": "function"},
            "No function definition in . is named TurboEngine (4 source files)",
        ),
    ],
)
async def test_names_may_be_qualified_globs_or_similar(
    place: Workplace, cache: Path, arguments: dict[str, str], first: str
):
    called = await place.call(SymbolTool(cache), **arguments)

    assert called.lines[0].startswith(first)


async def test_types_and_functions_come_before_methods_of_the_same_name(place: Workplace, cache: Path):
    place.put("app/a.py", "class Garage:\n    def TurboEngine(self): ...\n")

    called = await place.call(SymbolTool(cache), name="TurboEngine")

    assert [line.partition(":")[0] for line in called.lines[:3]] == [
        "core/engine.py",
        "app/a.py",
        "tests/test_engine.py",
    ]


async def test_pages_of_symbols_follow_each_other(place: Workplace, cache: Path):
    tool = SymbolTool(cache)
    whole = await place.call(tool, name="TurboEngine", references=True)

    first = await place.call(tool, name="TurboEngine", references=True, limit=3)
    second = await place.call(tool, name="TurboEngine", references=True, limit=3, offset=3)

    assert first.lines[-1] == "[1 to 3 of 2 definitions, 3 references; next page: offset=3]"
    assert second.lines[-1] == "[4 to 5 of 2 definitions, 3 references]"
    assert whole.lines[:4] == first.lines[:4]
    assert whole.lines[4] in second.lines


async def test_map_shows_what_is_referred_to_most_within_its_limit(place: Workplace, cache: Path):
    for number in range(40):
        place.put(f"lib/part{number}.py", f"class LonelyPart{number}: ...\nfrom core.engine import TurboEngine\n")

    called = await place.call(MapTool(cache), max_tokens=100)

    assert called.lines[:3] == ["core/engine.py", "  1: class TurboEngine:", "    2: def start_up(self): ..."]
    assert len(called.text) < 600
    assert called.lines[-1].endswith("of 44 source files; pass path, focus or max_tokens to see others]")


async def test_focus_moves_its_files_and_names_up(place: Workplace, cache: Path):
    for number in range(40):
        place.put(f"lib/part{number}.py", f"class LonelyPart{number}: ...\nfrom core.engine import TurboEngine\n")

    by_file = await place.call(MapTool(cache), max_tokens=100, focus=["lib/part7.py"])
    by_name = await place.call(MapTool(cache), max_tokens=100, focus=["LonelyPart9"])

    assert "  1: class LonelyPart7: ..." in by_file.lines
    assert "  1: class LonelyPart9: ..." in by_name.lines


async def test_secrets_ignored_vendored_generated_and_linked_files_are_left_out(
    place: Workplace, cache: Path, tmp_path: Path
):
    place.put(".gitignore", "build/\n")
    (tmp_path / "outside.py").write_text("class HiddenThing: ...\n")
    (place.root / "link.py").symlink_to(tmp_path / "outside.py")
    os.mkfifo(place.root / "pipe.py")
    for path in (
        "build/a.py",
        "node_modules/a/a.js",
        "vendor/a.go",
        ".ssh/a.py",
        ".SSH/b.py",
        "．ssh/c.py",
        "api_pb2.py",
    ):
        place.put(path, "class HiddenThing: ...\n")
    place.put("made.py", "# Code generated by a tool. DO NOT EDIT.\nclass HiddenThing: ...\n")
    place.put("large.py", "class HiddenThing: ...\n" + "x = 1\n" * 100_000)

    found = await place.call(SymbolTool(cache), name="HiddenThing")

    assert found.lines[0].startswith("No definition in . is named HiddenThing")


async def test_changed_added_and_removed_files_are_noticed(place: Workplace, cache: Path):
    tool = SymbolTool(cache)
    await place.call(tool, name="TurboEngine")

    place.put("core/engine.py", "\n\nclass TurboEngine: ...\n")
    place.put("core/other.py", "def TurboEngine(): ...\n")
    (place.root / "tests/test_engine.py").unlink()
    called = await place.call(tool, name="TurboEngine")

    assert [line.partition(" ")[0] for line in called.lines[:-1]] == ["core/engine.py:3-3", "core/other.py:1-1"]


async def test_a_file_that_is_as_it_was_two_calls_ago_is_noticed(place: Workplace, cache: Path):
    tool, file = SymbolTool(cache), place.put("core/part.py", "class Flywheel: ...\n")
    os.utime(file, (1, 1))
    first = await place.call(tool, name="Flywheel", path="core")
    file.write_text("class Crankshaft: ...\n")
    await place.call(tool, name="Flywheel")
    file.write_text("class Flywheel: ...\n")
    os.utime(file, (1, 1))

    again = await place.call(tool, name="Flywheel", path="core")

    assert again.lines == first.lines
    assert first.lines[0].startswith("core/part.py:1-1")


@pytest.mark.parametrize("content", [b"", b"no database" * 1000, None])
async def test_a_damaged_index_is_built_anew(place: Workplace, cache: Path, content: bytes | None):
    tool = SymbolTool(cache)
    before = await place.call(tool, name="TurboEngine")
    index = index_path(cache, str(place.root))
    data = index.read_bytes()
    index.write_bytes(data[: len(data) // 2] if content is None else content)

    during = await place.call(tool, name="TurboEngine")
    after = await place.call(tool, name="TurboEngine")

    assert before.lines == during.lines == after.lines


@pytest.mark.parametrize("folder", [None, "/dev/null/cache"])
async def test_without_a_usable_cache_files_are_read_each_time(place: Workplace, folder: str | None):
    called = await place.call(SymbolTool(Path(folder) if folder else None), name="unused_helper")

    assert called.lines[-1] == "[1 definition]"


async def test_calls_at_once_share_the_index(place: Workplace, cache: Path):
    for number in range(200):
        place.put(f"many/m{number}.py", f"def function_{number}(): ...\n" * 50)
    tool = SymbolTool(cache)

    called = await asyncio.gather(*(place.call(tool, name=f"function_{number}", limit=1) for number in (0, 7, 199)))

    assert [each.lines[0].partition(":")[0] for each in called] == ["many/m0.py", "many/m7.py", "many/m199.py"]


async def test_a_cancelled_call_leaves_no_process(place: Workplace, cache: Path, workers: list[Process]):
    call = asyncio.create_task(place.call(MapTool(cache)))
    while not workers:
        await asyncio.sleep(0)
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert workers[0].wait(10) == -signal.SIGKILL


async def test_calls_use_the_same_process_until_it_ends(place: Workplace, cache: Path, workers: list[Process]):
    for _ in range(2):
        await place.call(MapTool(cache))
        await place.call(SymbolTool(cache), name="TurboEngine")
    assert len(workers) == 1

    workers[0].kill()
    await asyncio.to_thread(workers[0].wait)
    called = await place.call(SymbolTool(cache), name="TurboEngine")
    assert "TurboEngine" in called.lines[0]
    assert len(workers) == 2


def test_the_process_ends_when_it_has_been_idle(monkeypatch: pytest.MonkeyPatch):
    reading, writing = os.pipe()
    monkeypatch.setattr(worker, "IDLE_S", 0.01)
    with os.fdopen(reading) as requests, os.fdopen(writing, "w"):
        monkeypatch.setattr(sys, "stdin", requests)
        worker.main()


def test_a_map_of_many_new_files_is_a_draft_that_is_completed_between_requests(
    place: Workplace, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    place.put("app/odd.py", "TEXT = 'class MissingThing'\nTurboEngine\n")
    place.put("app/user.py", "MissingThing()\n" * 9)
    names = [path.relative_to(place.root).as_posix() for path in place.root.rglob("*.*")]
    request = worker.Request(str(place.root), "", names, MapQuery((), 2_000, may_be_draft=True), str(cache))
    monkeypatch.setattr(repository_map, "_MUCH", 100)
    monkeypatch.setattr(repository_map, "_DRAFT_FILES", 3)
    (reading, requests), (responses, writing) = os.pipe(), os.pipe()

    answers: list[MapResult] = []
    with os.fdopen(reading) as stdin, os.fdopen(writing, "w") as stdout, os.fdopen(responses, "rb") as answering:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stdout", stdout)
        process = Thread(target=worker.main, daemon=True)
        process.start()
        with os.fdopen(requests, "wb") as asking:
            for _ in range(2):
                worker.write_message(asking, request)
                answers.append(msgspec.msgpack.decode(worker.read_message(answering), type=MapResult))
        process.join(10)

    draft, complete = answers
    assert (draft.is_draft, complete.is_draft) == (True, False)
    assert draft.files[0] == complete.files[0]
    assert draft.files[0].lines[:2] == ["1: class TurboEngine:", "  2: def start_up(self): ..."]
    assert "MissingThing" not in str(draft.files)
    assert len(draft.files) < len(complete.files)


def niceness_of(batch: object) -> int:
    del batch
    return os.nice(0)


def test_processes_between_requests_give_way_to_others(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)

    asked, between = (
        set(indexing._in_processes(niceness_of, [[]] * 20, niceness)) for niceness in (0, worker.BACKGROUND_NICENESS)
    )

    own = os.nice(0)
    assert (asked, between) == ({own}, {min(own + 10, 19)})


def test_a_symbol_is_found_without_parsing_files_that_do_not_mention_it(place: Workplace, cache: Path):
    names = [path.relative_to(place.root).as_posix() for path in place.root.rglob("*.*")]

    def search(name: str) -> list[str]:
        query = SymbolQuery(name, None, with_references=False, offset=0, limit=9)
        found = worker.answer(worker.Request(str(place.root), "", names, query, str(cache)))
        assert isinstance(found, SymbolResult)
        return [each.path for each in found.definitions]

    def unparsed() -> list[str]:
        return use_index(cache, str(place.root), IndexDatabase.unparsed)

    place.put("app/größe.py", "class ÄußereGröße: ...\n")
    names.append("app/größe.py")
    assert search("ÄußereGröße") == ["app/größe.py"]
    assert search("runapp") == ["app/two.ts"]
    assert unparsed() == ["app/one.py", "core/engine.py", "tests/test_engine.py"]
    assert search("*_Help[a-f]r") == []
    assert search("*_help[a-f]r") == ["core/engine.py"]
    assert unparsed() == ["app/one.py", "tests/test_engine.py"]
    assert search("?") == []
    assert unparsed() == []


async def test_a_process_that_fails_is_reported_and_replaced(place: Workplace, cache: Path, workers: list[Process]):
    await place.call(MapTool(cache))
    os.kill(workers[0].pid, signal.SIGSTOP)
    call = asyncio.create_task(place.call(MapTool(cache)))
    await asyncio.sleep(0.05)
    workers[0].kill()

    with pytest.raises(CinchError, match="the process ended with -9"):
        await call
    assert (await place.call(MapTool(cache))).lines


async def test_errors_name_the_problem(place: Workplace, cache: Path):
    with pytest.raises(OutsideWorkspace):
        await place.call(MapTool(cache), path="/etc")
    with pytest.raises(CinchError, match="give a folder"):
        await place.call(MapTool(cache), path="core/engine.py")
    with pytest.raises(CinchError, match=r"missing|not found|exist"):
        await place.call(SymbolTool(cache), name="x", path="nowhere")
    place.put("docs/a.md", "# Nothing\n")
    assert (await place.call(MapTool(cache), path="docs")).lines == [
        "No source files with definitions were found in docs."
    ]
