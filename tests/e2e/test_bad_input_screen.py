from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from e2e.terminal import Terminal
from fakes.script import Cut, Failure, Hang, Reply

pytestmark = pytest.mark.pty

StartTerminal: TypeAlias = Callable[..., Terminal]

EVIL = "[red]markup[/] [/] [@click=app.quit]link[/] \x1b[31mred\x1b[0m \x00nul \x1b]0;title\x07 end"


def test_rate_limit_wait_is_visible_and_ends_by_key_by_command_and_by_another_model(cinch: StartTerminal):
    limited = Failure(429, headers={"retry-after": "60"})
    app = cinch([limited, limited, Reply("hello again"), limited, Reply("from the second")])
    app.enter("hello")
    app.see(r"Trying again in 60 s \(1 of 3\):\s+/retry asks at once")
    app.see("retry 1/3")
    app.see(r"Trying again in 5\d s")

    app.type("\x1b")
    app.see("Stopped", seconds=2)
    assert "Trying again" not in app.text

    app.enter("once more")
    app.see("Trying again in")
    app.enter("/retry")
    app.see("hello again", seconds=5)
    assert "Trying again" not in app.text

    app.enter("and again")
    app.see("Trying again in")
    app.enter("/model anthropic/another")
    app.see("from the second", seconds=5)
    assert [request.body["model"] for request in app.server.requests][-1] == "another"


def test_failed_request_is_repeated(cinch: StartTerminal):
    app = cinch([Failure(403), Reply("let in at last")])
    app.enter("hello")
    app.see(r"\[ERROR\]")

    app.enter("/retry")

    app.see("let in at last")
    assert app.text.count("hello") == 1
    app.enter("/retry")
    app.see("prompt instead")


def test_model_is_switched_during_a_conversation(cinch: StartTerminal):
    app = cinch([Reply("from the first"), Reply("from the second")])
    app.enter("hello")
    app.see("from the first")

    app.enter("/model anthropic/another")
    app.see("The model is anthropic/another from the next reply on")
    app.enter("and you?")

    app.see("from the second")
    assert [request.body["model"] for request in app.server.requests][-1] == "another"


def test_truncated_reply_is_replaced_by_the_complete_one(cinch: StartTerminal, own_home: Path):
    half = Cut(Reply("half of an answer that will"), after_events=6)
    app = cinch([half, Reply("the whole answer")])

    app.enter("hello")

    app.see("the whole answer")
    assert "half of" not in app.text
    assert "half of" not in next((own_home / "cinch" / "data").rglob("*.jsonl")).read_text()


def test_errors_are_one_message_each_and_the_conversation_continues(cinch: StartTerminal):
    app = cinch([Failure(401, "no such key: sk-x"), Reply(""), Reply("at last")])

    app.enter("hello")
    app.see("he key from environment variable ANTHROPIC_API_KEY was rejected")
    app.enter("say nothing")
    app.see("mpty response")
    app.enter("say something")
    app.see("at last")


def test_markup_and_escapes_from_any_source_are_shown_and_never_interpreted(cinch: StartTerminal, project: Path):
    calls: list[Any] = [("bash", {"command": r"printf '[red]out[/] \033[31mred\000nul\033]0;title\007'; touch made"})]
    writes: list[Any] = [("write_file", {"path": "a[red]\x1b[31mb\x07.txt", "content": EVIL})]
    app = cinch([Reply(EVIL), Reply(calls=calls), Reply(calls=writes), Reply("all done")])

    app.enter("[bold]mine[/] [/]")
    app.see(re.escape("[red]markup[/] [/] [@click=app.quit]link[/]"))
    assert "[bold]mine[/] [/]" in app.text
    app.enter("now the tools")
    app.answer("Allow once", "y")
    app.answer(r"│ Write file +a\[red\]", "y")
    screen = app.see("all done")

    assert "[red]out[/]" in screen
    assert b"\x1b[31m" not in app.raw
    assert b"\x1b]0;title" not in app.raw
    assert (project / "a[red]\x1b[31mb\x07.txt").exists()


def test_paste_of_ten_thousand_lines_is_one_placeholder_and_sent_completely(cinch: StartTerminal):
    app = cinch([Reply("got it")])
    lines = [f"line {number} [red]x[/]" for number in range(10_000)]

    app.type("\x1b[200~" + "\r".join(lines) + "\x1b[201~")
    app.see(r"\[pasted 10000 lines\]")
    app.type("\r")
    app.see("got it")

    assert app.server.requests[0].body["messages"][0]["content"][0]["text"] == "\n".join(lines)


def test_unmarked_paste_of_several_lines_is_one_prompt(cinch: StartTerminal):
    app = cinch([Reply("got it")])

    app.type("first line\rsecond line\rthird line")
    app.see("│ first line")
    app.see("│ third line")
    app.type("\r")
    app.see("got it")

    assert app.server.requests[0].body["messages"][0]["content"][0]["text"] == "first line\nsecond line\nthird line"


def test_small_terminal_fits_prompt_approval_and_question(cinch: StartTerminal, project: Path):
    write: dict[str, Any] = {"path": "x.txt", "content": "one\n"}
    ask: dict[str, Any] = {
        "prompt": "Which of these do you want to have?",
        "choices": ["alpha", "beta", "gamma"],
    }
    first, second = Reply("let me see", calls=[("write_file", write)]), Reply(calls=[("ask_user", ask)])
    app = cinch([first, second, Reply("all done")], columns=40, rows=10)

    app.enter("hello")
    screen = app.see("n Deny")
    assert "Write file" in screen
    assert "Allow once" in screen
    app.choose("y", "Which of these")
    app.see("beta")
    app.choose("2", "all done")

    assert (project / "x.txt").exists()
    assert "beta" in str(app.server.requests[-1].body["messages"][-1])


def test_terminal_shrunk_while_streaming_recovers(cinch: StartTerminal):
    app = cinch([Reply("word " * 1500 + "the end", pause_s=0.0005)])
    app.enter("hello")
    app.see("word word")

    app.resize(20, 5)
    app.see("word")
    for columns, rows in ((5, 3), (1, 1)):
        app.resize(columns, rows)
        app.settle()
    app.resize(100, 32)

    screen = app.see("the end")
    assert "word word word word word word word word word word word word" in screen


def test_folder_removed_meanwhile_is_reported_to_the_model(cinch: StartTerminal, project: Path, tmp_path: Path):
    app = cinch([Reply(calls=[("bash", {"command": "ls"})]), Reply("all done")], env={"CINCH_APPROVAL_MODE": "off"})
    project.rename(tmp_path / "elsewhere")

    app.enter("hello")
    app.see("all done")

    assert "does not exist any more" in str(app.server.requests[-1].body["messages"][-1])


def test_unwritable_home_is_reported_and_the_conversation_continues(cinch: StartTerminal):
    app = cinch([Reply("hello to you"), Reply("and again")], env={"CINCH_HOME": "/proc/nowhere"})

    app.enter("hello")
    app.see("The session cannot be saved")
    app.see("hello to you")
    app.enter("more")
    app.see("and again")


def test_logging_never_reaches_the_screen(cinch: StartTerminal, own_home: Path):
    app = cinch([Hang(Reply("half of it"), after_events=5)], "--verbose")

    app.enter("hello")
    app.see("half")

    assert not re.search(r"DEBUG|INFO|WARNING", app.raw.decode(errors="replace"))
