"""A workspace full of traps: everything in it that a careless command would run tries to create a folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from permissions import sandbox

from tools.environment import command_environment, git_environment, read_only_environment

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
    "linked/own.txt": "own\n",
    "odd/a .env": "split\n",
    ".env": "API_KEY=secret\n",
    "server.pem": "secret\n",
    "credentials.json": "{}\n",
    "-delete": "",
    "-la": "",
    "--output=x": "",
    "-ox": "",
    "args.txt": "--output=x\n",
    "rg.conf": "--pre=./trap\n",
}
SECRETS = (".env", "server.pem", "credentials.json", "../outside.txt")
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
    "log.showSignature": "true",
    "remote.origin.url": "ext::./trap",
}
INHERITED = {
    "LESSOPEN": "|./trap %s",
    "PAGER": "./trap",
    "BASH_ENV": "./trap",
    "GIT_EXTERNAL_DIFF": "./trap",
    "GIT_SSH_COMMAND": "./trap",
    "RIPGREP_CONFIG_PATH": "rg.conf",
    "TAR_OPTIONS": "--to-command=./trap",
}
HOOKS = ("post-index-change", "pre-commit", "post-checkout", "reference-transaction", "fsmonitor-watchman")


@pytest.fixture(scope="session")
def trapped(tmp_path_factory: pytest.TempPathFactory, git_environ: dict[str, str]) -> Path:
    """Return a repository whose configuration, hooks, attributes and programs are traps."""
    root = tmp_path_factory.mktemp("trapped") / "work"

    def run(*command: str, cwd: Path = root, given: str = "") -> str:
        done = subprocess.run(
            command, cwd=cwd, env=git_environ, check=True, capture_output=True, text=True, input=given
        )
        return done.stdout

    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root.parent / "outside.txt").write_text("secret\n")
    (root / "link-outside").symlink_to(root.parent / "outside.txt")
    (root / "linked" / "out.txt").symlink_to(root.parent / "outside.txt")
    run("git", "init", "-q", "-b", "main")
    run("git", "add", "README.md", "src", "docs", "data.csv", "package.json")
    run("git", "commit", "-q", "-m", "first")
    run("git", "tag", "v1")
    run("git", "branch", "feature/x")
    _commit_and_stash(root, run)
    _add_submodule(root, run)
    _sign(run)
    _make_archives(root, run)
    _set_traps(root, run)
    return root


def _commit_and_stash(root: Path, run: Callable[..., str]) -> None:
    (root / "README.md").write_text(FILES["README.md"] + "second\n")
    run("git", "commit", "-q", "-a", "-m", "second")
    (root / "data.csv").write_text("stashed\n")
    run("git", "stash", "-q")
    (root / "src" / "app.py").write_text(FILES["src/app.py"] + "# changed\n")
    # Unchanged, but of another time than the index knows: a command that refreshes the index would write it.
    os.utime(root / "docs" / "guide.md", (1_000_000_000, 1_000_000_000))


def _add_submodule(root: Path, run: Callable[..., str]) -> None:
    other = root.parent / "other"
    other.mkdir()
    (other / "inner.py").write_text("pass\n")
    run("git", "init", "-q", cwd=other)
    run("git", "add", ".", cwd=other)
    run("git", "commit", "-q", "-m", "inner", cwd=other)
    run("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "module")
    run("git", "commit", "-q", "-m", "third")
    (root / "module" / "inner.py").write_text("changed\n")
    for key in ("core.fsmonitor", "diff.external", "core.pager"):
        run("git", "config", key, str(root / "trap"), cwd=root / "module")


def _sign(run: Callable[..., str]) -> None:
    """Create a branch whose commit has a signature, which git verifies with another program."""
    header, _, message = run("git", "cat-file", "commit", "HEAD").partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n aGVsbG8K\n -----END PGP SIGNATURE-----"
    commit = run("git", "hash-object", "-t", "commit", "-w", "--stdin", given=f"{header}\n{signature}\n\n{message}")
    run("git", "branch", "signed", commit.strip())


def _make_archives(root: Path, run: Callable[..., str]) -> None:
    run("tar", "-cf", "archive.tar", "README.md", "src")
    run("tar", "-czf", "archive.tar.gz", "README.md", "src")
    run("gzip", "-k", "data.csv")
    run("python3", "-m", "zipfile", "-c", "archive.zip", "README.md")


def _set_traps(root: Path, run: Callable[..., str]) -> None:
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
    folders = (".", str(trapped / "bin"), os.environ["PATH"], str(Path(sys.executable).parent))
    inherited = {**git_environ, **INHERITED, "PATH": os.pathsep.join(folders)}
    environment = read_only_environment(command_environment(inherited), trapped)
    return git_environment(environment, [trapped], "read")


@pytest.fixture(scope="session")
def box(
    trapped: Path, child_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[sandbox.Sandbox]:
    """Return a sandbox in the workspace of traps."""
    if missing := sandbox.missing_support():
        pytest.skip(missing)
    temporary, secrets = tmp_path_factory.mktemp("temporary"), [trapped / name for name in SECRETS]
    # Five seconds are enough for each command, but not on every busy machine.
    with sandbox.Sandbox(trapped, child_environment, temporary, secrets=secrets, seconds=15) as opened:
        yield opened


@pytest.fixture
def rg_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}{Path(sys.executable).parent}")
