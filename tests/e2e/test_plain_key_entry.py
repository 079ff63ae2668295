from __future__ import annotations

import os
from pathlib import Path

import pytest
from e2e.conftest import ROOT
from e2e.lines import Lines
from fakes.script import Failure, Reply

pytestmark = pytest.mark.pty

BAD, GOOD = "sk-ant-bad-fedcba9876543210", "sk-ant-good-0123456789abcdef"


@pytest.fixture
def cinch(project: Path, serve):
    started: list[Lines] = []

    def start(script) -> Lines:
        start.server = serve(script)
        own = {"ANTHROPIC_BASE_URL": start.server.url, "PYTHONPATH": str(ROOT)}
        lines = Lines(project, {**os.environ, **own}, "--plain", "-m", "anthropic/a")
        started.append(lines)
        lines.see("You: ")
        return lines

    yield start
    for each in started:
        each.close()


def test_key_is_entered_without_echo_checked_and_used_at_once(cinch, own_home: Path):
    lines = cinch([Failure(401, "invalid x-api-key"), Reply("OK"), Reply("heard you")])

    lines.enter("#key anthropic")
    lines.see("Key .not shown")
    lines.enter(BAD)
    lines.see("Refused: .*invalid x-api-key")
    lines.see("Key .not shown")
    lines.enter(GOOD)
    lines.see("Anthropic accepted the key")
    lines.see("You: ")
    lines.enter("hi")
    lines.see("heard you")

    assert BAD not in lines.said
    assert GOOD not in lines.said
    assert cinch.server.requests[-1].headers["x-api-key"] == GOOD
    holding = [path.name for path in own_home.rglob("*") if path.is_file() and GOOD.encode() in path.read_bytes()]
    assert holding == ["credentials.json"]


def test_key_typed_in_a_prompt_needs_confirmation_and_is_not_sent(cinch, own_home: Path):
    lines = cinch([Reply("heard you")])

    lines.enter(f"use {GOOD} for it")
    lines.see("Not sent yet")
    lines.see("Number.*: ")
    lines.enter("1")
    lines.see("Nothing was sent")

    assert cinch.server.requests == []
    assert [path for path in own_home.rglob("*") if path.is_file() and GOOD.encode() in path.read_bytes()] == []
