"""`cinch sessions export` and `/export`."""

from __future__ import annotations

import io
import json
import stat
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from types import SimpleNamespace

import pytest
from fakes.talk import call, reply, result, tell, tour, written

from cinch_tui.print_mode.output import Output
from cinch_tui.reports.export_files import FORMATS, export_conversation
from cinch_tui.subcommands import sessions
from harness.errors import CinchError
from harness.events import MessageEnd, SubagentEvent, ToolExecutionEnd
from harness.messages import new_id, user
from harness.session.recorder import SessionRecorder
from harness.session.resume import load_session

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("CINCH_HOME", str(tmp_path))

    def run_command(*argv: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with redirect_stderr(err):
            status = sessions.run(list(argv), tmp_path, Output(out))
        return status, out.getvalue(), err.getvalue()

    return run_command


def test_export_writes_a_private_file_in_the_format_of_its_suffix(run: Run, tmp_path: Path):
    written(tmp_path, *tour())

    starts = {"html": "<!DOCTYPE html>", "md": "# look", "json": "{\n", "jsonl": '{"parentUuid":null'}
    for suffix, start in starts.items():
        status, out, _ = run("export", "latest", "-o", f"made.{suffix}")
        assert (status, out) == (0, f"wrote {tmp_path}/made.{suffix}\n")
        assert (tmp_path / f"made.{suffix}").read_text().startswith(start)
        assert stat.S_IMODE((tmp_path / f"made.{suffix}").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", FORMATS)
def test_export_prints_every_format(name: str, run: Run, tmp_path: Path):
    written(tmp_path, *tour())

    status, out, _ = run("export", "latest", "--format", name)

    assert status == 0
    assert "both are fine" in out


def test_export_replaces_a_file_only_with_force(run: Run, tmp_path: Path):
    written(tmp_path, *tour())
    target = tmp_path / "kept.md"
    target.write_text("mine")

    status, _, err = run("export", "latest", "-o", "kept.md")
    assert (status, target.read_text()) == (1, "mine")
    assert "kept.md exists" in err

    assert run("export", "latest", "-o", "kept.md", "--force")[0] == 0
    assert target.read_text().startswith("# look")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".kept")] == []


@pytest.mark.parametrize(("name", "files"), [("claude", 2), ("phi", 2), ("html", 1)])
def test_export_to_a_folder_includes_subagents(name: str, files: int, run: Run, tmp_path: Path):
    store = SessionRecorder(tmp_path / "data", tmp_path, new_id())
    tell(store, user("delegate"), reply(call("sub", "delegate_subagent")))
    store.store(SubagentEvent(call_id="sub", event=MessageEnd(message=user("the task"), run_id="child.m.1")))
    store.store(ToolExecutionEnd(result=result("sub", "ok", "delegate_subagent"), child_run_id="child.m.1"))
    store.close()

    status, out, _ = run("export", "latest", "--format", name, "-o", "made/")

    assert (status, len(out.splitlines())) == (0, files)
    made = [path for path in (tmp_path / "made").rglob("*") if path.is_file()]
    assert len(made) == files
    assert "the task" in "".join(path.read_text() for path in made)
    if name == "claude":
        assert (tmp_path / "made" / store.path.stem / "subagents" / "agent-child.m.1.jsonl") in made
    if name == "phi":
        assert sorted(json.loads(path.read_text())["session_id"] for path in made) == sorted([store.path.stem, "child"])


def test_exported_claude_file_is_imported_again(run: Run, tmp_path: Path):
    path = written(tmp_path, *tour(), user("next"))
    run("export", "latest", "-o", "made.jsonl")

    out = run("import", "made.jsonl")[1]

    again = load_session(path.with_name(f"{out.split()[2].rstrip(';')}.jsonl"))
    assert [message.text for message in again.messages] == [message.text for message in load_session(path).messages]


def test_import_reports_what_it_leaves_out(run: Run, tmp_path: Path):
    lines = [
        {"type": "session_meta", "payload": {"id": "x", "cwd": "/p"}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"text": "hello"}]}},
        {"type": "response_item", "payload": {"type": "hologram"}},
    ]
    (tmp_path / "rollout.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines) + "{torn\n")

    status, out, _ = run("import", "rollout.jsonl")

    assert status == 0
    assert out.splitlines()[1:] == ["unreadable lines, skipped: 1", "not imported: hologram (1)"]


def test_import_of_an_unknown_format_names_the_known_ones(run: Run, tmp_path: Path):
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n')

    status, _, err = run("import", "x.jsonl")

    assert status == 1
    assert all(name in err for name in ("Claude Code", "Codex", "swink-agent"))


def assembly_of(tmp_path: Path, store: SessionRecorder | None, *messages: object) -> SimpleNamespace:
    agent = SimpleNamespace(session_id="abc", history=SimpleNamespace(messages=messages))
    return SimpleNamespace(options=SimpleNamespace(cwd=tmp_path), store=store, agent=agent)


def test_conversation_without_a_session_file_is_exported_from_memory(tmp_path: Path):
    made = export_conversation(assembly_of(tmp_path, None, *tour()), "md", "")

    assert made.name == "look-at-both-abc.md"
    assert "both are fine" in made.read_text()


def test_export_of_a_conversation_never_replaces_a_file(tmp_path: Path):
    made = [export_conversation(assembly_of(tmp_path, None, *tour()), "", "mine.html").name for _ in range(2)]

    assert made == ["mine.html", "mine-2.html"]


def test_empty_conversation_is_not_exported(tmp_path: Path):
    with pytest.raises(CinchError, match="no message"):
        export_conversation(assembly_of(tmp_path, None), "md", "")
