"""The bundled skills `/commit` and `/review` in a real repository, with a scripted model."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from fakes.fork_server import run_forked
from fakes.model_server import Item, ModelServer, Reply

COMMIT = ("call_tool", {"name": "git_commit", "arguments": {"message": "docs: name the unit", "paths": ["README.md"]}})
LOG = ["docs: name the unit", "prices: use cents", "start"]


def git(folder: Path, *words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "README.md").write_text("# Prices\n")
    (tmp_path / "price.py").write_text("amount = 1.5\n")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "config", "user.name", "U")
    git(tmp_path, "config", "user.email", "u@example.com")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "start")
    (tmp_path / "README.md").write_text("# Prices in cents\n")
    (tmp_path / "price.py").write_text("amount = 150\n")
    return tmp_path


def ask(folder: Path, prompt: str, script: list[Item]) -> tuple[str, str]:
    """Return the answer, and the prompt as the model got it."""
    with ModelServer(script) as server:
        environment = {**os.environ, "ANTHROPIC_API_KEY": "sk-x", "ANTHROPIC_BASE_URL": server.url}
        done = run_forked(["-p", "-m", "anthropic/fake-model", prompt], cwd=folder, env=environment, stdin="")
    return done.stdout, str(server.requests[0].body["messages"])


def test_commit_allows_staging_and_committing_by_command_and_by_tool_and_nothing_else(folder: Path) -> None:
    script = [
        Reply(
            calls=[
                ("bash", {"command": "git add price.py"}),
                ("bash", {"command": "git commit -m 'prices: use cents'"}),
            ]
        ),
        Reply(calls=[COMMIT, ("bash", {"command": "git checkout -b other"})]),
        Reply("Two commits."),
    ]

    answer, prompt = ask(folder, "/commit", script)

    assert answer == "Two commits.\n"
    assert "## main\\n M README.md\\n M price.py" in prompt
    assert git(folder, "log", "--format=%s") == LOG
    assert git(folder, "branch", "--format=%(refname:short)") == ["main"]


def test_review_reads_the_changes_and_the_same_commit_is_denied(folder: Path) -> None:
    edit = {"path": "price.py", "old_string": "150", "new_string": "1"}
    script = [
        Reply(calls=[("call_tool", {"name": "git_diff", "arguments": {}}), ("bash", {"command": "git diff HEAD"})]),
        Reply(calls=[COMMIT, ("read_file", {"path": "price.py"}), ("edit_file", edit)]),
        Reply("Nothing to report."),
    ]

    answer, prompt = ask(folder, "/review price.py", script)

    assert answer == "Nothing to report.\n"
    assert "Subject: price.py" in prompt
    assert git(folder, "log", "--format=%s") == ["start"]
    assert (folder / "price.py").read_text() == "amount = 150\n"
