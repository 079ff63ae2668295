from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e.lines import Lines
from e2e.terminal import Terminal
from fakes.fork_server import can_fork, run_forked
from fakes.model_server import ModelServer
from fakes.script import Script

ROOT = Path(__file__).resolve().parents[2]

FILES = {
    "till/__init__.py": "",
    "till/receipt.py": "def total(prices, discount=0):\n    return sum(prices) * (1 - discount)\n",
    "till/label.py": 'def label(name):\n    return name.upper() + " -"\n',
    "tests/__init__.py": "",
    "tests/test_receipt.py": (
        "import unittest\n\nfrom till.receipt import total\n\n\n"
        "class TestTotal(unittest.TestCase):\n"
        "    def test_ten_percent(self):\n"
        "        self.assertEqual(total([50.0], 10), 45.0)\n"
    ),
}


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory, git_environ: dict[str, str]) -> Path:
    """Create the git repository that `project` copies: three processes fewer for each test."""
    root = tmp_path_factory.mktemp("repository")
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "start"]):
        subprocess.run(["git", *command], cwd=root, env=git_environ, check=True, capture_output=True)
    return root


@pytest.fixture
def project(repository: Path, tmp_path: Path) -> Path:
    """Return a git repository with a small program, one bug in it and a test that shows it."""
    return shutil.copytree(repository, tmp_path / "shop")


@pytest.fixture(autouse=True)
def _shared_prices(shared_prices: None) -> None:
    pass


@pytest.fixture
def serve() -> Iterator[Callable[[Script], ModelServer]]:
    servers: list[ModelServer] = []

    def start(script: Script) -> ModelServer:
        server = ModelServer(script)
        server.__enter__()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.__exit__(None, None, None)


@pytest.fixture
def terminal(project: Path) -> Iterator[Callable[..., Terminal]]:
    """Start cinch in the project, in a real pseudo-terminal."""
    terminals: list[Terminal] = []

    def start(*args: str, **options: Any) -> Terminal:
        env: dict[str, str] = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
        started = Terminal(options.pop("cwd", project), env, *args, **options)
        terminals.append(started)
        return started

    yield start
    for started in terminals:
        started.close()


@pytest.fixture
def printed(project: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run cinch to its end without a terminal, like `cinch -p`; `before` is shell code that runs first."""

    def run(
        *args: str, cwd: Path = project, before: str = "", after: str = "", **env: str
    ) -> subprocess.CompletedProcess[str]:
        if not (before or after) and can_fork(env):
            return run_forked(args, cwd=cwd, env={**os.environ, **env})
        command = shlex.join([sys.executable, "-m", "cinch_tui", *args])
        return subprocess.run(
            ["bash", "-c", f"{before or ':'}; exec {command} {after}"],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT), **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )

    return run


@pytest.fixture
def cinch(terminal: Callable[..., Terminal], serve: Callable[[Script], ModelServer]) -> Callable[..., Terminal]:
    """Start the app with a model that answers from a script; its server is `server`."""

    def start(script: Script, *args: str, **options: Any) -> Terminal:
        server = serve(script)
        env: dict[str, str] = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"}
        started = terminal(*args, env=env | options.pop("env", {}), **options)
        started.see(r"anthropic/claude|Ask for a change")
        started.server = server
        return started

    return start


class PlainStart:
    """Start of plain mode with a model that answers from a script, until `sees` is written."""

    server: ModelServer
    sees = ""

    def __init__(self, project: Path, serve: Callable[[Script], ModelServer]) -> None:
        self._project = project
        self._serve = serve
        self.started: list[Lines] = []

    def __call__(self, script: Script, *args: str, term: str = "dumb") -> Lines:
        self.server = self._serve(script)
        own = {"ANTHROPIC_BASE_URL": self.server.url, "ANTHROPIC_API_KEY": "sk-ant-e2e-secret"}
        env = {**os.environ, "PYTHONPATH": str(ROOT), **own}
        lines = Lines(self._project, env, "--plain", *args, term=term)
        self.started.append(lines)
        lines.see(self.sees)
        return lines


@pytest.fixture
def plain_cinch(project: Path, serve: Callable[[Script], ModelServer]) -> Iterator[PlainStart]:
    """Start plain mode with a scripted model server, as `plain_cinch.server`."""
    start = PlainStart(project, serve)
    yield start
    for each in start.started:
        each.close()
