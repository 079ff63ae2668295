from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cinch_tui.terminal.external_programs import page, pager_command
from cinch_tui.transcript.blocks import NoticeBlock, ReplyBlock, ThinkingBlock, ToolBlock, UserBlock, transcript_text
from harness.views import TerminalView


@contextmanager
def suspend() -> Iterator[None]:
    yield


def test_the_pager_gets_a_private_file_that_is_gone_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, note = tmp_path / "a pager.py", tmp_path / "note"
    script.write_text(
        "import pathlib, sys\nfile = pathlib.Path(sys.argv[-1])\n"
        f"pathlib.Path({str(note)!r}).write_text(f'{{file.stat().st_mode & 0o77}} {{file}} {{file.read_text()}}')\n"
    )
    monkeypatch.setenv("PAGER", f'"{sys.executable}" "{script}"')

    failure = page("all of it", suspend)

    mode, path, *text = note.read_text().split(maxsplit=2)
    assert (failure, mode, text) == ("", "0", ["all of it"])
    assert not Path(path).exists()


@pytest.mark.parametrize(
    ("pager", "said"),
    [
        ("no-such-pager -x", "Pager no-such-pager not found; set $PAGER."),
        ('less "', "Invalid $PAGER: No closing quotation."),
        ("false", "The pager false exited with status 1."),
    ],
)
def test_pager_error_is_reported(pager: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", pager)

    assert page("text", suspend) == said


def test_less_starts_at_the_end_and_stays() -> None:
    assert pager_command({"PAGER": "/usr/bin/less -R"}) == ["/usr/bin/less", "-R", "-+F", "+G"]
    assert pager_command({"PAGER": "most"}) == ["most"]


def test_all_is_reported_folded_or_not_and_nothing_of_it_is_obeyed() -> None:
    call = ToolBlock("1", "Bash", "make")
    call.status, call.view = "done", TerminalView("make", "\x1b[31mred\x1b[0m\n" * 300, 0)
    thought = ThinkingBlock("Hm.\nSo.")
    thought.finish()

    text = transcript_text(
        [UserBlock("Do\nit"), thought, call, ReplyBlock("**Done**"), NoticeBlock("stopped", "warning")]
    )

    assert text.startswith("> Do\n> it\n\n| Hm.\n| So.\n\n* Bash make (done)\n    $ make\n    red\n")
    assert text.count("    red\n") == 300
    assert text.endswith("\n\n**Done**\n\n- Stopped\n")
    assert "\x1b" not in text
