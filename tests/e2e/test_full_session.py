from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.conftest import FILES, ROOT
from e2e.terminal import Terminal
from fakes.script import Hang, Reply

pytestmark = pytest.mark.pty

FIXED = "def total(prices, discount=0):\n    return sum(prices) * (1 - discount / 100)\n"
TESTS = "python3 -m unittest"

SCRIPT = [
    Reply(
        text="Let me look first.",
        calls=[("read_file", {"path": "till/receipt.py"}), ("read_file", {"path": "till/label.py"})],
    ),
    Reply(calls=[("grep", {"pattern": "discount"})]),
    Reply(
        text="The discount is a percentage.",
        calls=[
            (
                "edit_file",
                {"path": "till/receipt.py", "old_string": "(1 - discount)", "new_string": "(1 - discount / 100)"},
            )
        ],
    ),
    Reply(calls=[("edit_file", {"path": "till/label.py", "old_string": '" -"', "new_string": '" –"'})]),
    Reply(calls=[("bash", {"command": TESTS})]),
    Reply(calls=[("bash", {"command": f"{TESTS} --verbose"})]),
    Reply(calls=[("write_file", {"path": "notes.txt", "content": "not wanted"})]),
    Reply(text="The discount is **fixed** and the tests pass."),
]


def environment(url: str) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-e2e-secret"}


def results(server) -> dict[str, str]:
    """Return the results that the model received, by tool."""
    reported: dict[str, str] = {}
    names: dict[str, str] = {}
    for message in server.requests[-1].body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else []:
            if block["type"] == "tool_use":
                names[block["id"]] = f"{block['name']} {len(names)}"
            if block["type"] == "tool_result":
                reported[names[block["tool_use_id"]]] = json.dumps(block["content"])
    return reported


def a_working_morning(cinch: Terminal) -> None:
    cinch.see("anthropic/claude")
    cinch.enter("please fix the discount")
    cinch.see("Let me look first")
    cinch.answer(r"│ Edit file  till/receipt\.py(.|\n)*\+ +return sum\(prices\) \* \(1 - discount / 100\)", "y")
    cinch.answer(r"│ Edit file  till/label\.py", "y")
    cinch.answer(r"│ Run command(.|\n)*│ python3 -m unittest", "s")
    cinch.answer(r"│ Write file  notes\.txt", "n")
    cinch.see("fixed and the tests pass")


def test_a_change_is_requested_approved_trusted_denied_and_continued_tomorrow(terminal, serve, project):
    server = serve([*SCRIPT, Reply(text="Yesterday I fixed the discount.")])
    env = environment(server.url)

    cinch = terminal(env=env)
    a_working_morning(cinch)

    assert (project / "till/receipt.py").read_text() == FIXED
    assert "–" in (project / "till/label.py").read_text()
    assert not (project / "notes.txt").exists()
    reported = results(server)
    assert "Exit code: 0" in reported["bash 5"]
    assert "Exit code: 0" in reported["bash 6"]
    assert "denied" in reported["write_file 7"]

    cinch.enter("/quit")
    assert cinch.wait() == 0

    cinch = terminal("-c", env=env)
    cinch.see("fixed and the tests pass")
    cinch.enter("what did we do?")
    cinch.see("Yesterday I fixed")
    texts = json.dumps(server.requests[-1].body["messages"])
    assert "please fix the discount" in texts
    assert "discount / 100" in texts


def test_kill_during_a_run_loses_nothing_that_was_finished(terminal, serve, project):
    server = serve(
        [*SCRIPT[:2], Reply(text="I will now change", calls=()), Hang(Reply(text="half a rep"), after_events=4)]
    )
    env = environment(server.url)

    cinch = terminal(env=env)
    cinch.see("anthropic/claude")
    cinch.enter("please fix the discount")
    cinch.see("I will now change")
    cinch.enter("and then?")
    cinch.see("half")
    cinch.kill()

    cinch = terminal("-c", env=env)
    cinch.see("I will now change")
    screen = cinch.see(r"and then\?")
    assert "Let me look first" in screen


def test_print_mode_does_the_same_as_stream_json(serve, project):
    server = serve(SCRIPT)
    command = [sys.executable, "-m", "cinch_tui", "-p", "please fix the discount", "--output-format", "stream-json"]

    done = subprocess.run(
        [*command, "--allow", "edit_file", "--allow", "bash:" + TESTS],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment(server.url)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["type"] == "system"
    assert lines[-1]["type"] == "result"
    assert lines[-1]["result"] == "The discount is **fixed** and the tests pass."
    assert (project / "till/receipt.py").read_text() == FIXED
    assert not (project / "notes.txt").exists()
    assert [denial["tool_name"] for denial in lines[-1]["permission_denials"]] == ["write_file"]
    assert done.returncode == 4
    assert "sk-ant-e2e-secret" not in done.stdout + done.stderr


def test_key_is_never_on_disk_or_on_the_screen(terminal, serve, project, own_home: Path):
    server = serve([Reply(text="hello")])

    cinch = terminal(env=environment(server.url))
    cinch.see("anthropic/claude")
    cinch.enter("hi")
    cinch.see("hello")
    cinch.enter("/quit")
    cinch.wait()

    kept = b"".join(path.read_bytes() for path in own_home.rglob("*") if path.is_file())
    assert b"sk-ant-e2e-secret" not in kept
    assert b"sk-ant-e2e-secret" not in cinch.raw
    assert FILES["till/receipt.py"].encode() not in kept


def test_prompts_sent_during_startup_are_processed_in_order(terminal, serve):
    server = serve([Reply(text="The first answer."), Reply(text="The second answer.")])

    cinch = terminal(env=environment(server.url))
    cinch.see("Ask for a change")
    cinch.type("one\r")
    cinch.type("two\r")
    cinch.see("The second answer")

    prompts = [message["content"] for message in server.requests[-1].body["messages"] if message["role"] == "user"]
    assert [content if isinstance(content, str) else content[-1]["text"] for content in prompts] == ["one", "two"]
