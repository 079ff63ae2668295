from __future__ import annotations

import pytest
from fakes.script import Reply

pytestmark = pytest.mark.pty

OWN = """\
[keys]
"prompt.submit" = "F12"
"prompt.newline" = "Enter"
"chat.search" = "Ctrl-X, Alt+X"
"line.cut" = "none"
"approval.deny" = "Z"
"chat.help" = "Ctrl+G"
"""


@pytest.fixture
def app(terminal, serve, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(OWN)
    call = ("bash", {"command": "rm -r till"})
    server = serve([Reply("A needle first."), Reply(calls=[call]), Reply("Left alone.")])
    env = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x", "CINCH_HOME": str(home)}
    app = terminal(env={**env, "CINCH_KEYRING": "off"})
    app.see(r"Ask for a change")
    return app


def test_configured_keys_replace_the_defaults(app):
    app.see(r"chat\.help \(help\)\s+cannot be Ctrl\+G, which is prompt\.open_editor")

    app.type("one\rtwo")
    app.see("one *│?\n.*two")
    app.type("\x1b[24~")
    app.see("A needle first")

    app.type("\x06")
    app.type("\x18")
    app.see("Find ")
    app.type("needle")
    app.see("1 of 1")
    app.type("\x1b")
    app.miss("Find ")

    app.type("\x1bx")
    app.see("Find ")
    app.type("\x1b")
    app.miss("Find ")

    app.type("delete\x1b[24~")
    app.see(r"rm -r till(.*\n)*.* Z Deny")
    app.miss("keys still go to the prompt")
    app.settle()
    app.type("Z")
    app.see("Left alone")
