from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.script import Reply

from cinch_tui.screens.dialog import NOT_YET

pytestmark = pytest.mark.pty

ITERM = {"TERM_PROGRAM": "iTerm.app", "CINCH_UI_NOTIFY_AFTER_S": "0"}
AWAY, BACK = "\x1b[O", "\x1b[I"
CALLED = b"\x1b]9;cinch"
WAITS = "\x1b]9;cinch – shop: needs approval\x07".encode()
DONE = "\x1b]9;cinch – shop: finished after".encode()


def env_of(server) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"}


def writes(*names: str) -> Reply:
    return Reply(calls=[("write_file", {"path": name, "content": name}) for name in names])


def reported(server) -> str:
    return json.dumps(server.requests[-1].body["messages"], ensure_ascii=False)


def test_repeated_enter_approves_nothing(terminal, serve, project: Path):
    server = serve([writes("x"), Reply("all done")])
    cinch = terminal(env=env_of(server))
    cinch.see("anthropic/claude")

    cinch.type("go on\r")
    while "Allow once" not in cinch.text:
        cinch.type("\r")
    for _ in range(5):
        cinch.type("\r")
        cinch.read(0.05)
    cinch.miss(NOT_YET)

    assert "Allow once" in cinch.text
    assert len(server.requests) == 1
    assert not (project / "x").exists()
    cinch.answer("Allow once", "y")
    cinch.see("all done")
    assert (project / "x").exists()


def test_one_key_allows_all_calls_of_a_reply(terminal, serve, project: Path):
    server = serve([writes("one", "two", "three"), Reply("all done")])
    cinch = terminal(env=env_of(server))
    cinch.see("anthropic/claude")

    cinch.enter("go on")
    cinch.answer("1 of 3 calls", "\x1b[C")
    cinch.answer("2 of 3 calls", "\x1b[C")
    cinch.answer("3 of 3 calls", "A")
    cinch.see("all done")

    assert [name for name in ("one", "two", "three") if (project / name).exists()] == ["one", "two", "three"]


def test_second_call_is_inspected_and_denied_before_the_first(terminal, serve, project: Path):
    server = serve([writes("one", "two"), Reply("all done")])
    cinch = terminal(env=env_of(server))
    cinch.see("anthropic/claude")

    cinch.enter("go on")
    cinch.answer("1 of 2 calls", "\x1b[C")
    cinch.answer("2 of 2 calls", "n")
    cinch.answer(r"│ Write file  one", "y")
    cinch.see("all done")

    assert (project / "one").exists()
    assert not (project / "two").exists()


def test_several_questions_are_answered_in_one_dialog(terminal, serve):
    ask = {
        "questions": [
            {"prompt": "Which till?", "header": "Till", "choices": ["The red one", "The blue one"]},
            {"prompt": "Which days?", "header": "Days", "choices": ["Monday", "Friday"], "multi_select": True},
            {"prompt": "What name?", "header": "Name"},
        ]
    }
    server = serve([Reply(calls=[("ask_user", ask)]), Reply("all done")])
    cinch = terminal(env=env_of(server))
    cinch.see("anthropic/claude")

    cinch.enter("go on")
    cinch.answer("│ Which till", "2")
    cinch.answer("│ Which days", "12\r")
    cinch.answer("│ What name", "Ada\r")
    cinch.answer("Send these answers", "\r")
    cinch.see("all done")

    assert r"\"text\": \"The blue one\"" in reported(server)
    assert r"\"indexes\": [0, 1]" in reported(server)
    assert r"\"text\": \"Ada\"" in reported(server)


@pytest.mark.parametrize("call", [("ask_user", {"prompt": "Which till?"}), ("bash", {"command": "make everything"})])
def test_ctrl_q_quits_over_a_question(terminal, serve, call):
    cinch = terminal(env=env_of(serve([Reply(calls=[call])])))
    cinch.see("anthropic/claude")
    cinch.enter("go on")
    cinch.see("Which till|make everything")

    cinch.type("\x11")

    assert cinch.wait() == 0


def test_unfocused_terminal_is_notified_of_pending_input_and_of_the_end(terminal, serve):
    slow = {"pause_s": 0.3}
    server = serve([Reply("let me see", calls=writes("x").calls, **slow), Reply("now it is done", **slow)])
    cinch = terminal(env={**env_of(server), **ITERM})
    cinch.see("anthropic/claude")

    cinch.enter("go on")
    cinch.see("let me see")
    cinch.type(AWAY)
    cinch.written(WAITS)
    cinch.answer("Allow once", "y")
    cinch.see("now it is done")
    cinch.type(AWAY)
    cinch.written(DONE)

    assert cinch.raw.count(WAITS) == cinch.raw.count(DONE) == 1


def test_focused_terminal_is_not_notified(terminal, serve):
    server = serve([Reply("first done"), writes("x"), Reply("all done")])
    cinch = terminal(env={**env_of(server), **ITERM})
    cinch.see("anthropic/claude")

    cinch.type(BACK)
    cinch.enter("one")
    cinch.see("first done")
    cinch.enter("two")
    cinch.answer("Allow once", "y")
    cinch.see("all done")
    cinch.settle()

    assert CALLED not in cinch.raw
