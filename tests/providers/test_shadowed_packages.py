"""A package of the embedding program that has the name of one of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(folder: Path, code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    return done.stderr.strip().rpartition("\n")[2] or done.stdout


def package(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text("answer = 42\n", encoding="utf-8")
    return folder / name / "__init__.py"


@pytest.mark.parametrize("code", ["from providers import connect", "from tools import builtin_tools"])
def test_a_package_named_harness_that_shadows_ours_is_named_in_the_error(tmp_path: Path, code: str) -> None:
    hiding = package(tmp_path, "harness")

    error = run(tmp_path, code)

    assert error.startswith("ImportError: ")
    assert str(hiding) in error
    assert "hides the package of that name which cinch-tui brings" in error
    assert error.endswith("rename it")


def test_a_package_named_providers_that_shadows_ours_is_named_in_the_error(tmp_path: Path) -> None:
    package(tmp_path, "providers")
    info = tmp_path / "some_package-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-package\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[cinch.connect]\nproviders = providers:connect\n")

    error = run(tmp_path, "from harness import Agent; Agent('anthropic/claude-sonnet-5-5')")

    assert error.startswith("ImportError: ")
    assert "does another package hide 'providers' of cinch-tui?" in error


def test_a_package_named_tools_hides_nothing_that_the_agent_needs(tmp_path: Path) -> None:
    package(tmp_path, "tools")
    code = (
        "from harness import Agent; from providers.demo import scripted; import tools;"
        "print(tools.answer, Agent(scripted('Hi')).prompt_sync('Go').text)"
    )

    assert run(tmp_path, code) == "42 Hi\n"
    assert str(tmp_path) in run(tmp_path, "from tools import builtin_tools")
