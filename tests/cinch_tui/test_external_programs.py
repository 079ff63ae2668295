from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from cinch_tui.terminal import desktop
from cinch_tui.terminal.desktop import open_in_browser, show_on_desktop, viewer
from cinch_tui.terminal.external_programs import at_line, edit_at


def program(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    return tmp_path


def test_without_a_desktop_nothing_is_opened(bin_folder: Path) -> None:
    program(bin_folder, "xdg-open", "exit 0")

    assert viewer({}, "linux") == []
    assert viewer({"WAYLAND_DISPLAY": "w"}, "linux") == ["xdg-open"]
    assert viewer({}, "darwin") == ["open"]


def test_the_viewer_is_given_the_address(bin_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reported = bin_folder / "reported"
    program(bin_folder, "xdg-open", f'printf %s "$1" > {reported}.part; mv {reported}.part {reported}')
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(desktop.sys, "platform", "linux")

    assert show_on_desktop("https://example.org/a?b=c&d")

    for thread in desktop.threading.enumerate():
        if thread.name == "viewer":
            thread.join()
    assert reported.read_text() == "https://example.org/a?b=c&d"


@pytest.mark.parametrize("form", ["my-browser", "my-browser --new --url=%s:other"])
def test_browser_of_the_environment_opens_a_login(bin_folder: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    reported = bin_folder / "reported"
    program(bin_folder, "my-browser", f'for last; do :; done; printf %s "$last" > {reported}')
    monkeypatch.setenv("BROWSER", form)

    assert open_in_browser("https://example.org/a?b=c&d")

    for thread in desktop.threading.enumerate():
        if thread.name == "viewer":
            thread.join()
    assert reported.read_text().removeprefix("--url=") == "https://example.org/a?b=c&d"


@pytest.mark.parametrize(
    ("editor", "words"),
    [("vim", ["+7", "a b.py"]), ("code", ["-g", "a b.py:7"]), ("hx", ["a b.py:7"]), ("my-own", ["a b.py"])],
)
def test_each_editor_receives_the_line_in_its_own_syntax(editor: str, words: list[str]) -> None:
    assert at_line(f"/opt/bin/{editor}", Path("a b.py"), 7) == words


def test_an_editor_that_fails_or_is_missing_is_reported(bin_folder: Path) -> None:
    program(bin_folder, "vim", "exit 3")

    failed = edit_at(Path("a.py"), 1, "vim", nullcontext)
    missing = edit_at(Path("a.py"), 1, "not-there", nullcontext)

    assert failed == "The editor vim exited with status 3."
    assert "not found" in missing
