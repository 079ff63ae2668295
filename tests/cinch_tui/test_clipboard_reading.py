from __future__ import annotations

import base64
from pathlib import Path

import pytest
from fakes.chat import until
from fakes.pictures import png
from fakes.prompt_app import PromptApp

from cinch_tui.terminal.clipboard import ClipboardContent, read_clipboard
from cinch_tui.widgets.prompt.prompt import Prompt
from harness.errors import CinchError

SHOT = png(20, 10)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    (tmp_path / "shot.png").write_bytes(SHOT)
    monkeypatch.setenv("PATH", str(folder))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    return folder


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def wayland(folder: Path, monkeypatch: pytest.MonkeyPatch, types: str, content: str) -> None:
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    program(folder, "wl-paste", f'case "$*" in *--list-types*) echo "{types}";; {content} esac')


async def test_picture_is_taken_from_wayland_before_the_text_that_is_for_it(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    wayland(programs, monkeypatch, "text/html image/png", f"*image/png*) exec /bin/cat {tmp_path}/shot.png;;")

    assert await read_clipboard() == ClipboardContent(SHOT)


async def test_picture_is_taken_from_x11(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DISPLAY", ":0")
    program(programs, "xclip", f'case "$*" in *TARGETS*) echo image/png;; *) exec /bin/cat {tmp_path}/shot.png;; esac')

    assert await read_clipboard() == ClipboardContent(SHOT)


async def test_picture_is_taken_from_windows(programs: Path):
    program(programs, "powershell.exe", f'case "$*" in *GetImage*) echo {base64.b64encode(SHOT).decode()};; esac')

    assert await read_clipboard() == ClipboardContent(SHOT)


async def test_text_is_taken_where_there_is_no_picture(programs: Path, monkeypatch: pytest.MonkeyPatch):
    wayland(programs, monkeypatch, "text/plain", "*) printf 'two\\nlines';;")

    assert await read_clipboard() == ClipboardContent(text="two\nlines")


async def test_file_that_was_copied_in_a_file_manager_is_pasted_as_what_it_is(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    wayland(programs, monkeypatch, "text/uri-list", f"*uri-list*) echo file://{tmp_path}/shot.png;;")
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("ctrl+v")
        await until(pilot, lambda: app.input.text)

        assert app.input.text == "[image 1: shot.png 20×10] "


async def test_without_a_program_it_is_explained_what_to_do(programs: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(CinchError, match="install wl-clipboard or xclip"):
        await read_clipboard()

    monkeypatch.setenv("SSH_CONNECTION", "1")
    with pytest.raises(CinchError, match="not available over SSH"):
        await read_clipboard()


async def test_without_a_program_what_was_copied_here_is_pasted(programs: Path, tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("alt+v")
        await until(pilot, lambda: app.received)
        app.copy_to_clipboard("copied here")
        await pilot.press("alt+v")

        assert app.input.text == "copied here"
        assert [type(message) for message in app.received] == [Prompt.PasteRejected]


async def test_clipboard_that_does_not_answer_is_given_up_and_nothing_is_left(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("cinch_tui.terminal.clipboard.READ_TIMEOUT_S", 0.2)
    monkeypatch.setenv("DISPLAY", ":0")
    program(programs, "xclip", f"echo $$ > {tmp_path}/pid; exec /bin/sleep 60")

    with pytest.raises(CinchError, match="did not answer"):
        await read_clipboard()

    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()
