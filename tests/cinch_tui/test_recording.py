from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from fakes.fork_server import run_forked
from fakes.model_server import ModelServer, Reply

KEY = "sk-canary-0123456789"
LOOK = Reply("Let me look.", calls=[("read_file", {"path": "a.txt"})])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("alpha\n")
    return tmp_path


def cinch(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    own = {"CINCH_HOME": str(folder / "home"), "CINCH_KEYRING": "off"}
    return run_forked(["-p", *arguments], cwd=folder, env={**os.environ, **own, **environment})


def test_a_run_is_recorded_and_replayed_offline(folder: Path) -> None:
    with ModelServer([LOOK, Reply("It says alpha.")]) as server:
        service = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": KEY}
        first = cinch(folder, "--record", "run.jsonl", "-m", "anthropic/fake-model", "What is in a.txt?", **service)

    again = cinch(folder, "-m", "replay/run.jsonl", "What is in a.txt?")

    assert (first.returncode, first.stdout) == (0, "It says alpha.\n"), first.stderr
    assert (again.returncode, again.stdout, again.stderr) == (0, first.stdout, "")
    assert KEY not in (folder / "run.jsonl").read_text()
    assert (folder / "run.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_prompt_that_was_not_recorded_is_reported(folder: Path) -> None:
    with ModelServer([Reply("It says alpha.")]) as server:
        service = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": KEY, "CINCH_RECORD": "run.jsonl"}
        first = cinch(folder, "-m", "anthropic/fake-model", "What is in a.txt?", **service)

    again = cinch(folder, "-m", "replay/run.jsonl", "What is in b.txt?")

    assert (first.stderr, again.returncode, again.stdout) == ("", 0, "It says alpha.\n")
    assert "replay: request 1 differs from the recorded one in messages[0]" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("-m", "replay/none.jsonl"), "cannot read the cassette none.jsonl"),
        (("-m", "replay/a.txt"), "a.txt is not a cassette"),
        (("--record", "gone/run.jsonl"), "gone/run.jsonl: No such file or directory"),
        (("--record", "a.txt"), "a.txt is not a cassette"),
    ],
)
def test_providers_that_cannot_be_recorded_or_replayed_are_reported(
    folder: Path, arguments: tuple[str, ...], reported: str
) -> None:
    done = cinch(folder, *arguments, "hi")

    assert done.returncode == 2
    assert reported in done.stderr
    assert (folder / "a.txt").read_text() == "alpha\n"
