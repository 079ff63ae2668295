from __future__ import annotations

import asyncio
import shutil
import sys
import time
from pathlib import Path

import pytest
from fakes.language_servers import code_tools, raw_server
from msgspec.structs import replace

from harness.views import DiffView
from tools.lsp import diagnostics
from tools.lsp.edit_check import MAX_LINES
from tools.lsp.options import LanguageServer


def ruff() -> LanguageServer:
    program = shutil.which("ruff", path=str(Path(sys.executable).parent)) or "ruff"
    return LanguageServer({"*.py": "python"}, (program, "server"), "ruff")


async def test_edit_reports_only_errors_that_are_new(tmp_path: Path) -> None:
    async with code_tools(tmp_path, raw_server(mode="lint"), edit_wait_s=10) as tools:
        tools.place.put("a.txt", "bad x\nodd\nend\n")

        # The file was not open: its errors before the edit are found out first.
        harmless = await tools.edit("a.txt", "bad x", "new line\nbad x")
        worse = await tools.edit("a.txt", "end", "bad x\nbad y\nodd\nend")
        better = await tools.edit("a.txt", "bad y\n", "")
        listed = await tools.ask("diagnostics")

    assert harmless.lines == ["Edited a.txt: 1 place, now lines 1–2."]
    assert worse.lines[1:] == [
        "New errors after this edit:",
        "a.txt:4: error: bad x is bad [raw]",
        "a.txt:5: error: bad y is bad [raw]",
    ]
    assert isinstance(worse.output.view, DiffView)
    assert worse.output.view.problems == "\n".join(worse.lines[1:])
    assert len(better.lines) == 1
    assert [line.partition(" ")[0] for line in listed.lines] == ["a.txt:2:", "a.txt:3:", "a.txt:4:", "a.txt:5:"]


async def test_errors_of_a_new_file_are_limited(tmp_path: Path) -> None:
    async with code_tools(tmp_path, raw_server(mode="lint"), edit_wait_s=10) as tools:
        written = await tools.write("a.txt", "".join(f"bad {number}\n" for number in range(100)))

    assert len(written.lines) == 1 + 1 + MAX_LINES + 1
    assert written.lines[-1] == "[80 more; the lsp tool lists all]"


async def test_errors_that_arrive_late_are_reported_after_the_next_edit(tmp_path: Path) -> None:
    async with code_tools(tmp_path, raw_server(mode="lint"), edit_wait_s=0) as tools:
        tools.place.put("a.txt", "x\n")
        tools.place.put("b.unknown", "x\n")
        first = await tools.edit("a.txt", "x", "bad")
        await asyncio.wait(list(tools.check._running))

        second = await tools.edit("b.unknown", "x", "y")

    assert len(first.lines) == 1
    assert second.lines[1:] == ["New errors after this edit:", "a.txt:1: error: bad is bad [raw]"]


@pytest.mark.requires_module("ruff")
async def test_several_servers_check_an_edit(tmp_path: Path) -> None:
    linter = replace(raw_server("lint", mode="lint"), files={"*.py": "python"}, languages=())
    async with code_tools(tmp_path, ruff(), linter, edit_wait_s=10) as tools:
        tools.place.put("a.py", "x = 1\n")

        edited = await tools.edit("a.py", "x = 1", "x = bad")

    # ruff answers requests instead of publishing.
    assert edited.lines[2:] == [
        "a.py:1: error: x = bad is bad [lint]",
        "a.py:1: error: Undefined name `bad` [Ruff F821]",
    ]


async def test_slow_server_delays_an_edit_only_for_a_moment(tmp_path: Path) -> None:
    async with code_tools(tmp_path, raw_server(mode="hang")) as tools:
        tools.place.put("a.txt", "old\n")

        edited = await tools.edit("a.txt", "old", "new")

        assert edited.lines == ["Edited a.txt: 1 place, now line 1."]
        assert tools.check._running


async def test_server_that_hangs_delays_only_the_first_edit(tmp_path: Path) -> None:
    async with code_tools(tmp_path, raw_server(mode="hang"), edit_wait_s=0.5) as tools:
        tools.place.put("a.txt", "old\n")
        started = time.monotonic()
        await tools.edit("a.txt", "old", "new")
        after_first = time.monotonic()
        for _ in range(5):
            await tools.edit("a.txt", "new", "newer new")
        after_all = time.monotonic()

    assert 0.5 <= after_first - started < 2
    assert after_all - after_first < 1


async def test_server_that_publishes_changes_only_is_not_waited_for_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnostics, "_SILENCE_S", 0.2)
    async with code_tools(tmp_path, raw_server(mode="lint changes"), edit_wait_s=20) as tools:
        tools.place.put("a.txt", "good\n")

        started = time.monotonic()
        harmless = await tools.edit("a.txt", "good", "better")
        clean = await tools.ask("diagnostics", "a.txt")
        worse = await tools.edit("a.txt", "better", "bad")

    assert len(harmless.lines) == 1
    assert clean.text.startswith("No errors")
    assert worse.lines[2:] == ["a.txt:1: error: bad is bad [raw]"]
    assert time.monotonic() - started < 15


async def test_errors_that_a_server_publishes_in_steps_are_complete(tmp_path: Path) -> None:
    async with code_tools(tmp_path, raw_server(mode="lint in steps"), edit_wait_s=20) as tools:
        tools.place.put("a.txt", "bad x\ngood\n")

        edited = await tools.edit("a.txt", "good", "bad y")

    assert edited.lines[2:] == ["a.txt:2: error: bad y is bad [raw]"]


async def test_edit_without_a_server_starts_nothing(tmp_path: Path) -> None:
    async with code_tools(tmp_path) as tools:
        tools.place.put("a.txt", "old\n")
        tools.place.put("b.py", "old\n")

        edited = [await tools.edit("a.txt", "old", "new"), await tools.edit("b.py", "old", "new")]

        assert [len(each.lines) for each in edited] == [1, 1]
        assert not tools.servers._running


async def test_check_of_a_broken_server_leaves_the_edit_alone(tmp_path: Path) -> None:
    async with code_tools(tmp_path, raw_server(mode="die")) as tools:
        tools.place.put("a.txt", "old\n")

        edited = await tools.edit("a.txt", "old", "new")

    assert edited.lines == ["Edited a.txt: 1 place, now line 1."]
