from __future__ import annotations

import json

import pytest
from fakes.script import Reply

pytestmark = pytest.mark.pty

SAID = "größe ❯ 漢"
NARROW = {"PYTHONIOENCODING": "latin-1"}


@pytest.fixture
def model(serve):
    server = serve(lambda _: Reply(SAID))
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"}


def test_app_renders_the_same_in_any_locale(terminal, model):
    cinch = terminal(env=model | NARROW)
    cinch.see("anthropic/claude")

    cinch.enter("hello")
    screen = cinch.see(SAID.split()[0])

    assert "╭───" in screen
    assert "❯ hello" in screen
    assert "\\u" not in screen
    cinch.enter("/quit")
    assert cinch.wait() == 0


def test_sessions_with_unsupported_characters_are_listed_and_exported_in_any_locale(printed, model):
    printed("-p", SAID, **model)

    listed = printed("sessions", "list", **NARROW)
    exported = printed("sessions", "export", "latest", "--format", "json", **NARROW)

    assert listed.returncode == 0
    assert "? ?" in listed.stdout
    assert SAID in json.dumps(json.loads(exported.stdout), ensure_ascii=False)
