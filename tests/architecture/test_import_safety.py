from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fakes.cinch_process import run
from fakes.model_server import ModelServer, Reply

TRAP = "open({trace!r}, 'a').write(__name__ + '\\n')\n"
PACKAGES = ("tools", "harness", "http_client", "providers", "extensions", "themes", "textual")


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """Create an untrusted repository whose modules write their name to the file `trace` when they are imported."""
    trap = TRAP.format(trace=str(tmp_path / "trace"))
    for name in PACKAGES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(trap, encoding="utf-8")
    (tmp_path / "json.py").write_text(trap, encoding="utf-8")
    return tmp_path


MODULE = [sys.executable, "-m", "cinch_tui"]
SCRIPT = [str(Path(sys.executable).with_name("cinch"))]


@pytest.mark.parametrize("arguments", [["--version"], ["-p", "hello", "-m", "anthropic/x"], ["config", "show"]])
@pytest.mark.parametrize("command", [MODULE, SCRIPT], ids=["module", "script"])
@pytest.mark.parametrize("python_path", ["", "."], ids=["", "PYTHONPATH=."])
def test_modules_in_the_working_directory_are_never_imported(
    trapped: Path, command: list[str], arguments: list[str], python_path: str
) -> None:
    look = Reply("Let me look.", calls=[("grep", {"pattern": "trace"}), ("bash", {"command": "make"})])
    with ModelServer([look, Reply("Done.")]) as server:
        service = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "none"}
        done = run([*command, *arguments], cwd=trapped, PYTHONPATH=python_path, **service)

    assert not (trapped / "trace").exists(), (trapped / "trace").read_text(encoding="utf-8")
    # The bash call is denied, since print mode has no user to approve it.
    assert done.returncode == (4 if "-p" in arguments else 0), done.stderr


INSTALLED_HERE = """
import site, sys
site.addsitedir("environment")
import cinch_tui, own_provider, json, textual
print(own_provider.__file__, "" in sys.path)
"""


def test_editable_install_from_the_current_folder_is_found(trapped: Path) -> None:
    (trapped / "own_provider.py").touch()
    (trapped / "environment").mkdir()
    (trapped / "environment" / "own.pth").write_text(f"{trapped}\n", encoding="utf-8")

    done = run([sys.executable, "-c", INSTALLED_HERE], cwd=trapped)

    assert done.stdout == f"{trapped / 'own_provider.py'} False\n", done.stderr
    assert not (trapped / "trace").exists()


def test_deleted_working_directory_is_no_obstacle(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()

    done = run(["sh", "-c", f"cd gone && rmdir '{gone}' && '{sys.executable}' -m cinch_tui --version"], cwd=tmp_path)

    assert done.stdout.startswith("cinch ")
