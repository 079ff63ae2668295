from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from e2e.conftest import ROOT
from e2e.lines import Lines
from fakes.judges import accepted_by_anthropic
from fakes.model_server import ModelServer
from fakes.pictures import png
from fakes.script import Failure, Reply

SHOT, PLAN = png(1280, 720), png(64, 48)
SHOWN, ALSO = "[image 1: shot.png 1280×720]", "[image 2: my plan.png 64×48]"
ANSWER = (Reply("It is a till."),)
BLIND = Failure(400, "this model does not support image input")


@pytest.fixture(autouse=True)
def pictures(project: Path) -> None:
    (project / "shot.png").write_bytes(SHOT)
    (project / "my plan.png").write_bytes(PLAN)


@pytest.fixture
def answer(printed, serve) -> Callable[..., tuple[subprocess.CompletedProcess[str], ModelServer]]:
    """Run print mode with these arguments; return its output and the requests of the service."""

    def ask(*args: str, script=ANSWER, before: str = ""):
        server = serve(script)
        return printed("-p", *args, before=before, **environment(server)), server

    return ask


def environment(server: ModelServer) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x", "CINCH_RETRY_MAX_RETRIES": "0"}


def said(server: ModelServer, request: int = -1) -> list[str | bytes]:
    """Return the texts and image bytes of the last message of a request."""
    body = server.requests[request].body
    assert accepted_by_anthropic(body)
    content = body["messages"][-1]["content"]
    return [
        base64.b64decode(each["source"]["data"]) if each["type"] == "image" else each["text"].strip()
        for each in ([{"type": "text", "text": content}] if isinstance(content, str) else content)
    ]


def test_answer_is_about_the_named_image(answer):
    done, server = answer("what is wrong here?", "--image", "shot.png")

    assert (done.returncode, done.stdout, done.stderr) == (0, "It is a till.\n", "")
    assert said(server) == [f"what is wrong here? {SHOWN}", SHOT]


@pytest.mark.parametrize(
    "args",
    [
        ("which is newer?", "--image", "shot.png", "my plan.png"),
        ("-i", "shot.png", "my plan.png", "which is newer?"),
        ("--image=shot.png", "which is newer?", "-i", "my plan.png"),
    ],
)
def test_several_images_are_sent_in_order(answer, args: tuple[str, ...]):
    _, server = answer(*args)

    assert said(server) == [f"which is newer? {SHOWN}", SHOT, ALSO, PLAN]


def test_prompt_after_an_image_can_name_another_one(answer):
    _, server = answer("--image", "shot.png", "is it my shot.png")

    assert said(server) == [f"is it my shot.png {SHOWN}", SHOT]


def test_piped_text_precedes_the_image(answer):
    _, server = answer("why?", "-i", "shot.png", before="exec < <(echo a line)")

    assert said(server) == [f"why?\n\na line\n\n{SHOWN}", SHOT]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nowhere.png", "nowhere.png cannot be read: No such file"),
        ("till", "cannot be read: Is a directory"),
        ("till/receipt.py", "till/receipt.py is text; supported formats: PNG, JPEG, GIF, WebP"),
        ("empty.png", "empty.png is empty"),
        ("half.png", "half.png is damaged"),
        ("doc.png", "doc.png is a PDF document"),
    ],
)
def test_unsupported_image_is_rejected_before_anything_is_sent(answer, project: Path, name: str, why: str):
    (project / "empty.png").touch()
    (project / "half.png").write_bytes(SHOT[: len(SHOT) // 2])
    (project / "doc.png").write_bytes(b"%PDF-1.7")

    done, server = answer("what is it?", "--image", name)

    assert done.returncode == 2
    assert done.stderr.startswith("cinch: --image: ")
    assert why in done.stderr
    assert server.requests == []


def test_oversized_image_is_downscaled(answer, project: Path):
    (project / "shot.png").write_bytes(png(8_001, 8))

    _, server = answer("what is it?", "--image", "shot.png")

    assert said(server)[0] == "what is it? [image 1: shot.png 2000×2]"


def test_model_without_image_support_and_the_user_are_informed_of_the_omission(answer):
    done, server = answer("what is it?", "--image", "shot.png", script=[BLIND, Reply("I cannot tell.")])

    assert (done.returncode, done.stdout) == (0, "I cannot tell.\n")
    assert "does not support images" in done.stderr
    assert "omitted: this model does not support images" in str(said(server))


def test_image_alone_is_not_a_prompt(answer):
    done, server = answer("--image", "shot.png")

    assert done.returncode == 2
    assert "needs a prompt" in done.stderr
    assert server.requests == []


def test_image_mentioned_with_at_sign_is_attached_as_in_the_app(answer):
    _, server = answer("what is @shot.png about?")

    prompt, described, picture = said(server)
    assert prompt == "what is @shot.png about?"
    assert described.startswith('<attached path="shot.png" extent="picture">')
    assert picture == SHOT


@pytest.mark.pty
def test_first_prompt_of_the_app_has_the_image(cinch):
    app = cinch([Reply("A till.")], "--image", "shot.png", "what is it?")

    app.see("A till")

    assert said(app.server) == [f"what is it? {SHOWN}", SHOT]


@pytest.mark.pty
def test_image_without_a_prompt_is_attached_in_the_app(cinch):
    app = cinch([Reply("A till.")], "--image", "shot.png")
    app.see("shot.png 1280×720")

    app.enter("what is it?")
    app.see("A till")

    assert said(app.server) == [SHOWN, SHOT, "what is it?"]


@pytest.mark.pty
def test_invalid_image_leaves_the_screen_unchanged(terminal):
    app = terminal("--image", "nowhere.png", env={"ANTHROPIC_API_KEY": "sk-x"})

    app.see(r"cannot be read: No such file")
    assert app.wait() == 2


@pytest.mark.pty
def test_plain_mode_sends_it_with_the_first_message(project: Path, serve):
    server = serve([Reply("A till."), Reply("Still.")])
    lines = Lines(
        project, {**os.environ, "PYTHONPATH": str(ROOT), **environment(server)}, "--plain", "--image", "shot.png"
    )
    try:
        lines.see(r"Notice: Attached to your next prompt: shot\.png")
        lines.see("You: ")
        lines.enter("what is it?")
        lines.see(r"Notice: Images sent: shot\.png")
        lines.see("A till")
        lines.see("You: ")
        lines.enter("sure?")
        lines.see("Still")
    finally:
        lines.close()

    assert said(server, 0) == [f"what is it? {SHOWN}", SHOT]
    assert said(server, 1) == ["sure?"]
