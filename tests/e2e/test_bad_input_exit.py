from __future__ import annotations

import os
import signal

import pytest
from e2e.conftest import ROOT
from fakes.processes import running
from fakes.script import Hang, Reply

pytestmark = pytest.mark.pty

# Sequences that a terminal must receive at the end: no alternate screen, no mouse, no bracketed paste, a cursor.
RESTORED = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1003l", b"\x1b[?2004l")
BROKEN = """
import os
if os.environ.get("BREAK"):
    import importlib

    module, place, name = os.environ["BREAK"].split()

    def broken(*_, **__):
        secret = "sk-hidden"
        raise RuntimeError("\\x1b[31m[red]broken[/]")

    owner = importlib.import_module(module)
    setattr(getattr(owner, place) if place != "-" else owner, name, broken)
"""


def env_of(server, **more: str) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x", **more}


def saved(own_home) -> str:
    return next((own_home / "cinch" / "data").rglob("*.jsonl")).read_text()


def is_restored(raw: bytes) -> bool:
    end = raw[raw.rindex(b"\x1b[?1049l") :]
    return all(part in raw[-400:] for part in RESTORED) and b"\x1b[?1049h" not in end


def test_exit_prints_the_last_exchange_and_the_resume_command(terminal, serve):
    server = serve([Reply("the first answer"), Reply("the second answer")])
    cinch = terminal(env=env_of(server))
    cinch.see("anthropic/claude")
    for number in ("first", "second"):
        cinch.enter(f"the {number} prompt")
        cinch.see(f"the {number} answer")

    cinch.type("\x11")

    assert cinch.wait() == 0
    left = cinch.raw.rpartition(b"\x1b[?1049l")[2].decode()
    places = [left.find(words) for words in ("> the second prompt", "the second answer", "cinch -r ")]
    assert -1 < places[0] < places[1] < places[2]
    assert "first" not in left


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_restores_the_terminal_and_keeps_the_conversation(terminal, serve, own_home, number):
    server = serve([Hang(Reply("half of it is said"), after_events=6)])
    cinch = terminal(env=env_of(server))
    cinch.see("anthropic/claude")
    cinch.enter("go on")
    cinch.see("half of")

    os.kill(cinch.pid, number)

    assert cinch.wait() == 128 + number
    assert is_restored(cinch.raw)
    assert "half of" in saved(own_home)
    assert '"phase":"end"' in saved(own_home)
    assert '"stop":"aborted"' in saved(own_home).splitlines()[-1]
    assert not list(own_home.rglob("*.lock"))


def test_hangup_ends_cinch_with_a_complete_session(terminal, serve, own_home):
    server = serve([Hang(Reply("half of it is said"), after_events=6)])
    cinch = terminal(env=env_of(server))
    cinch.see("anthropic/claude")
    cinch.enter("go on")
    cinch.see("half of")

    assert cinch.hang_up()

    assert "half of" in saved(own_home)
    assert not list(own_home.rglob("crash-*"))


def test_ctrl_c_stops_then_clears_then_quits_on_repeat(terminal, serve):
    server = serve([Hang(Reply("half of it is said"), after_events=6)])
    cinch = terminal(env=env_of(server))
    cinch.see("anthropic/claude")
    cinch.enter("go on")
    cinch.see("half of")
    cinch.type("\x03")
    cinch.see("Stopped")
    cinch.type("not to be sent")
    cinch.see("not to be sent")
    cinch.type("\x03")
    cinch.miss("not to be sent")
    cinch.type("\x03")
    cinch.see("Ctrl\\+C again quits")
    cinch.type("\x03")

    assert cinch.wait() == 130
    assert is_restored(cinch.raw)


def test_ctrl_c_over_an_approval_stops_the_run(terminal, serve, project):
    server = serve([Reply(calls=[("write_file", {"path": "x", "content": "x"})])])
    cinch = terminal(env=env_of(server))
    cinch.see("anthropic/claude")
    cinch.enter("go on")
    cinch.see("Allow once")

    cinch.type("\x03")

    cinch.see("Stopped")
    assert "Allow once" not in cinch.text
    assert not (project / "x").exists()


def test_esc_stops_an_endless_command_and_leaves_no_process(terminal, serve):
    server = serve([Reply(calls=[("bash", {"command": "sleep 87654 & yes"})])])
    cinch = terminal(env=env_of(server))
    cinch.see("anthropic/claude")
    cinch.enter("go on")
    cinch.answer("Allow once", "y")
    cinch.see(r"◐ Run command.*\by\b")

    cinch.type("\x1b")

    cinch.see("Stopped")
    assert running("sleep 87654") == 0


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        ("cinch_tui.controller.prompt_sender PromptSender run", "hello\r"),
        ("cinch_tui.reports.usage - usage_report", "/usage\r"),
        ("harness.agent.loop - call_model", "hello\r"),
        ("cinch_tui.screens.chat ChatScreen compose", ""),
    ],
)
def test_internal_error_is_one_sentence_on_a_restored_terminal(terminal, own_home, tmp_path, where, keys):
    (tmp_path / "sitecustomize.py").write_text(BROKEN)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", ""), os.fspath(ROOT)])
    cinch = terminal(env={"ANTHROPIC_API_KEY": "sk-x", "PYTHONPATH": path, "BREAK": where})
    if keys:
        cinch.see("anthropic/claude")
        cinch.type(keys)

    status = cinch.wait()

    (report,) = (own_home / "cinch" / "state").glob("crash-*.txt")
    reported = cinch.raw[cinch.raw.rindex(b"\x1b[?1006l") :]
    assert status == 1
    assert is_restored(cinch.raw[: cinch.raw.rindex(b"cinch: internal error")])
    assert b"RuntimeError: [red]broken[/]. Crash report: " + bytes(report) in reported
    assert b"Traceback" not in cinch.raw
    assert "in broken" in report.read_text()
    assert b"sk-hidden" not in cinch.raw + report.read_bytes()
    assert "RuntimeError" in (own_home / "cinch" / "state" / "cinch.log").read_text()
