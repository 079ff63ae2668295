from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from e2e.conftest import PlainStart
from e2e.lines import reported
from fakes.model_server import ModelServer
from fakes.script import Failure, Reply, Script

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.plain.help import FULL_SCREEN_COMMANDS
from harness.messages import Usage

pytestmark = pytest.mark.pty

SLEEPER = [Reply(calls=[("bash", {"command": "sleep 300", "background": True})]), Reply("It runs.")]


@pytest.fixture
def cinch(plain_cinch: PlainStart) -> PlainStart:
    """Start plain mode and wait until it accepts a prompt."""
    plain_cinch.sees = "You: "
    return plain_cinch


@pytest.mark.parametrize(("term", "key", "again"), [("dumb", "\x04", "Ctrl.D"), ("xterm", "/quit\r", "/quit")])
def test_exit_lists_the_jobs_it_stops_and_quits_on_repeat(cinch: PlainStart, term: str, key: str, again: str):
    lines = cinch(SLEEPER, "--approve", "off", term=term)
    lines.enter("go")
    lines.see("Result: bash sleep 300 .in the background.: job-1 is running")
    lines.see("It runs")
    lines.see("You: ")

    lines.type(key)
    lines.see(rf"Warning: Quitting stops job-1 \(sleep 300\)\. {again} again to quit")
    lines.see("You: ")
    lines.enter("/jobs")
    lines.see("job-1: sleep 300: running")
    lines.see("You: ")
    lines.type(key)
    lines.see("job-1 killed after")

    assert lines.end() == 0


@pytest.mark.parametrize("term", ["dumb", "xterm"])
def test_end_of_a_job_starts_a_run_once_the_user_types_nothing(
    cinch: PlainStart, project: Path, term: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CINCH_TOOLS_BASH_WAKE_ON_EXIT", "true")
    waits = Reply(calls=[("bash", {"command": "until [ -e done ]; do sleep 0.05; done", "background": True})])
    lines = cinch(
        [waits, Reply("It runs."), Reply("It is over."), Reply("Thanks.")],
        "--approve", "off", term=term,
    )  # fmt: skip
    lines.enter("go")
    lines.see("It runs")
    lines.see("You: ")
    if term == "xterm":
        lines.type("half")
    (project / "done").touch()
    if term == "xterm":
        lines.type(" typed\x15")
    lines.see("It is over")
    lines.see("You: ")
    lines.enter("thanks")
    lines.see("Thanks")


def test_end_of_a_pipe_asks_nothing_about_jobs(
    cinch: PlainStart, printed: Callable[..., subprocess.CompletedProcess[str]], serve: Callable[[Script], ModelServer]
):
    server = serve(SLEEPER)

    done = printed(
        "--plain",
        "--approve",
        "off",
        before="exec < <(echo go)",
        ANTHROPIC_BASE_URL=server.url,
        ANTHROPIC_API_KEY="sk-x",
    )

    assert "Quitting stops" not in done.stdout
    assert "job-1 killed after" in done.stdout


def test_user_command_is_run_and_reported_to_the_model_once(cinch: PlainStart, project: Path):
    lines = cinch([Reply("I see."), Reply("Again.")])

    lines.enter("!echo made > here; echo printed; exit 3")
    lines.see(r"Output: !echo made.*\s+printed\s+\[exit code 3\]")
    lines.see("The output is sent to the model")
    lines.see("You: ")
    lines.enter("!!echo between us")
    lines.see(r"between us\s+\[exit code 0\]")
    lines.see("You: ")
    lines.enter("why?")
    shown = lines.see("I see")
    lines.see("You: ")
    lines.enter("and?")
    lines.see("Again")

    assert (project / "here").read_text() == "made\n"
    assert reported(cinch).count("Exit code: 3\\nprinted") == 1
    assert "between us" not in reported(cinch)
    assert "ran this command in the project folder" not in shown


def test_ctrl_c_stops_the_user_command(cinch: PlainStart, project: Path):
    lines = cinch([Reply("I see.")])
    lines.enter("!echo begun > begun; sleep 60; echo over > over")
    lines.wait_for(project / "begun")

    lines.interrupt()
    lines.see(r"\[stopped\]")
    lines.see("You: ")
    lines.enter("why?")
    lines.see("I see")

    assert "You stopped the command" in reported(cinch)
    assert not (project / "over").exists()


def test_thinking_is_hidden_and_shown_at_once(cinch: PlainStart):
    lines = cinch([Reply("One.", thinking="hm"), Reply("Two.", thinking="hm")])

    lines.enter("/thinking hide")
    lines.see("thinking is hidden")
    lines.see("You: ")
    lines.enter("go")
    quiet = lines.see("Done: ")
    lines.enter("/thinking show")
    lines.see("thinking is shown")
    lines.enter("go")

    lines.see("Thinking: hm")
    assert "Thinking" not in quiet


def test_long_proposal_can_be_allowed_only_after_it_is_fully_printed(cinch: PlainStart, project: Path):
    text = "".join(f"line {number}\n" for number in range(200))
    lines = cinch([Reply(calls=[("write_file", {"path": "long.txt", "content": text})]), Reply("Written.")])
    lines.enter("go")
    begun = lines.see("w: Show all of it")
    lines.answer("then decide", "y")
    lines.see("Type one of w, n, d")
    lines.enter("w")
    whole = lines.see(r"Answer \(y, s, a, n, d, e, x\): ")
    lines.enter("y")
    lines.see("Written")

    assert "more lines]" in begun
    assert "line 100" not in begun
    assert "line 100" in whole
    assert (project / "long.txt").read_text() == text


def test_choices_are_listed_again_and_an_unknown_number_is_no_answer(cinch: PlainStart):
    ask: dict[str, Any] = {"prompt": "Which till?", "choices": ["The red one", "The blue one"]}
    lines = cinch([Reply(calls=[("ask_user", ask)]), Reply("So be it.")])
    lines.enter("go")
    lines.answer("Question: Which till", "7")
    lines.see("Not a valid choice")
    lines.answer("The blue one", "?")
    lines.answer("The blue one", "the green one")
    lines.see("So be it")

    assert r"\"text\": \"the green one\"" in reported(cinch)


def test_question_that_could_not_be_asked_is_reported(cinch: PlainStart):
    lines = cinch([Reply(calls=[("ask_user", {"prompt": "Which?", "colour": "red"})]), Reply("Then not.")])
    lines.enter("go")

    lines.see("Result: ask_user.*: failed")
    lines.see("colour: unknown property")
    lines.see("Then not")


def test_steps_are_printed_once_with_their_progress(cinch: PlainStart):
    steps: list[Any] = [{"content": "Look", "status": "completed"}, {"content": "Fix", "status": "in_progress"}]
    lines = cinch([Reply(calls=[("todo", {"todos": steps})]), Reply("Looked.")])
    lines.enter("go")

    reported = lines.see("Looked")

    assert "Steps: 1 of 2 done, now: Fix\r\n  done: Look\r\n  now: Fix\r\n" in reported
    assert "todo" not in reported


def test_reply_details_are_indented_and_a_copy_is_not(cinch: PlainStart):
    lines = cinch([Reply("Look:\n\n```\nYou: /quit\n    x\n```")])
    lines.enter("go")
    reply = lines.see("Done: ")
    lines.see("You: ")
    lines.enter("#copy")
    lines.see("Copy:")
    copy = lines.see("\r\nYou: $")

    assert "\n  You: /quit\r\n      x\r\n  ```\r\n" in reply
    assert "\nYou: /quit\r\n    x\r\n```\r\n" in copy


def test_list_is_closed_by_an_empty_line_and_not_repeated_without_a_match(cinch: PlainStart):
    lines = cinch([])
    lines.enter("/mode")
    lines.answer("Mode", "zzz")
    shown = lines.see(r"Notice: 0 of 6 match\.\s+Number[^\r\n]*: ")
    lines.enter("")
    lines.see("You: ")

    assert "ask before" not in shown


def test_commands_that_need_the_screen_report_it(cinch: PlainStart):
    lines = cinch([])

    for name in FULL_SCREEN_COMMANDS:
        lines.enter(f"{name} a/b c/d -- x" if name == "/parallel" else name)

        lines.see("Error: .*(screen|colors of the terminal|cannot add times|~/.inputrc)")
        lines.see("You: ")


def test_help_lists_available_commands_and_names_the_others(cinch: PlainStart):
    lines = cinch([])

    lines.enter("#help")
    help_text = lines.see("Only in the full-screen app: [^\r\n]*")

    named = {command.name for command in builtin_commands().commands}
    works = {name for name in named if f"  {name}" in help_text}
    assert works == named - set(FULL_SCREEN_COMMANDS)
    assert set(FULL_SCREEN_COMMANDS) <= named


def test_status_is_available_on_request(cinch: PlainStart):
    lines = cinch([Reply(calls=[("bash", {"command": "sleep 300"})]), Reply("Stopped.")], "--approve", "off")
    lines.enter("?")
    lines.see("Notice: Idle: the agent waits for your input")
    lines.see("You: ")
    lines.enter("go")
    lines.see("Tool: bash sleep 300")

    lines.enter("?")

    lines.see(r"Notice: Running for [\d.]+ s: bash sleep 300, [\d.]+ s\.")
    assert len(cinch.server.requests) == 1


def test_subagent_activity_is_printed(cinch: PlainStart):
    task: list[Any] = [("delegate_subagent", {"task": "count", "name": "counter"})]
    lines = cinch([Reply(calls=task), Reply(calls=[("list_files", {"path": "till"})]), Reply("Three."), Reply("Well.")])
    lines.enter("go")

    lines.see("Subagent: counter: list_files till")
    lines.see("Well")


def test_unusual_state_is_printed_at_the_start_and_how_to_accept_a_plan(cinch: PlainStart):
    lines = cinch([Reply("1. Change the till."), Reply("Changed.")], "--plan", "--approve", "off")
    assert "Notice: Plan mode is on" in lines.said
    assert "Warning: Approval is off" in lines.said
    lines.enter("plan it")
    lines.see("Notice: Plan mode is on; /plan accept carries out the plan in this reply")
    lines.see("You: ")

    lines.enter("/plan accept")

    lines.see("Changed")


def test_failed_run_explains_how_to_retry(cinch: PlainStart):
    lines = cinch([Failure(400), Reply("Now it works.")])
    lines.enter("go")
    lines.see(r"Failed: .*\. /retry retries")
    lines.see("You: ")

    lines.enter("/retry")

    lines.see("Now it works")


def test_tab_completes_commands_and_files_or_is_inserted(cinch: PlainStart):
    lines = cinch([Reply("It is a till."), Reply("Built.")], term="xterm")
    lines.enter("/usag\t")
    lines.see("No tokens used yet")
    lines.see("You: ")

    lines.enter("what is @till/rec\tabout?")
    lines.see("It is a till")

    assert "what is @till/receipt.py about?" in reported(cinch)
    lines.see("You: ")
    lines.enter("\tgo build\t# all\tof it")
    lines.see("Built")

    assert r"\tgo build\t# all\tof it" in reported(cinch)


def test_plain_mode_hands_off_a_full_context_after_the_run(plain_cinch: PlainStart, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CINCH_CONTEXT_HANDOFF_AT", "0.5")
    monkeypatch.setenv("CINCH_SESSIONS_TITLES", "false")
    full = Usage(input=150_000, output=20)
    lines = plain_cinch([Reply("Half of it works.", usage=full), Reply("Finish it\n\n## Goal\nTests."), Reply("Done.")])
    lines.see("You: ")
    lines.enter("build a parser")
    lines.see("Writing a brief for a new session")
    lines.see("Brief: Finish it")
    lines.see(r"The old one is session [0-9a-f]{8}")
    lines.see("You: ")
    lines.enter("go on")
    lines.see("Assistant: Done.")

    sent = str(plain_cinch.server.requests[-1].body["messages"])
    assert "Finish it" in sent
    assert "Half of it works." not in sent


def test_context_lists_numbered_messages_and_removes_one(cinch: PlainStart):
    lines = cinch([Reply("It is a parser."), Reply("Nothing.")])
    lines.enter("What is here?")
    lines.see("It is a parser")
    lines.see("You: ")

    lines.enter("/context drop 2")
    lines.see(r"Removed: reply It is a parser\.")
    lines.see("You: ")
    lines.enter("/context")
    lines.see(r"1\. about \d+ tokens.*: you What is here\?")
    lines.see(r"2\. removed, .*: reply It is a parser\.")
    lines.see("You: ")
    lines.enter("And now?")
    lines.see("Nothing")

    assert "It is a parser" not in str(cinch.server.requests[-1].body)


def test_summary_is_edited_in_the_editor(cinch: PlainStart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/parser/lexer/ "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    lines = cinch([*[Reply("It has many details. " * 200)] * 3, Reply("**Goal**: fix the parser."), Reply("Done.")])
    for _ in range(3):
        lines.enter("Fix the parser.")
        lines.see("It has many details")
        lines.see("You: ")

    lines.enter("/compact")
    lines.see(r"Summarized \d messages")
    lines.see("You: ")
    lines.enter("/compact edit")
    lines.see("The summary was changed")
    lines.see("You: ")
    lines.enter("Go on.")
    lines.see("Done")

    assert "**Goal**: fix the lexer." in str(cinch.server.requests[-1].body)
