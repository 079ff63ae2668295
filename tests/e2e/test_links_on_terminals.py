from __future__ import annotations

import re

import pytest
from fakes.script import Reply

pytestmark = pytest.mark.pty

SAID = "See https://example.org/a and `till/label.py:2` and [bad](javascript:alert(1))."


@pytest.fixture
def app(terminal, serve, tmp_path):
    editor = tmp_path / "vim"
    # The end of the path: all of it may be too long for one row.
    editor.write_text('#!/bin/sh\necho "EDITS $1 ${2##*/shop/}"\nread -r done\n')
    editor.chmod(0o755)
    server = serve([Reply(SAID)])
    app = terminal(env={"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x", "EDITOR": str(editor)})
    app.see(r"anthropic/claude|Ask for a change")
    app.enter("go")
    app.see("See https")
    app.see("IDLE")
    app.settle()
    return app


def test_only_safe_links_are_sent_to_the_terminal(app):
    reported = set(re.findall(rb"\x1b\]8;id=[^;]*;([^\x1b]+)\x1b\\", app.raw))

    assert {url.decode().rpartition("/")[2] for url in reported} == {"a", "label.py#2"}


def test_click_on_a_file_location_opens_the_editor_there(app):
    y, line = next((y, row) for y, row in enumerate(app.text.split("\n"), 1) if "label.py:2" in row)
    x = line.index("label.py") + 1

    app.type(f"\x1b[<0;{x};{y}M\x1b[<0;{x};{y}m")

    app.see(r"EDITS \+2 till/label\.py")
    app.type("\r")
    app.see("See https")


def select_the_last_block(app) -> None:
    app.type("\t")
    app.see("In the conversation:")
    app.type("\x1b[1;2A")
    app.see("l links")


def test_links_can_be_opened_or_copied_by_key(app):
    select_the_last_block(app)
    app.type("l")
    app.see("Links of this block")
    app.type("label")
    app.see("1 of 2")
    app.type("\r")
    app.see("in the browser or the editor")
    app.type("2")

    app.see(r"EDITS \+2 till/label\.py")
    app.type("\r")
    app.see("See https")


def test_block_without_links_shows_a_notice_and_opens_no_list(app):
    select_the_last_block(app)
    app.type("\x1b[1;2A")
    app.type("l")

    app.see("No links in this block")
    assert "no items" not in app.text
