from __future__ import annotations

import re
import threading
from collections.abc import Callable
from colorsys import rgb_to_hsv
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from e2e.terminal import Terminal
from fakes.script import Hang, Item, Reply

from harness.messages import Usage

pytestmark = pytest.mark.pty

StartTerminal: TypeAlias = Callable[..., Terminal]

WORDS = " ".join(f"w{number:03}" for number in range(60))
TREE = "def total(prices, discount=0):\n    return sum(prices) * (1 - discount / 100)\n"
WRITE: tuple[str, Any] = ("write_file", {"path": "till/receipt.py", "content": TREE})
READ: tuple[str, Any] = ("read_file", {"path": "till/receipt.py"})
WINDOW = 200_000
"""Context window of HAIKU, and of an unknown model: the figure must not depend on when the price data is loaded."""
HAIKU = "anthropic/claude-haiku-4-5"
WIDER = "anthropic/claude-sonnet-4-6"
"""Model with a five times larger context window."""


def said(app: Terminal, number: int) -> str:
    """Return the last user message of a request."""
    content = app.server.requests[number].body["messages"][-1]["content"]
    return content if isinstance(content, str) else content[-1]["text"]


def row_of(screen: str, words: str) -> str:
    return next(line for line in screen.split("\n") if words in line)


def hue(colour: str) -> str:
    """Return which of the three gauge colours a hexadecimal colour is."""
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (0, 2, 4))
    degrees = rgb_to_hsv(red, green, blue)[0] * 360
    return "green" if 80 < degrees < 170 else "yellow" if 30 < degrees < 65 else "red" if not 20 < degrees < 330 else ""


def test_partial_reply_is_visible_while_streaming(cinch: StartTerminal):
    app = cinch([Hang(Reply("The first words of a reply that never ends"), after_events=6)])

    app.enter("hello")

    app.see("The first words")
    assert "RUNNING" in app.text


def test_multiline_prompt_is_typed_and_sent_with_enter(cinch: StartTerminal):
    newlines = {"Ctrl+J": "\n", "Shift+Enter": "\x1b[13;2u", "a backslash": "\\\r"}
    app = cinch([Reply(f"heard {name}.") for name in newlines])

    for number, (name, newline) in enumerate(newlines.items()):
        app.type(f"first line{newline}line {number}")
        app.see(f"│ +line {number}")
        app.type("\r")
        app.see(re.escape(f"heard {name}."))

        assert said(app, number) == f"first line\nline {number}"


def test_keys_stop_the_agent_visibly_and_the_next_prompt_works(cinch: StartTerminal):
    held = Hang(Reply("half of it and no more"), after_events=5)
    app = cinch([held, Reply("at your service"), held, Reply("once again")])

    for key, prompt, answer in (("\x1b", "first", "at your service"), ("\x03", "second", "once again")):
        app.enter(f"{prompt} request")
        app.see(rf"{prompt} request(.|\n)*half of")
        app.type(key)
        app.see(rf"{prompt} request(.|\n)*\[ABORTED\]")
        app.enter(f"{prompt} question")
        app.see(answer)


def test_tools_are_shown_while_running_and_with_their_result(cinch: StartTerminal, project: Path):
    calls: list[Any] = [("bash", {"command": "while [ ! -e go ]; do sleep 0.05; done; echo it has gone"})]
    app = cinch([Reply(calls=calls), Reply("all done")], env={"CINCH_APPROVAL_MODE": "off"})

    app.enter("wait for it")
    app.see(r"● Run command while.*\d\d:\d\d")
    (project / "go").touch()

    app.see(r"✓ Run command while(.|\n)*it has gone")
    app.see("all done")


def test_layout_adapts_to_the_terminal_size_and_loses_nothing(cinch: StartTerminal):
    app = cinch([Reply(WORDS)], columns=160, rows=30)
    app.enter("count")
    assert len(row_of(app.see("w059"), "w000").split()) > 20

    app.resize(60, 30)
    app.settle()

    narrow = app.see("w059")
    assert len(row_of(narrow, "w000").split()) < 14
    assert re.findall(r"w\d{3}", narrow) == WORDS.split()
    assert all(len(line) <= 60 for line in narrow.split("\n"))
    app.resize(160, 30)
    assert len(row_of(app.see("w000.*w020"), "w000").split()) > 20


@pytest.mark.parametrize(("columns", "is_split"), [(120, False), (170, True)])
def test_diff_is_side_by_side_if_there_is_space(cinch: StartTerminal, columns: int, is_split: bool):
    app = cinch([Reply(calls=[READ]), Reply(calls=[WRITE]), Reply("all done")], columns=columns, rows=40)

    app.enter("fix it")
    screen = app.see("Allow once")

    row = row_of(screen, "(1 - discount / 100)")
    assert ("(1 - discount)" in row) is is_split
    app.answer("Allow once", "y")
    app.see("all done")


def test_finished_call_collapses_to_a_line_and_expands_by_key(cinch: StartTerminal):
    calls: list[Any] = [("bash", {"command": "seq 41 43"})]
    app = cinch([Reply(calls=calls), Reply("all done")], env={"CINCH_APPROVAL_MODE": "off"})

    app.enter("count")
    app.see(r"▾ ✓ Run command seq 41 43(.|\n)*41\n")
    app.see(r"▸ ✓ Run command seq 41 43")
    app.miss(r"\n +42\n")
    app.type("\x1b[1;2D")
    app.see("Run command")
    app.type("\x1bOQ")

    app.see(r"▾ ✓ Run command seq 41 43(.|\n)*42\n")


def test_gauge_changes_colour_at_the_end_of_a_turn(cinch: StartTerminal):
    percents = (59, 60, 84, 86)
    replies = [Reply(f"turn {percent}", usage=Usage(input=percent * WINDOW // 100)) for percent in percents]
    held = Hang(Reply("held back", usage=Usage(input=WINDOW // 10)), after_events=4)
    app = cinch([*replies, held], "-m", HAIKU)
    colours: list[str] = []
    for percent in percents:
        app.enter(f"say {percent}")
        app.see(rf"█ *░* +{percent}%")
        colours.append(hue(app.colour_of("█")))

    app.enter("and now")
    app.see("held")

    assert colours == ["green", "yellow", "yellow", "red"]
    assert "86%" in app.text


@pytest.mark.parametrize(("model", "percent"), [(HAIKU, 60), (WIDER, 12)])
def test_gauge_is_relative_to_the_context_window(cinch: StartTerminal, own_home: Path, model: str, percent: int):
    # Not the cache of other tests: the price data is loaded during the session.
    (own_home / "cinch" / "cache" / "prices").unlink()
    app = cinch([Reply(f"turn {number}", usage=Usage(input=120_000)) for number in range(2)], "-m", model)
    app.enter("go on")
    app.see("turn 0")
    app.until(lambda: list(own_home.rglob("prices/*.json")), "the price data to be read")

    app.enter("and on")
    app.see("turn 1")

    app.see(rf"█ *░* +{percent}%")


def test_scroll_position_is_kept_with_a_new_content_marker(cinch: StartTerminal):
    gate = threading.Event()
    calls: list[Any] = [("bash", {"command": f"sleep 0.{number}; expr 70 + {number}"}) for number in (3, 2, 1)]
    replies = iter([Reply("\n\n".join(f"line {number}" for number in range(60))), Reply(calls=calls), Reply(WORDS * 9)])

    def answer(body: dict[str, Any]) -> Item:
        reply = next(replies)
        if reply.text.startswith("w000"):
            gate.wait(20)
        return reply

    app = cinch(answer, env={"CINCH_APPROVAL_MODE": "off"})
    app.enter("hello")
    app.see("line 59")
    app.enter("run the three")
    for number in (3, 2, 1):
        app.see(rf"▸ ✓ Run command sleep 0\.{number}; expr 70 \+ {number} +7{number}\b")
    app.type("\x1b[5~\x1b[5~")
    before = app.miss("Run command")
    top = before.split("\n")[0]
    gate.set()

    app.see(r"↓ \d+ new lines? · Ctrl\+End")
    app.type("q")

    screen = app.see("│ q ")
    assert screen.split("\n")[0] == top
    assert app.text.count("w000") == 0
