from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from e2e.conftest import ROOT
from e2e.lines import Lines, reported
from fakes.script import Hang, Reply

pytestmark = pytest.mark.pty

EDIT = {"path": "till/receipt.py", "old_string": "(1 - discount)", "new_string": "(1 - discount / 100)"}
ASK = {"prompt": "Which till?", "choices": ["The red one", "The blue one"]}


@pytest.fixture
def cinch(plain_cinch) -> Callable[..., Lines]:
    return plain_cinch


def a_morning(lines: Lines) -> None:
    lines.see("You: ")
    lines.enter("please fix the discount")
    lines.see("Assistant: Let me look.")
    lines.see(r"Tool: read_file till/receipt\.py")
    lines.answer("Approval: Edit file till/receipt.py", "9")
    lines.answer("Type one of", "y")
    lines.answer("Approval: Write file notes.txt", "n, please")
    lines.answer("Type one of", "d")
    lines.see("Reason: ")
    lines.enter("no notes")
    lines.see("denied")
    lines.answer("Question: Which till[?]", "2")
    lines.see(r"Assistant: It is \*\*fixed\*\*\.")
    lines.see(r"Done: .*4 tool calls")


def test_plain_mode_works_by_numbers_on_a_dumb_terminal(cinch, project: Path):
    lines = cinch(
        [
            Reply(text="Let me look.", calls=[("read_file", {"path": "till/receipt.py"})]),
            Reply(calls=[("edit_file", EDIT)]),
            Reply(calls=[("write_file", {"path": "notes.txt", "content": "not wanted"})]),
            Reply(calls=[("ask_user", ASK)]),
            Reply(text="It is **fixed**."),
        ]
    )

    a_morning(lines)
    lines.type("\x04")

    assert lines.end() == 0
    assert (project / "till/receipt.py").read_text().count("discount / 100") == 1
    assert not (project / "notes.txt").exists()
    assert "Proposal: Changed line 2" in lines.said
    assert "no notes" in reported(cinch)
    assert "The blue one" in reported(cinch)
    assert "\x1b" not in lines.said


def test_commands_work_and_a_mistyped_one_is_confirmed(cinch):
    lines = cinch([])
    lines.see("You: ")

    lines.enter("/usage")
    lines.see("No tokens used yet")
    lines.see("You: ")
    lines.enter("/usge")
    lines.answer("did you mean", "1")
    lines.see("No tokens used yet")
    lines.see("You: ")
    lines.enter("/parallel a/b c/d -- why?")
    lines.see("needs the (screen|full-screen app)")
    lines.see("You: ")
    lines.enter("/quit")

    assert lines.end() == 0
    assert cinch.server.requests == []


def test_session_continues_the_next_day(cinch):
    lines = cinch([Reply(text="It is fixed.")])
    lines.see("You: ")
    lines.enter("please fix it")
    lines.see("Done: ")
    lines.see("You: ")
    lines.type("\x04")
    assert lines.end() == 0

    again = cinch([Reply(text="Yesterday I fixed it.")], "-r")
    again.answer("please fix it", "1")
    again.see("Last reply: It is fixed.")
    again.see("You: ")
    again.enter("what did we do?")
    again.see("Yesterday I fixed it.")
    again.see("You: ")
    again.type("\x04")

    assert again.end() == 0
    assert again.resume_id == lines.resume_id
    assert "please fix it" in reported(cinch)


def test_ctrl_c_stops_the_turn_and_quits_on_repeat(cinch):
    lines = cinch([Hang(Reply(text="This takes for ever and ever"), after_events=5), Reply(text="Better.")])
    lines.see("You: ")
    lines.enter("go")
    lines.see("This ")

    lines.interrupt()
    lines.see("Stopped: ")
    lines.see("You: ")
    lines.enter("and now?")
    lines.see("Better.")
    lines.see("You: ")
    lines.interrupt()
    lines.see("Ctrl.C again or Ctrl.D to quit")
    lines.interrupt()

    assert lines.end() == 130
    assert lines.resume_id


def test_ctrl_c_at_a_question_stops_the_turn(cinch, project: Path):
    lines = cinch([Reply(calls=[("bash", {"command": "touch made"})])])
    lines.see("You: ")
    lines.enter("go")
    lines.see("(Number|Answer)")

    lines.interrupt()
    lines.see("Stopped: ")
    lines.see("You: ")
    lines.type("\x04")

    assert lines.end() == 0
    assert not (project / "made").exists()


def test_enter_opens_a_line_for_steering(cinch, project: Path):
    wait = "until test -e go; do sleep 0.05; done"
    lines = cinch(
        [Reply(text="Waiting.", calls=[("bash", {"command": wait})]), Reply(text="Something else, then.")],
        "--approve",
        "off",
    )
    lines.see("You: ")
    lines.enter("wait")
    lines.see("Tool: bash until")

    lines.enter("")
    lines.see("steer> ")
    lines.enter("do something else")
    lines.see("Queued for the next step")
    (project / "go").touch()

    lines.see("You, delivered now: do something else")
    lines.see("Something else, then.")
    lines.see("Done: ")
    assert "do something else" in reported(cinch)


def test_enter_twice_sends_a_queued_message_now(cinch):
    lines = cinch(
        [Reply(text="Waiting.", calls=[("bash", {"command": "sleep 300"})]), Reply(text="Something else, then.")],
        "--approve",
        "off",
    )
    lines.see("You: ")
    lines.enter("wait")
    lines.see("Tool: bash sleep 300")
    lines.enter("")
    lines.see("steer> ")
    lines.enter("do something else")
    lines.see("press Enter twice to send it now")

    lines.enter("")
    lines.see("steer> ")
    lines.enter("")

    lines.see("Interrupting the agent to send your message")
    lines.see("You, delivered now: do something else")
    lines.see("Something else, then.")
    lines.see("Done: ")
    assert "do something else" in reported(cinch)


def test_enter_twice_with_no_queued_message_lets_the_agent_continue(cinch, project: Path):
    wait = "until test -e go; do sleep 0.05; done"
    lines = cinch([Reply(calls=[("bash", {"command": wait})]), Reply(text="It is there.")], "--approve", "off")
    lines.see("You: ")
    lines.enter("wait")
    lines.see("Tool: bash until")

    lines.enter("")
    lines.see("steer> ")
    lines.enter("")
    lines.see("Notice: No queued message")
    (project / "go").touch()

    lines.see("It is there.")
    lines.see("Done: ")
    assert "interrupted" not in reported(cinch)


def test_side_question_is_answered_and_not_kept(cinch):
    lines = cinch([Reply(text="By Ada."), Reply(text="Hello.")])
    lines.see("You: ")

    lines.enter("/btw who wrote this?")
    lines.see("Side answer: By Ada.")
    lines.see("You: ")
    lines.enter("hi")
    lines.see("Assistant: Hello.")

    assert "who wrote this" not in reported(cinch)


def test_sigterm_prints_the_resume_command(cinch):
    lines = cinch([Reply(text="Hello.")])
    lines.see("You: ")
    lines.enter("hi")
    lines.see("Done: ")
    lines.see("You: ")

    lines.kill(signal.SIGTERM)

    assert lines.end() == 128 + signal.SIGTERM
    assert lines.resume_id


def test_several_lines_are_one_prompt(cinch):
    lines = cinch([Reply(text="One."), Reply(text="Two.")])
    lines.see("You: ")
    lines.enter("first \\")
    lines.see(r"\.\.\. ")
    lines.enter("second")
    lines.see("One.")
    lines.see("You: ")
    lines.enter("```")
    lines.see(r"\.\.\. ")
    lines.enter("x = 1")
    lines.see(r"\.\.\. ")
    lines.enter("```")
    lines.see("Two.")

    said = reported(cinch)
    assert "first \\nsecond" in said
    assert '"x = 1"' in said


def test_line_is_edited_and_recalled_on_a_terminal_with_a_cursor(cinch):
    lines = cinch([Reply(text="One.")], term="xterm")
    lines.see("You: ")
    lines.enter("hello wrold\x17world")
    lines.see("One.")
    lines.see("You: ")
    lines.type("\x04")
    assert lines.end() == 0

    again = cinch([Reply(text="Two.")], term="xterm")
    again.see("You: ")
    again.type("\x1b[A")
    again.see("hello world")
    again.enter("!")
    again.see("Two.")

    assert "hello world!" in reported(cinch)


@pytest.mark.parametrize("term", ["dumb", "xterm"])
def test_question_with_a_timeout_returns_the_typed_line(cinch, term: str):
    ask = {"prompt": "Which till?", "timeout_s": 0.2}
    lines = cinch([Reply(calls=[("ask_user", ask)]), Reply(text="Then the red one.")], term=term)
    lines.see("You: ")
    lines.enter("sell")

    lines.see("The question timed out")
    lines.see("Assistant: Then the red one.")
    lines.see("You: ")
    lines.enter("/quit")

    assert lines.end() == 0
    assert "timed_out" in reported(cinch)


def test_dumb_terminal_is_pointed_to_plain_mode(project: Path):
    lines = Lines(project, {**os.environ, "PYTHONPATH": str(ROOT)})

    lines.see("TERM is dumb.*cinch --plain")

    assert lines.end() == 2
    assert "\x1b" not in lines.said


def test_text_typed_before_a_question_does_not_answer_it(cinch, project: Path):
    write = ("write_file", {"path": "made.txt", "content": "made"})
    lines = cinch([Reply(text="I will make a file now.", calls=[write], pause_s=0.1), Reply(text="Very well.")])
    lines.see("You: ")
    lines.enter("go")
    lines.see("Assistant: I ")

    lines.enter("1")

    lines.see("You, delivered now: 1")
    lines.see("Very well.")
    assert not (project / "made.txt").exists()
