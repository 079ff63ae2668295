from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from e2e.terminal import CINCH
from fakes.script import Reply

pytestmark = pytest.mark.pty

IS_ROOT = os.geteuid() == 0
# Permissions do not bind root, so give that up.
BOUND = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if IS_ROOT else ()


@pytest.fixture
def bound():
    if IS_ROOT and shutil.which("setpriv") is None:
        pytest.skip("root may look everywhere, and there is no setpriv to give that up")
    return (*BOUND, *CINCH)


@pytest.fixture
def model(serve):
    server = serve(lambda body: Reply(f"answer {len(body['messages'])}"))
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"}


@pytest.fixture
def ask(bound, project, model):
    """Run `cinch -p hello` with permissions in effect; return the finished process."""

    def run(*args: str, cwd: Path = project) -> subprocess.CompletedProcess[str]:
        root = Path(__file__).resolve().parents[2]
        return subprocess.run(
            [*bound, "-p", "hello", *args],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(root), **model},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


@pytest.fixture
def closed():
    """Remove all permissions of a folder until the test is over."""
    modes: list[tuple[Path, int]] = []

    def close(folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        modes.append((folder, folder.stat().st_mode))
        folder.chmod(0)
        return folder

    yield close
    for folder, mode in modes:
        folder.chmod(mode)


@pytest.mark.parametrize("flag", ["--cwd", "--add-dir"])
def test_inaccessible_folder_is_reported(ask, closed, tmp_path, flag: str):
    folder = closed(tmp_path / "private")

    for name, said in ((folder, "is not accessible"), (folder / "below", "cannot be read")):
        done = ask(flag, str(name))

        assert done.returncode == 2
        assert done.stderr == f"cinch: {flag}: {name} {said}: Permission denied\n"


def test_self_referential_link_is_not_a_working_directory(ask, tmp_path):
    link = tmp_path / "round"
    link.symlink_to("round")

    done = ask("--cwd", str(link))

    assert done.returncode == 2
    assert done.stderr == f"cinch: --cwd: {link} is a symbolic link to itself\n"


@pytest.mark.parametrize("place", ["own", "project"])
def test_unreadable_settings_stop_the_start(ask, closed, own_home, project, place: str):
    folder = closed(own_home / "cinch" if place == "own" else project / ".cinch")

    done = ask()

    assert done.returncode == 2
    assert done.stderr == f"cinch: {folder / 'config.toml'}: cannot be read: Permission denied\n"


def test_unreadable_sessions_are_not_reported_as_missing(ask, closed, own_home):
    closed(own_home / "cinch" / "data")

    done = ask("-c")

    assert done.returncode == 2
    assert "Permission denied" in done.stderr


def test_folder_made_inaccessible_meanwhile_ends_nothing(
    terminal, bound: tuple[str, ...], closed: Callable[[Path], Path], project, model
):
    cinch = terminal(program=bound, env=model)
    cinch.see(r"anthropic/claude")
    closed(project)

    cinch.enter("and now?")
    cinch.see("answer 1")
    cinch.enter("/new")
    cinch.miss("answer 1")
    cinch.enter("and from the start?")
    cinch.see("answer 1")
    cinch.enter("!ls")
    cinch.see("Permission denied|permission denied|is not accessible")
    cinch.enter("still there?")
    cinch.see("answer 3")

    cinch.enter("/quit")
    assert cinch.wait() == 0


def test_pipe_in_place_of_the_git_head_does_not_block(ask, project):
    head = project / ".git" / "HEAD"
    head.unlink()
    os.mkfifo(head)

    done = ask()

    assert done.returncode == 0
    assert done.stdout == "answer 1\n"


def test_files_are_suggested_next_to_an_inaccessible_folder(terminal, bound: tuple[str, ...], closed, project, model):
    closed(project / "till")
    cinch = terminal(program=bound, env=model)
    cinch.see(r"anthropic/claude")

    cinch.type("look at @rec")
    cinch.see("tests/test_receipt.py")
    cinch.type("\t.\r")

    cinch.see("answer 1")
