from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from e2e.conftest import ROOT
from e2e.lines import Lines
from fakes.repositories import repository
from fakes.script import Reply

pytestmark = pytest.mark.pty

FORM = {
    "questions": [
        {"prompt": "Which till?", "choices": ["The red one", "The blue one"], "editable": True, "max_edit_length": 5},
        {"prompt": "Which days?", "choices": ["Monday", "Tuesday", "Friday"], "multi_select": True},
        {"prompt": "What name?"},
    ]
}


@pytest.fixture
def cinch(project: Path, serve) -> Iterator[Callable[..., Lines]]:
    started: list[Lines] = []

    def start(*script: Reply) -> Lines:
        start.server = serve(script)
        own = {"ANTHROPIC_BASE_URL": start.server.url, "ANTHROPIC_API_KEY": "sk-ant-e2e-secret"}
        lines = Lines(project, {**os.environ, "PYTHONPATH": str(ROOT), **own}, "--plain")
        started.append(lines)
        lines.see("You: ")
        return lines

    yield start
    for each in started:
        each.close()


def writes(*names: str) -> Reply:
    return Reply(calls=[("write_file", {"path": name, "content": name}) for name in names])


def test_pending_calls_are_listed_and_answered_together(cinch, project: Path):
    touched = [("bash", {"command": f"touch {name}"}) for name in ("one", "two", "three")]
    lines = cinch(Reply(calls=touched), writes("four", "five"), Reply("all done"))

    lines.enter("go on")
    lines.see(r"Batch: 1 of 3; these wait too: Run command touch two; Run command touch three")
    lines.answer("A: Allow all 3", "A")
    batch = lines.see(r"Batch: 1 of 2") + lines.see("d: Deny with reason")
    lines.answer("N: Deny all 2", "N")
    lines.see("all done")

    assert "A: Allow" not in batch  # the output of the other call has not been shown yet
    made = [name for name in ("one", "two", "three", "four", "five") if (project / name).exists()]
    assert made == ["one", "two", "three"]


def test_several_questions_are_asked_in_turn(cinch):
    lines = cinch(Reply(calls=[("ask_user", FORM)]), Reply("all done"))

    lines.enter("go on")
    lines.answer("Question 1 of 3: Which till", "2")
    lines.see("Replacement text")
    lines.enter("the green one")
    lines.see("Too long: 13 characters; the maximum is 5")
    lines.enter("green")
    lines.answer("Question 2 of 3: Which days", "1 3")
    lines.see("Question 3 of 3: What name")
    lines.see("Answer, or empty to skip: ")
    lines.enter("")
    lines.see("all done")

    reported = json.dumps(cinch.server.requests[-1].body["messages"])
    assert r"\"status\": \"edited\", \"index\": 1, \"text\": \"green\"" in reported
    assert r"\"text\": \"Monday, Friday\", \"indexes\": [0, 2]" in reported
    assert r"\"status\": \"skipped\"" in reported


def editor(folder: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """Make $EDITOR a program that replaces a text."""
    script = folder.with_name("editor.sh")
    script.write_text(f'#!/bin/sh\nsed -i "s/{old}/{new}/" "$1"\n')
    script.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(script))


def test_plan_is_edited_in_the_editor_and_its_options_are_explained(
    cinch, project: Path, monkeypatch: pytest.MonkeyPatch
):
    editor(project, monkeypatch, "Wash", "Dry")
    options = [{"name": "Fast", "description": "with water"}, {"name": "Thorough"}]
    plan = {"title": "Clean the till", "plan": "# Steps\n\n1. Wash it.\n", "options": options}
    lines = cinch(Reply(calls=[("submit_plan", plan)]), Reply("all done"))

    lines.enter("/plan")
    lines.see("You: ")
    lines.enter("plan it")
    first = lines.see(r"Answer [^\r\n]*: ")
    lines.enter("e")
    second = lines.see(r"Answer [^\r\n]*: ")
    lines.enter("y")
    listed = lines.see("Option to carry out, 1 to 2: ")
    lines.enter("2")
    lines.see("all done")

    assert "# Clean the till" in first
    assert "1. Wash it." in first
    assert "1. Dry it." in second
    assert "1. Fast: with water" in listed
    reported = json.dumps(cinch.server.requests[-1].body["messages"])
    assert "The user chose 'Thorough'." in reported
    assert r"Carry out this version:\n# Steps\n\n1. Dry it." in reported


def test_message_of_a_commit_is_edited_before_it_is_allowed(cinch, project: Path, monkeypatch: pytest.MonkeyPatch):
    editor(project, monkeypatch, "first", "second")
    git = repository(project)
    (project / "a.py").write_text("three\n")
    commit = {"name": "git_commit", "arguments": {"message": "first\n\nBecause.", "paths": ["a.py"]}}
    lines = cinch(Reply(calls=[("call_tool", commit)]), Reply("all done"))

    lines.enter("commit it")
    lines.answer("e: Edit in ", "e")
    lines.see("Proposal: second")
    lines.answer("y: Allow once", "y")
    lines.see("all done")

    assert git("log", "-1", "--format=%B").strip() == "second\n\nBecause."
