from __future__ import annotations

import json
import re
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from e2e.terminal import Terminal
from fakes.model_server import ModelServer
from fakes.script import Hang, Reply, Script

from cinch_tui.screens.dialog import NOT_YET

pytestmark = pytest.mark.pty

StartTerminal: TypeAlias = Callable[..., Terminal]
Editor: TypeAlias = Callable[[str], dict[str, str]]
PLAN: tuple[str, Any] = ("submit_plan", {"plan": "# The plan\n\nwrite x.txt"})
BETWEEN = "# between\n" * 12
OLD = f"first = 1\n{BETWEEN}second = 1\n{BETWEEN}third = 1\n"
NEW = OLD.replace("= 1", "= 2")


def writes(name: str, content: str = "content") -> Reply:
    return Reply(calls=[("write_file", {"path": name, "content": content})])


def asks(**arguments: Any) -> Reply:
    return Reply(calls=[("ask_user", {"prompt": "Which?", **arguments})])


@pytest.fixture
def editor(tmp_path: Path) -> Editor:
    """Write an editor that processes its file as instructed."""

    def make(does: str) -> dict[str, str]:
        script = tmp_path / "an editor"
        script.write_text(f"#!/bin/sh\n{does}\n")
        script.chmod(0o700)
        return {"EDITOR": f"'{script}' --wait"}

    return make


def reported(app: Terminal) -> str:
    """Return the last result that the model received."""
    return json.dumps(app.server.requests[-1].body["messages"], ensure_ascii=False)


def prompts(app: Terminal) -> list[str]:
    """Return the user messages of the last request."""
    contents = [m["content"] for m in app.server.requests[-1].body["messages"] if m["role"] == "user"]
    return [content if isinstance(content, str) else content[-1].get("text", "") for content in contents]


def test_text_saved_in_the_editor_returns_to_the_prompt(cinch: StartTerminal, editor: Editor):
    app = cinch([Reply("heard")], env=editor('printf "from the\\neditor" > "$2"'))

    app.enter("/editor")
    app.see("│ from the")
    assert app.server.requests == []
    app.type("\r")
    app.see("heard")

    assert prompts(app) == ["from the\neditor"]


def test_text_saved_in_the_editor_is_sent_if_configured(cinch: StartTerminal, editor: Editor):
    wanted = editor('printf "from the\\neditor" > "$2"') | {"CINCH_UI_EDITOR_SENDS": "true"}
    app = cinch([Reply("heard")], env=wanted)

    app.enter("/editor")
    app.see("heard")

    assert prompts(app) == ["from the\neditor"]


def test_editor_that_saves_no_text_sends_nothing_and_loses_no_prompt(cinch: StartTerminal, editor: Editor):
    app = cinch([Reply("heard")], env=editor(': > "$2"'))
    app.enter("/editor")
    app.see("[Nn]othing|empty")
    assert app.server.requests == []

    editor("exit 3")
    app.enter("/editor")
    app.see("status 3")
    assert app.raw.count(b"\x1b[?1049h") == 1 + app.raw.count(b"\x1b[?1049l")

    editor(": nothing")
    app.type("half a thought")
    app.see("half a thought")
    app.type("\x07")
    app.see("file was not saved")
    app.type(" and the rest\r")
    app.see("heard")
    assert prompts(app) == ["half a thought and the rest"]

    editor(': > "$2"')
    app.type("emptied")
    app.see("│ emptied")
    app.type("\x07")
    app.miss("│ emptied")
    app.type("\x1b[A")
    app.see("│ emptied")


def test_plan_mode_writes_nothing_until_the_plan_is_accepted(cinch: StartTerminal, project: Path):
    app = cinch([writes("x.txt"), Reply(calls=[PLAN]), writes("x.txt"), Reply("all done")], "--plan")
    app.see("PLAN")
    app.enter("write x.txt")
    app.see(r"│ +The plan")
    assert "write_file is not available in plan mode" in reported(app)
    assert not (project / "x.txt").exists()

    app.answer(r"│ +The plan", "y")
    app.answer(r"│ Write file +x\.txt", "y")
    app.see("all done")

    assert (project / "x.txt").exists()
    assert "PLAN" not in app.text
    assert app.server.requests[0].body["tools"] == app.server.requests[-1].body["tools"]
    assert [tool["name"] for tool in app.server.requests[-1].body["tools"]].count("write_file") == 1


def test_messages_sent_while_planning_stay_marked_afterwards(cinch: StartTerminal):
    app = cinch([Reply("I would begin with x."), Reply("I have begun.")], "--plan")
    app.enter("what would you do?")
    app.see("begin with x")
    app.see("DONE|IDLE")

    app.type("\x1b[Z")
    app.miss(r"\] +PLAN")
    app.enter("do it")

    screen = app.see("I have begun")
    assert re.findall("PLAN|I would|I have", screen) == ["PLAN", "I would", "I have"]


def test_rejected_plan_stays_in_plan_mode_in_the_app(cinch: StartTerminal, project: Path):
    app = cinch([Reply(calls=[PLAN]), writes("x.txt"), Reply("all done")], "--plan")
    app.enter("write x.txt")

    app.answer(r"│ +The plan", "\x1b")
    app.enter("then just do it")
    app.see("all done")

    assert "PLAN" in app.text
    assert not (project / "x.txt").exists()


def test_tool_is_allowed_for_the_session_until_revoked(cinch: StartTerminal, project: Path):
    reads = Reply(calls=[("read_file", {"path": "till/receipt.py"})])
    app = cinch([reads, writes("1"), writes("2"), writes("3"), Reply("all done"), writes("4"), Reply("once more")])

    app.enter("read, then write")
    app.answer(r"│ Write file +1", "y")
    app.answer(r"│ Write file +2", "s")
    app.see("all done")
    assert {name for name in "1234" if (project / name).exists()} == set("123")
    app.enter("#approve untrust write_file")
    app.see("asks again|no longer|untrust")
    app.enter("one more")
    app.answer(r"│ Write file +4", "n")
    app.see("once more")

    assert not (project / "4").exists()


def reviewed(cinch: StartTerminal, project: Path, keys: str) -> Terminal:
    (project / "three.py").write_text(OLD)
    reads = Reply(calls=[("read_file", {"path": "three.py"})])
    app = cinch([reads, writes("three.py", NEW), Reply("all done")], rows=44)
    app.enter("change all three")
    app.see("Allow once")
    app.see("Choose among")
    app.settle()
    app.miss(NOT_YET)
    app.type("h")
    app.see("y take")
    app.type(keys)
    return app


def test_rejected_hunk_of_three_is_not_written_and_reported_to_the_model(cinch: StartTerminal, project: Path):
    app = reviewed(cinch, project, "yny\r")
    app.see(r"Allow 2 of 3 changes")
    app.type("y")
    app.see("all done")

    assert (project / "three.py").read_text() == NEW.replace("second = 2", "second = 1")
    assert re.search(r"Rejected, so NOT applied:.{,20}-second = 1.{,5}\+second = 2", reported(app))
    assert "Applied (lines of the file before): line 1; line 27." in reported(app)


def test_rejecting_all_hunks_leaves_the_bytes_unchanged(cinch: StartTerminal, project: Path):
    app = reviewed(cinch, project, "r\r")
    app.see(r"without|Allow .*|Deny")
    app.type("y")
    app.see("all done")

    assert (project / "three.py").read_text() == OLD
    assert "denied" in reported(app)


def test_key_in_a_longer_prompt_is_stored_and_never_shown_again(cinch: StartTerminal, own_home: Path):
    secret = "sk-never-seen-again-0123456789"
    app = cinch([Reply("heard")] * 2, "--verbose", env={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})
    app.type(f"\x1b[200~look at this\r#key openai {secret}\rand go on\x1b[201~")
    app.see("and go on")
    app.type("\r")
    app.see("heard")
    app.see("could not be checked")
    app.type("\x1b[B\r")
    app.see("key for OpenAI was not checked")
    app.type("\x1b[A")
    app.see("│ look at this")

    assert "and go on" in prompts(app)[0]
    files = [path for path in own_home.rglob("*") if path.is_file()]
    holding = [path for path in files if secret.encode() in path.read_bytes()]
    assert [path.name for path in holding] == ["credentials.json"]
    assert stat.S_IMODE(holding[0].stat().st_mode) == 0o600
    assert secret not in reported(app)
    assert secret not in app.text
    app.type("\x15" * 4)
    app.enter("#keys")
    app.see(r"• openai: (?!no)")


def test_plain_text_reaches_the_model_and_a_command_lookalike_asks_first(cinch: StartTerminal):
    app = cinch([Reply("one"), Reply("two"), Reply("three")])
    app.enter("#load")
    # The first Enter may have accepted a completion.
    app.type("\r")
    app.see("#load needs an argument: #load <id>")
    app.type("\x1b\x15")
    app.enter("#frobnicate")
    app.see("frobnicate.*no command|what did you mean")
    app.type("\x1b")
    app.see("│ #frobnicate")
    app.type("\x15")
    app.type("# Heading\nbody\r")
    app.see("one")
    app.enter("/usr/bin/x is broken")
    app.see("two")

    assert prompts(app) == ["# Heading\nbody", "/usr/bin/x is broken"]


def test_command_unavailable_during_a_run_is_reported_and_kept(cinch: StartTerminal):
    app = cinch([Hang(Reply("half of it and more"), after_events=4)])
    app.enter("hello")
    app.see("half")

    app.enter("/reset")

    app.see("/reset is not available while the agent is")
    app.see("│ /reset")


def test_unanswered_question_times_out_and_a_single_choice_is_rejected(cinch: StartTerminal):
    app = cinch([asks(choices=["a", "b", "c"], timeout_s=1), asks(choices=["a"]), Reply("all done")])

    app.enter("hello")
    app.see("Which")
    app.see("all done")

    assert "timed_out" in reported(app)
    assert "one choice is not enough" in reported(app)


def test_question_times_out_at_once_without_a_user(
    printed: Callable[..., subprocess.CompletedProcess[str]], serve: Callable[[Script], ModelServer]
):
    server = serve([asks(choices=["a", "b", "c"]), Reply("all done")])

    done = printed("-p", "hello", ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="sk-x")

    assert done.stdout == "all done\n"
    assert "timed_out" in json.dumps(server.requests[-1].body["messages"])
