"""Dialogs of background jobs whose programs wait for a password, or draw."""

from __future__ import annotations

from types import SimpleNamespace

from cinch_tui.screens.job_terminal import JobTerminal
from harness.job_spec import JobScreen

TODO = "pick 6bb57c2 three\npick 881f735 four\n\n# Rebase 2212d1b..881f735 onto 2212d1b\n~\n~\n-- INSERT --"


def password_dialog() -> JobTerminal:
    return _dialog("ssh shop.example.com", None, "$ ssh shop.example.com\nada@shop.example.com's password: ")


def editor_dialog() -> JobTerminal:
    return _dialog("git rebase -i", JobScreen(TODO, 2, 6, is_alternate=True), "")


def _dialog(title: str, screen: JobScreen | None, output: str) -> JobTerminal:
    terminal = SimpleNamespace(hides_input=screen is None, screen=screen, resize=lambda *_: None)
    spec = SimpleNamespace(title=title, output=SimpleNamespace(latest=lambda _: output), input=terminal)
    job = SimpleNamespace(id="job-1", spec=spec, state="running", status_text="running for 3 s")
    return JobTerminal(job, terminal)  # type: ignore[arg-type] what the screen reads
