from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.processes import is_alive
from fakes.runs import until

from cinch_tui.controller import status_command as status_command
from cinch_tui.controller.status_command import StatusCommand
from cinch_tui.terminal.window_title import WindowTitle


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def test_first_line_of_what_it_makes_of_the_facts_is_shown(tmp_path: Path, clock: Clock):
    command = StatusCommand("cat > facts; echo one; echo two", tmp_path, 5, clock)

    line = await command.line({"model": "a/b", "cost_usd": None})

    assert line == "one"
    assert json.loads((tmp_path / "facts").read_text()) == {"model": "a/b", "cost_usd": None}


async def test_it_runs_no_more_often_than_set(tmp_path: Path, clock: Clock):
    command = StatusCommand("echo x", tmp_path, 5, clock)

    lines = [await command.line({})]
    clock.now += 4.9
    lines.append(await command.line({}))
    clock.now += 0.2
    lines.append(await command.line({}))

    assert lines == ["x", None, "x"]


async def test_one_that_does_not_end_is_killed_with_its_children(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(status_command, "TIMEOUT_S", 0.3)
    command = StatusCommand("sleep 60 & echo $! > child; wait", tmp_path, 5, clock)

    line = await command.line({})

    assert line is None
    child = int((tmp_path / "child").read_text())
    # The system ends a killed process a moment later.
    await until(lambda: not is_alive(child))


@pytest.mark.parametrize(
    ("text", "shown"), [("exit 3", ""), ("no-such-command", ""), ("head -c 200000 /dev/zero", None)]
)
async def test_one_that_fails_shows_nothing(tmp_path: Path, clock: Clock, text: str, shown: str | None):
    assert await StatusCommand(text, tmp_path, 5, clock).line({}) == shown


async def test_one_that_reads_nothing_is_shown(tmp_path: Path, clock: Clock):
    facts = {"model": "m" * 1_000_000}

    assert await StatusCommand("exec 0<&-; echo x", tmp_path, 5, clock).line(facts) == "x"


def test_title_names_project_and_state_and_nothing_a_terminal_obeys():
    title = WindowTitle("a\x1bb\n", is_wanted=True)

    assert title.showing("running") == "\x1b]2;a␛b – working – cinch\x07"
    assert title.entering == "\x1b[22;2t\x1b]2;a␛b – cinch\x07"
    assert title.leaving == "\x1b[23;2t"


def test_no_title_writes_nothing():
    title = WindowTitle("a", is_wanted=False)

    assert title.entering + title.showing("running") + title.leaving == ""
