from __future__ import annotations

import pytest
from fakes.script import Reply

pytestmark = pytest.mark.pty

TALK = "".join(
    f"## Step {number}\n\nA **strong** word, `code`, [a link](https://example.org/{number}), 漢字 and cafe\u0301.\n\n"
    f"```python\ndef step_{number}(path):\n    return path\n```\n\n"
    for number in range(12)
)


def but_the_scrollbar(text: str) -> list[str]:
    """Return the screen without its scrollbar, whose thumb does not move with every line."""
    return [line[:98].rstrip() for line in text.splitlines()]


def test_incremental_painting_equals_a_full_frame(terminal, serve):
    server = serve([Reply(f"{TALK}\n\nThat is all.", pause_s=0.001)])
    app = terminal(env={"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"})
    app.see(r"anthropic/claude|Ask for a change")
    app.enter("go")
    app.see("That is all")
    for keys, sign in (("\x06", "Find "), ("漢字", " of 12")):
        app.type(keys)
        app.see(sign)
    app.type("\x1b")
    app.miss("Find ")
    app.type("\x1b[5~")
    app.miss("That is all")
    app.type("\x1b[1;5F")
    app.see("That is all")
    app.type("some words of mine\x1b[D\x1b[D\x17")
    app.see("some words of ne ")
    app.settle()
    bit_by_bit = but_the_scrollbar(app.text)

    app.resize(110, 40)
    app.settle()
    app.resize(100, 32)
    app.settle()

    assert but_the_scrollbar(app.text) == bit_by_bit
