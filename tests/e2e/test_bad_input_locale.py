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


def test_the_app_draws_what_it_draws_everywhere_whatever_the_locale_says(terminal, model):
    cinch = terminal(env=model | NARROW)
    cinch.see("anthropic/claude")

    cinch.enter("hello")
    screen = cinch.see(SAID.split()[0])

    assert "╭───" in screen
    assert "❯ hello" in screen
    assert "\\u" not in screen
    cinch.enter("/quit")
    assert cinch.wait() == 0


def test_sessions_are_listed_in_a_locale_that_lacks_their_letters_and_exported_whole(printed, model):
    printed("-p", SAID, **model)

    listed = printed("sessions", "list", **NARROW)
    exported = printed("sessions", "export", "latest", "--format", "json", **NARROW)

    assert listed.returncode == 0
    assert "? ?" in listed.stdout
    assert SAID in json.dumps(json.loads(exported.stdout), ensure_ascii=False)
