from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cinch_tui.terminal.external_programs import (
    EditedText,
    EditorFailed,
    EditorResult,
    EmptyText,
    UnchangedText,
    edit_prompt,
    editor_command,
)


class Terminal:
    """Stands for the app: notes when the terminal was given away and taken back."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    @contextmanager
    def suspend(self) -> Iterator[None]:
        self.notes.append("given")
        yield
        self.notes.append("taken")


@pytest.fixture
def terminal() -> Terminal:
    return Terminal()


def editor(folder: Path, body: str) -> str:
    """An editor that is a Python script; `file` is what it was given."""
    script = folder / "an editor.py"
    script.write_text(f"import os, pathlib, signal, sys\nfile = pathlib.Path(sys.argv[-1])\n{body}\n")
    return f'"{sys.executable}" "{script}" --flag'


def test_the_edited_text_comes_back_and_the_terminal_is_restored(tmp_path: Path, terminal: Terminal):
    command = editor(tmp_path, "file.write_text(file.read_text() + ' and more é\\n')")

    result = edit_prompt("a draft", command, terminal.suspend)

    assert result == EditedText("a draft and more é")
    assert terminal.notes == ["given", "taken"]


def test_the_file_is_private_markdown_and_gone_afterwards(tmp_path: Path, terminal: Terminal):
    note = tmp_path / "note"
    body = (
        f"pathlib.Path({str(note)!r}).write_text(f'{{file}}\\n{{file.stat().st_mode}}'); (file.parent / 'x~').touch()"
    )

    edit_prompt("draft", editor(tmp_path, body), terminal.suspend)

    path, mode = note.read_text().split("\n")
    assert path.endswith(".md")
    assert stat.S_IMODE(int(mode)) == 0o600
    assert not Path(path).parent.exists()


def test_an_empty_file_sends_nothing(tmp_path: Path, terminal: Terminal):
    assert edit_prompt("draft", editor(tmp_path, "file.write_text(' \\n')"), terminal.suspend) == EmptyText()


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("", UnchangedText()),
        ("file.write_text('other')", EditedText("other")),
        ("os.utime(file, (1, 1))", EditedText("draft")),
    ],
)
def test_unsaved_edits_are_not_sent(tmp_path: Path, terminal: Terminal, body: str, result: EditorResult):
    assert edit_prompt("draft", editor(tmp_path, body), terminal.suspend) == result


def test_a_failing_editor_is_reported_and_the_newest_text_kept(tmp_path: Path, terminal: Terminal):
    failed = edit_prompt("draft", editor(tmp_path, "sys.exit(3)"), terminal.suspend)
    killed = edit_prompt(
        "draft", editor(tmp_path, "file.write_text('saved'); os.kill(os.getpid(), signal.SIGKILL)"), terminal.suspend
    )

    assert isinstance(failed, EditorFailed)
    assert failed.text == "draft"
    assert "exited with status 3" in failed.reason
    assert isinstance(killed, EditorFailed)
    assert killed.text == "saved"
    assert terminal.notes == ["given", "taken"] * 2


@pytest.mark.parametrize(
    ("command", "word"), [("no-such-editor -w", "no-such-editor not found"), ('vi "open', "Invalid editor command")]
)
def test_a_command_that_cannot_run_leaves_the_terminal_alone(command: str, word: str, terminal: Terminal):
    result = edit_prompt("draft", command, terminal.suspend)

    assert isinstance(result, EditorFailed)
    assert word in result.reason
    assert result.text == "draft"
    assert terminal.notes == []


def test_a_terminal_that_cannot_be_given_away_is_reported(tmp_path: Path):
    @contextmanager
    def refuse() -> Iterator[None]:
        raise OSError("not here")
        yield

    result = edit_prompt("draft", editor(tmp_path, ""), refuse)

    assert isinstance(result, EditorFailed)
    assert "not here" in result.reason


def test_an_interrupt_is_the_editors_alone(tmp_path: Path, terminal: Terminal):
    body = "os.kill(os.getppid(), signal.SIGINT); file.write_text('still here')"

    assert edit_prompt("draft", editor(tmp_path, body), terminal.suspend) == EditedText("still here")


def test_the_setting_comes_before_the_environment_and_the_environment_before_the_usual(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    environ = {"EDITOR": "code --wait", "VISUAL": "nano"}

    assert editor_command("hx -c 'my file'", environ) == ["hx", "-c", "my file"]
    assert editor_command("", environ) == ["code", "--wait"]
    assert editor_command("", {"EDITOR": "", "VISUAL": "nano"}) == ["nano"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert editor_command("", {}) == []
    (tmp_path / "nano").touch(mode=0o755)
    assert editor_command("", {}) == ["nano"]
