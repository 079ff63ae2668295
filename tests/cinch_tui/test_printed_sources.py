from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from fakes.cited_chat_tapes import NASA, PERPLEXITY, SKY, TEXT
from fakes.fork_server import run_forked
from fakes.model_server import ModelServer, Raw, Reply
from fakes.talk import written

from cinch_tui.print_mode.output import Output
from cinch_tui.subcommands.sessions import run
from harness.messages import AssistantMessage, Text, user

LIST = f"""Sources:
[1] Sky - Wikipedia – {SKY}
[2] Why is the sky blue? – {NASA}
[3] Sky - Wikipedia – {SKY}
"""


@pytest.fixture
def server() -> ModelServer:
    return ModelServer([Raw(PERPLEXITY.body, chunk_size=7)])


def printed(folder: Path, server: ModelServer, *arguments: str) -> str:
    command = ["-p", "Why?", "-m", "perplexity/sonar", *arguments, "--base-url", server.openai_url]
    with server:
        done = run_forked(command, cwd=folder, env={**os.environ, "PERPLEXITY_API_KEY": "sk-canary"})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_answer_ends_with_its_sources(tmp_path: Path, server: ModelServer) -> None:
    assert printed(tmp_path, server) == f"{TEXT}\n\n{LIST}"


def test_json_output_separates_answer_and_sources(tmp_path: Path, server: ModelServer) -> None:
    reported = json.loads(printed(tmp_path, server, "--output-format", "json"))

    assert reported["result"] == TEXT
    assert reported["citations"] == [
        {"url": SKY, "title": "Sky - Wikipedia", "quote": ""},
        {"url": NASA, "title": "Why is the sky blue?", "quote": "Air scatters"},
        {"url": SKY, "title": "Sky - Wikipedia", "quote": ""},
    ]


def test_stream_json_text_has_its_sources(tmp_path: Path, server: ModelServer) -> None:
    lines = map(json.loads, printed(tmp_path, server, "--output-format", "stream-json").splitlines())

    (block,) = (line["message"]["content"][0] for line in lines if line["type"] == "assistant")
    assert block["text"] == TEXT
    assert [each["url"] for each in block["citations"]] == [SKY, NASA, SKY]


def test_a_reply_without_sources_describes_none(tmp_path: Path) -> None:
    reported = json.loads(printed(tmp_path, ModelServer([Reply("Blue.")]), "--output-format", "json"))

    assert reported["result"] == "Blue."
    assert "citations" not in reported


def session(tmp_path: Path, *argv: str) -> str:
    out = io.StringIO()
    assert run([*argv], tmp_path, Output(out)) == 0
    return out.getvalue()


def test_a_session_is_shown_and_exported_with_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CINCH_HOME", str(tmp_path))
    said = AssistantMessage((Text(TEXT, None, PERPLEXITY.citations[:2]),), "m", "p")
    written(tmp_path, user("Why?"), said)

    shown = session(tmp_path, "show", "latest")
    markdown = session(tmp_path, "export", "latest", "--format", "md")
    exported = json.loads(session(tmp_path, "export", "latest", "--format", "json"))

    assert LIST[: LIST.index("[3]")] in shown
    assert f"- \\[2\\] [Why is the sky blue?](<{NASA}>)\n" in markdown
    assert [each["url"] for each in exported["messages"][1]["content"][0]["citations"]] == [SKY, NASA]
