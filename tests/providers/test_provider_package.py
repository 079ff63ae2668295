from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.provider_packages import EXAMPLE, EchoServer, cinch, install, installed_example, preset_code

DONE = {"end": "done", "read": 1200, "wrote": 7}
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed_example(tmp_path_factory)


@pytest.fixture
def ask(example: Path, tmp_path: Path) -> Run:
    def run(server: Any, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = ["-p", "Hello", "-m", "echo/parrot", *arguments]
        return cinch(*command, cwd=tmp_path, installed=example, ECHO_BASE_URL=server.url, **variables)

    return run


def test_the_installed_package_answers_in_print_mode(ask: Run):
    with EchoServer([[{"say": "Good "}, {"say": "day."}, DONE]]) as server:
        done = ask(server, "--output-format", "json", ECHO_API_KEY="sk-echo-secret")

    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["result"] == "Good day."
    assert result["usage"]["input_tokens"] == 1200
    assert server.headers[0]["authorization"] == "Bearer sk-echo-secret"
    assert server.asked[0]["turns"][-1] == {"who": "user", "says": "Hello"}


def test_its_model_works_with_tools_like_any_other(ask: Run, tmp_path: Path):
    (tmp_path / "tea.txt").write_text("twelve boxes", encoding="utf-8")
    read = {"use": {"id": "u1", "tool": "read_file", "with": {"path": "tea.txt"}}}

    with EchoServer([[{"say": "I look."}, read, DONE], [{"say": "Twelve."}, DONE]]) as server:
        done = ask(server)

    assert done.stdout == "Twelve.\n", done.stderr
    assert {tool["tool"] for tool in server.asked[0]["tools"]} >= {"read_file", "bash"}
    *_, said, used, result = server.asked[1]["turns"]
    assert (said["says"], used["use"]["tool"]) == ("I look.", "read_file")
    assert "twelve boxes" in result["says"]


@pytest.mark.parametrize(
    ("answer", "reported"),
    [
        (401, "the key from environment variable ECHO_API_KEY was rejected (401) by Echo"),
        ([{"problem": {"status": 402, "text": "sk-echo-secret is broke"}}], "Echo: no credit or quota left"),
        ([{"say": "Hi"}, {"end": "done", "read": "much"}], "echo sent an invalid delta: Done("),
    ],
)
def test_provider_error_is_reported_in_one_sentence(ask: Run, answer: Any, reported: str):
    with EchoServer([answer]) as server:
        done = ask(server, ECHO_API_KEY="sk-echo-secret")

    assert done.returncode == 1
    assert reported in done.stderr
    assert "sk-echo-secret" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_truncated_answer_is_retried(ask: Run):
    read = {"use": {"id": "u1", "tool": "read_file", "with": {"path": "tea.txt"}}}

    with EchoServer([[read], [{"say": "Whole."}, DONE]]) as server:
        done = ask(server)

    assert done.stdout == "Whole.\n", done.stderr
    assert "the reply of Echo is incomplete: the connection was closed early" in done.stderr
    # Nothing came of the call.
    assert server.asked[1]["turns"] == server.asked[0]["turns"]


def test_its_run_is_recorded_without_the_key_and_played_again(ask: Run, example: Path, tmp_path: Path):
    tape = tmp_path / "tape.jsonl"
    with EchoServer([[{"say": "Good day."}, DONE]]) as server:
        ask(server, "--record", str(tape), ECHO_API_KEY="sk-echo-secret")

    played = cinch("-p", "Hello", "-m", f"replay/{tape}", cwd=tmp_path, installed=example)

    assert played.stdout == "Good day.\n", played.stderr
    assert "sk-echo-secret" not in tape.read_text(encoding="utf-8")


def test_its_models_are_listed(example: Path, tmp_path: Path):
    with EchoServer([]) as server:
        listed = cinch("models", "echo", cwd=tmp_path, installed=example, ECHO_BASE_URL=server.url)
    every = cinch("models", "--providers", cwd=tmp_path, installed=example)

    assert [line.split()[0] for line in listed.stdout.splitlines()][-2:] == ["echo/parrot", "echo/raven"]
    assert "\necho " in every.stdout


def test_a_broken_package_next_to_it_is_reported_and_harms_no_other(ask: Run, example: Path, tmp_path: Path):
    broken = install(tmp_path / "broken", "acme", "import no_such_module\n")
    both = f"{broken}{os.pathsep}{example}"

    with EchoServer([[{"say": "Good day."}, DONE]]) as server:
        beside = ask(server, PYTHONPATH=both)
    itself = cinch("-p", "Hello", "-m", "acme/large", cwd=tmp_path, installed=both)
    named = cinch("models", "acme", cwd=tmp_path, installed=both)
    listed = cinch("models", "--providers", cwd=tmp_path, installed=both)

    assert (beside.stdout, beside.stderr) == ("Good day.\n", "")
    reported = (
        "the provider 'acme' of the package acme-package 1.2 cannot be used: ModuleNotFoundError: No module named"
    )
    assert reported in itself.stderr
    assert "pip uninstall acme-package" in itself.stderr
    assert (itself.returncode, itself.stderr.count("\n")) == (2, 1)
    assert reported in named.stderr
    assert reported in listed.stdout
    assert "\necho " in listed.stdout


def test_its_key_is_kept_from_commands(ask: Run):
    command = {"use": {"id": "u1", "tool": "bash", "with": {"command": "env | grep sk-echo || echo none"}}}
    with EchoServer([[command, DONE], [{"say": "Done."}, DONE]]) as server:
        done = ask(server, "--approve", "off", ECHO_API_KEY="sk-echo-secret")

    assert done.returncode == 0, done.stderr
    assert "none" in server.asked[1]["turns"][-1]["says"]


def test_its_author_can_test_it_as_in_the_guide(example: Path):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(EXAMPLE)],
        env={**os.environ, "PYTHONPATH": str(example)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done.stdout


def test_a_key_for_a_preset_alone_chooses_it_when_no_other_is_there(tmp_path: Path):
    # A port where nothing answers: the name of the service in the error tells who was asked.
    packages = install(tmp_path / "packages", "acme", preset_code("acme", url="http://127.0.0.1:9/v1"))

    asked = cinch("-p", "Hello", cwd=tmp_path, installed=packages, ACME_API_KEY="k", CINCH_RETRY_MAX_RETRIES="0")
    nobody = cinch("-p", "Hello", cwd=tmp_path, installed=packages)

    assert "cannot connect to http://127.0.0.1:9/v1" in asked.stderr
    assert "no model selected" in nobody.stderr
