from __future__ import annotations

import pytest
from fakes.script import Hang, Reply

pytestmark = pytest.mark.pty


def environment(server, **more: str) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x", **more}


def said(server, request: int = -1) -> list[str]:
    content = server.requests[request].body["messages"][-1]["content"]
    return [content] if isinstance(content, str) else [each["text"] for each in content if "text" in each]


def test_queued_messages_are_edited_moved_and_sent_in_that_order(terminal, serve):
    server = serve([Hang(), Reply("Heard first."), Reply("Heard second.")])
    app = terminal(env=environment(server))
    app.see("Ask for a change")
    app.enter("wait")
    app.see("RUNNING")
    for word in ("first", "second", "third"):
        app.enter(word)
        app.see(f"next: {word}")

    app.type("\x1bq")
    app.see("d remove")
    app.type("d")
    app.miss("next: first")
    app.type("e")
    app.see("Enter saves")
    app.enter(" thoughts")
    app.see("next: second thoughts")
    app.type("\x1bq")
    app.see("d remove")
    app.type("J")
    app.until(lambda: 0 < app.text.find("next: third") < app.text.find("next: second thoughts"), "the other order")
    app.type("\x1b")
    app.miss("d remove")
    app.type("\x1b")

    app.see("Heard second")
    assert [said(server, request)[-1] for request in (-2, -1)] == ["third", "second thoughts"]


def test_vi_keys_work_on_a_terminal_without_chords(terminal, serve):
    server = serve([Reply("Heard.")])
    app = terminal(env=environment(server, CINCH_UI_VIM="true"))
    app.see("INSERT")
    app.type("fix the tset")
    app.see("fix the tset")

    app.type("\x1bbcwtest")
    app.see("fix the test")
    app.type("\x1b")
    app.see("NORMAL")
    app.type("0dw")
    app.miss("fix")
    app.type("\r")

    app.see("Heard")
    assert said(server)[-1] == "the test"
