"""A workspace full of traps: everything in it that a careless command would run tries to create a folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.environment import command_environment, git_environment

TRAP = "#!/bin/sh\nmkdir TRAPPED\n"
FILES = {
    "README.md": "# Project\n\nfoo, bar and readme\nx\n",
    "with space.txt": "spaced\n",
    "data.csv": "x,1\ny,2\nz,3\nx,1\n",
    "other.csv": "x,1\ny,3\n",
    "encoded.txt": "aGVsbG8K\n",
    "package.json": '{"name": "demo", "scripts": {"test": "true"}, "dependencies": {}}\n',
    "src/app.py": "import os\n\n\ndef main():  # TODO\n    return os.name\n",
    "src/README.md": "inner\n",
    "docs/guide.md": "guide\n",
    ".env": "API_KEY=secret\n",
    "server.pem": "secret\n",
    "credentials.json": "{}\n",
    "-delete": "",
    "-la": "",
    "--output=x": "",
    "-ox": "",
    "args.txt": "--output=x\n",
}
PROGRAMS = ("ls", "git", "sort", "evil", "bin/ls", "bin/evil", "trap")
ATTRIBUTES = "*.csv diff=text filter=evil\n*.py diff=program filter=evil\n*.md diff=text\n"
CONFIGURATION = {
    "core.fsmonitor": "./trap",
    "core.pager": "./trap",
    "core.editor": "./trap",
    "core.sshCommand": "./trap",
    "core.alternateRefsCommand": "./trap",
    "pager.log": "./trap",
    "diff.external": "./trap",
    "diff.text.textconv": "./trap",
    "diff.program.command": "./trap",
    "filter.evil.clean": "./trap",
    "filter.evil.smudge": "./trap",
    "gpg.program": "./trap",
    "alias.status": "!./trap",
    "alias.evil": "!./trap",
    "remote.origin.url": "ext::./trap",
}
HOOKS = ("post-index-change", "pre-commit", "post-checkout", "reference-transaction", "fsmonitor-watchman")


@pytest.fixture(scope="session")
def trapped(tmp_path_factory: pytest.TempPathFactory, git_environ: dict[str, str]) -> Path:
    """Return a repository whose configuration, hooks, attributes and programs are traps."""
    root = tmp_path_factory.mktemp("trapped") / "work"

    def run(*command: str) -> None:
        subprocess.run(command, cwd=root, env=git_environ, check=True, capture_output=True)

    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root.parent / "outside.txt").write_text("secret\n")
    (root / "link-outside").symlink_to(root.parent / "outside.txt")
    run("git", "init", "-q", "-b", "main")
    run("git", "add", "README.md", "src", "docs", "data.csv", "package.json")
    run("git", "commit", "-q", "-m", "first")
    run("git", "tag", "v1")
    run("git", "branch", "feature/x")
    _commit_and_stash(root, run)
    _make_archives(root, run)
    _set_traps(root, run)
    return root


def _commit_and_stash(root: Path, run: Callable[..., None]) -> None:
    (root / "README.md").write_text(FILES["README.md"] + "second\n")
    run("git", "commit", "-q", "-a", "-m", "second")
    (root / "data.csv").write_text("stashed\n")
    run("git", "stash", "-q")
    (root / "src" / "app.py").write_text(FILES["src/app.py"] + "# changed\n")
    # Unchanged, but of another time than the index knows: a command that refreshes the index would write it.
    os.utime(root / "docs" / "guide.md", (1_000_000_000, 1_000_000_000))


def _make_archives(root: Path, run: Callable[..., None]) -> None:
    run("tar", "-cf", "archive.tar", "README.md", "src")
    run("tar", "-czf", "archive.tar.gz", "README.md", "src")
    run("gzip", "-k", "data.csv")
    run("python3", "-m", "zipfile", "-c", "archive.zip", "README.md")


def _set_traps(root: Path, run: Callable[..., None]) -> None:
    for name in PROGRAMS:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(TRAP)
        (root / name).chmod(0o755)
    (root / ".gitattributes").write_text(ATTRIBUTES)
    for key, value in CONFIGURATION.items():
        run("git", "config", key, value)
    for name in HOOKS:
        (root / ".git" / "hooks" / name).write_text(TRAP)
        (root / ".git" / "hooks" / name).chmod(0o755)


@pytest.fixture(scope="session")
def child_environment(trapped: Path, git_environ: dict[str, str]) -> dict[str, str]:
    """Return the environment of commands that only read, with `rg`, which is installed with cinch."""
    path = f"{os.environ['PATH']}{os.pathsep}{Path(sys.executable).parent}"
    return git_environment(command_environment({**git_environ, "PATH": path}), [trapped], "read")


@pytest.fixture
def rg_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}{Path(sys.executable).parent}")
