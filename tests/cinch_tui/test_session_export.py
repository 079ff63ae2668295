"""`cinch sessions export` and `/export`."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest
from fakes.session_commands import Run
from fakes.talk import call, reply, result, rounded, tell, tour, written

from cinch_tui.reports.export_files import FORMATS, export_conversation
from harness.errors import CinchError
from harness.events import MessageEnd, SubagentEvent, ToolExecutionEnd
from harness.messages import new_id, user
from harness.session.recorder import SessionRecorder
from harness.session.resume import load_session


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


def test_export_as_markdown_fences_what_holds_fences(run: Run, tmp_path: Path):
    written(tmp_path, user("go"), reply(call("a")), result("a", "```\nx\n```"))

    assert "````\n```\nx\n```\n````" in run("export", "latest")[1]


def test_export_as_json_holds_every_message(run: Run, tmp_path: Path):
    written(tmp_path, *tour())

    exported = json.loads(run("export", "latest", "--format", "json")[1])

    assert [message["type"] for message in exported["messages"]] == [
        "user_message", "assistant_message", "tool_result", "tool_result", "assistant_message",
    ]  # fmt: skip


def test_an_export_for_claude_is_read_back_the_same(run: Run, tmp_path: Path):
    path = written(tmp_path, *tour())
    run("rename", "latest", "a", "title")
    out = tmp_path / f"{path.stem}.jsonl"

    out.write_text(run("export", "latest", "--format", "claude")[1], encoding="utf-8")

    exported = load_session(out)
    assert list(exported.messages) == list(load_session(path).messages)
    assert exported.title == "a title"
    assert not [line for line in out.read_text(encoding="utf-8").splitlines() if '"type":"cinch-' in line]


def test_exported_claude_file_is_imported_again(run: Run, tmp_path: Path):
    messages = tour()
    written(tmp_path, *messages)
    run("export", "latest", "-o", "made.jsonl")

    status, out, _ = run("import", "made.jsonl")

    imported = next(tmp_path.glob(f"data/projects/*/{out.split()[2].rstrip(';')}.jsonl"))
    assert status == 0
    assert [each.content for each in load_session(imported).messages] == [each.content for each in rounded(messages)]


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
    return SimpleNamespace(
        options=SimpleNamespace(cwd=tmp_path), store=store, session_file=store and store.path, agent=agent
    )


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


def test_target_of_an_export_is_a_folder_or_has_a_known_suffix(tmp_path: Path):
    assembly = assembly_of(tmp_path, None, *tour())

    made = export_conversation(assembly, "html", "new/folder/")

    assert made == tmp_path / "new/folder/look-at-both-abc.html"
    with pytest.raises(CinchError, match=r"notes is neither a format.*formats: md, html.*suffixes: \.md"):
        export_conversation(assembly, "", "notes")
