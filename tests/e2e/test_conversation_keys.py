from __future__ import annotations

import pytest
from fakes.script import Reply

pytestmark = pytest.mark.pty

LONG = "\n\n".join(f"Line {number}" for number in range(80))


def test_conversation_is_searched_and_opened_in_a_pager(terminal, serve, tmp_path):
    pager = tmp_path / "pager"
    pager.write_text('#!/bin/sh\necho "PAGER HAS $(grep -c Line "$1") LINES"\nread -r done\n')
    pager.chmod(0o755)
    server = serve([Reply(f"A needle first.\n\n{LONG}")])
    env = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x", "PAGER": str(pager)}
    app = terminal(env=env)
    app.see(r"anthropic/claude|Ask for a change")
    app.enter("go")
    app.see("Line 79")

    app.type("\x06")
    app.see("Find ")
    app.type("needle")

    app.see("1 of 1")
    app.see("A needle first")

    app.type("\x1b")

    app.miss("Find ")
    app.see("Line 79")

    app.type("\x0f")
    app.see("PAGER HAS 80 LINES")
    app.type("\r")

    app.see("Line 79")
    app.enter("/quit")
