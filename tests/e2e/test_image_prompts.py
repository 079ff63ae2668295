from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from e2e.conftest import ROOT
from e2e.lines import Lines
from fakes.pictures import png
from fakes.script import Hang, Reply

pytestmark = pytest.mark.pty

SHOT = png(1280, 720)
MARK = "[image 1: shot.png 1280×720]"


@pytest.fixture
def shot(tmp_path: Path) -> Path:
    path = tmp_path / "my shots" / "shot.png"
    path.parent.mkdir()
    path.write_bytes(SHOT)
    return path


def pasted(text: object) -> str:
    return f"\x1b[200~{text}\x1b[201~"


def said(server, request: int) -> list:
    return server.requests[request].body["messages"][-1]["content"]


def is_sent(content: list, *texts: str) -> bool:
    """Return the texts, with the image after the first."""
    [image] = [each["source"]["data"] for each in content if each["type"] == "image"]
    kinds = [each["type"] for each in content]
    found = [each["text"].strip() for each in content if each["type"] == "text"]
    return (base64.b64decode(image), found, kinds.index("image")) == (SHOT, list(texts), 1)


def environment(server) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"}


def test_dropped_image_is_previewed_queued_withdrawn_and_sent(terminal, serve, shot):
    server = serve([Hang(), Reply("A till."), Reply("Still a till.")])
    app = terminal(env=environment(server))
    app.see("Ask for a change")
    app.enter("wait")
    app.see("RUNNING")

    app.type(f"what is {pasted(str(shot).replace(' ', chr(92) + ' '))}")
    app.see("shot.png 1280×720")
    app.type("\x1b\r")
    app.see("afterwards: what is")
    app.type("\x1b[A")
    app.miss("afterwards: what is")
    app.type("\x1b")
    app.see("Stopped")
    app.type("here?\r")

    app.see("A till")
    # The stopped prompt precedes it in the same message.
    assert is_sent(said(server, 1)[1:], f"what is {MARK}", "here?")

    app.enter("/quit")
    app.wait()
    again = terminal("-c", env=environment(server))
    again.see("A till")
    again.see("shot.png 1280×720")
    again.enter("sure?")
    again.see("Still a till")
    assert "image" in str(server.requests[-1].body["messages"][:-1])


def test_image_path_in_plain_mode_is_attached(project: Path, serve, shot):
    server = serve([Reply("A till.")])
    lines = Lines(project, {**os.environ, "PYTHONPATH": str(ROOT), **environment(server)}, "--plain", term="dumb")
    try:
        lines.see("You: ")
        lines.enter(f"what is '{shot}' here?")
        lines.see("A till")
    finally:
        lines.close()

    assert is_sent(said(server, 0), f"what is '{shot}' {MARK}", "here?")
