from __future__ import annotations

import pytest
from fakes.script import Reply

pytestmark = pytest.mark.pty

SPELLINGS = {
    "vt100": {"alt+enter": "\x1b\r", "alt+up": "\x1b\x1b[A", "f1": "\x1bOP", "escape": "\x1b", "ctrl+f": "\x06"},
    "xterm": {
        "alt+enter": "\x1b[27;3;13~",
        "alt+up": "\x1b[1;3A",
        "f1": "\x1b[11~",
        "escape": "\x1b",
        "ctrl+f": "\x1b[27;5;102~",
    },
    "kitty": {
        "alt+enter": "\x1b[13;3u",
        "alt+up": "\x1b[1;3A",
        "f1": "\x1b[P",
        "escape": "\x1b[27u",
        "ctrl+f": "\x1b[102;5u",
    },
}


@pytest.mark.parametrize("kind", SPELLINGS)
def test_keys_work_in_each_encoding(terminal, serve, kind: str):
    keys = SPELLINGS[kind]
    long = "\n\n".join(f"Line {number}" for number in range(60))
    server = serve([Reply(f"A needle.\n\n{long}"), Reply("And more.")])
    app = terminal(env={"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"})
    app.see("Ask for a change")

    app.type("begin" + keys["alt+enter"])
    app.see("Line 59")

    app.type(keys["alt+up"])
    app.see("❯ begin")

    app.type(keys["ctrl+f"])
    app.see("Find ")
    app.type("needle")
    app.see("1 of 1")
    app.type(keys["escape"])
    app.miss("Find ")

    app.type(keys["f1"])
    app.see("In the prompt")
    app.type(keys["escape"])
    app.miss("In the prompt")


def test_tab_switches_panels_and_letters_go_to_the_prompt(terminal, serve):
    server = serve([Reply("Said.")])
    app = terminal(env={"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"})
    app.see("Ask for a change")
    app.enter("begin")
    app.see(r"Said\.")

    app.type("\t")
    app.see("In the conversation:")
    app.type("\x1b[1;2A")
    app.see("y copy")
    app.type("y")
    app.see("Copied 5 characters")
    app.type("\t")
    app.type("yes")
    app.see("yes")
    app.type("\t")
    app.type(", go")

    app.see("yes, go")


def test_colours_and_hidden_channels_have_keys(terminal, serve):
    server = serve([Reply("Said.", thinking="Hm, what now?")])
    app = terminal(env={"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"})
    app.see("Ask for a change")
    app.enter("begin")
    app.see("Thought")
    app.see(r"Said\.")

    app.type("\x1b[15~")
    app.miss("Thought")
    app.see(r"Said\.")
    app.type("\x1b[15~")
    app.see("Thought")

    app.type("\x1bOR")
    app.see("The theme is mono-white")
    app.type("\x1bOS")
    app.see("No other model is configured")
