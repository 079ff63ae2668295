from __future__ import annotations

import time

import pytest
from fakes.script import Reply, tokens

pytestmark = pytest.mark.pty

FRAMES_A_SECOND = 30
SAID = "\n\n".join(f"Paragraph {number} has some words that are written one after the other." for number in range(25))


def test_streaming_past_the_screen_never_clears_it(terminal, serve):
    server = serve([Reply(f"{SAID}\n\nThe end.", pause_s=0.005)])
    app = terminal(env={"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"})
    app.see(r"anthropic/claude|Ask for a change")
    # The terminal's reply that it supports synchronized output.
    app.type("\x1b[?2026;2$y")
    app.settle()
    before, began = len(app.raw), time.monotonic()

    app.enter("go")
    app.see("The end")
    app.settle()
    seconds = time.monotonic() - began

    written = app.raw[before:]
    assert b"\x1b[2J" not in written
    assert b"\x1b[3J" not in written
    assert written.count(b"\x1b[?2026h") == written.count(b"\x1b[?2026l") > 0
    assert written.count(b"\x1b[?2026l") <= FRAMES_A_SECOND * seconds
    assert len(written) / len(tokens(SAID)) < 250
