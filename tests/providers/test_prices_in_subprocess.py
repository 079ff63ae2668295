from __future__ import annotations

import os
import subprocess
import sys

import pytest

from providers.model_catalog.prices import look_up, look_up_in_subprocess

MODEL = ("anthropic", "claude-sonnet-4-5")
LOOKS = """
import asyncio, os, sys
sys.executable = os.environ.get("STARTS", sys.executable)
from providers import connect
facts = connect("anthropic/claude-sonnet-4-5").info
found = asyncio.run(facts.load_in_subprocess())
print([found.context_window, found.price, "genai_prices" in sys.modules])
"""


def looked_up(**environment: str) -> str:
    """What a fresh process finds, and whether it holds the price data then."""
    env = {**os.environ, "ANTHROPIC_API_KEY": "sk-x", **environment}
    done = subprocess.run([sys.executable, "-c", LOOKS], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_another_process_finds_the_same_and_the_calling_one_stays_small() -> None:
    known = look_up(*MODEL)

    assert looked_up() == str([known.context_window, known.price, False])


def test_without_a_subprocess_the_price_data_is_loaded_in_process() -> None:
    known = look_up(*MODEL)

    assert looked_up(STARTS="/nowhere/python") == str([known.context_window, known.price, True])


def test_no_key_is_passed_on(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    seen = tmp_path / "seen"
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nenv > "{seen}"\necho "[7, null]"\n')
    program.chmod(0o755)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setattr(sys, "executable", str(program))
    for name in [name for name in sys.modules if name.startswith("genai_prices")]:
        monkeypatch.delitem(sys.modules, name)

    known = look_up_in_subprocess(*MODEL)

    assert known.context_window == 7
    assert "secret" not in seen.read_text()


def test_bundled_price_data_sends_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    known = look_up(*MODEL)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    assert look_up_in_subprocess(*MODEL) == known
