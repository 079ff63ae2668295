"""Searches of folders with secrets: those that run without approval show nothing of them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from permissions.decisions import objection

SECRET = "DATABASE=hunter2\nlines=plain\n"
SHOWS_NOTHING = (
    "grep -rn 'def main' .",
    "grep -rnE 'def main|class [A-Z]\\w+' .",
    "grep -rn 'def main\\|import os' .",
    "grep -rnF 'f(x' .",
    "grep -rnw main . --include=*.py",
    "grep -rlv nothing --include='*.py' .",
    "egrep -rn 'main|import' .",
    "rg hunter2",
    "rg DATABASE",
    "rg ''",
    "rg -n main -g '*.py'",
    "find . -name '*.py' | xargs cat",
    "find . \\( -name '*.py' -o -name '*.md' \\) | xargs cat",
    "find . -path ./.git -prune -o -name '*.py' -print | xargs cat",
    "find . -type f -name '*.py' -exec cat {} +",
)
MAY_SHOW = (
    "grep -rn hunter2 .",
    "grep -rni HUNTER .",
    "grep -rnE 'nothing|hunter2' .",
    "egrep -rn 'nothing|hunter2' .",
    "grep -rn 'nothing\\|hunter2' .",
    "grep -rnE '(nothing)?' .",
    "grep -rnE 'nothing?|l' .",
    "grep -rnv nothing .",
    "grep -rnP '\\x6eothing|hunter' .",
    "grep -rn -e nothing -e hunter2 .",
    "grep -rn -E -F 'nothing|hunter2' .",
    'grep -rn "$x" .',
    "grep -rn '' .",
    "grep -rn password .",
    "rg --hidden hunter2",
    "rg -uu hunter2",
    "rg -g '.env' hunter2",
    "rg -g '*' hunter2",
    "rg --hidden --passthru nothing",
    "find . -type f | xargs cat",
    "find . -print -name '*.py' | xargs cat",
    "find . -name '*.py' -o -print | xargs cat",
    "find . -name 's*' | xargs grep -r hunter2",
    "find . -name '*nv' -exec cat {} +",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").write_text("import os\n\n\ndef main():\n    f(x)\n")
    (tmp_path / ".gitignore").write_text("build/\n")
    for folder in (tmp_path, tmp_path / "src"):
        (folder / ".env").write_text(SECRET)
    return tmp_path


@pytest.mark.usefixtures("rg_on_path")
@pytest.mark.parametrize("command", SHOWS_NOTHING)
def test_allowed_search_shows_no_secret(command: str, root: Path) -> None:
    assert objection(command, root) == ""
    done = subprocess.run(
        ["bash", "-c", command], cwd=root, env={**os.environ}, capture_output=True, text=True, check=False
    )
    assert "hunter2" not in done.stdout
    assert done.returncode in (0, 1)


@pytest.mark.usefixtures("rg_on_path")
@pytest.mark.parametrize("command", MAY_SHOW)
def test_search_that_may_show_a_secret_needs_approval(command: str, root: Path) -> None:
    assert objection(command, root) != ""


@pytest.mark.usefixtures("rg_on_path")
@pytest.mark.parametrize("line", ["!.env", "!/src/.env", "!*", "\ufeff!.e*", "!{.env,x}"])
@pytest.mark.parametrize("name", [".gitignore", ".ignore", "src/.rgignore", ".git/info/exclude"])
def test_hidden_file_that_an_ignore_file_includes_is_searched(name: str, line: str, root: Path) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(f"{line}\nbuild/\n")
    assert objection("rg hunter2", root) != ""


@pytest.mark.parametrize("content", ["ſecond line".encode(), "def main".encode("utf-16"), b"x" * 200_000])
def test_secret_whose_content_is_not_plain_may_be_shown(content: bytes, root: Path) -> None:
    (root / ".env").write_bytes(content)
    assert objection("grep -rni 'def main' .", root) != ""
