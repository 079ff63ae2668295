"""Packages that extend cinch, installed for one test only, and cinch run with them."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "provider-package"
TALK = runpy.run_path(str(EXAMPLE / "tests" / "echo_server.py"))
EchoServer: Any = TALK["EchoServer"]
PRESET = """
from providers.plugins import Preset
{name} = Preset("{name}", "A label", "openai_chat", "{url}", key_variables=("{variable}",), default_model="large")
"""


def installed_example(temporary: pytest.TempPathFactory) -> Path:
    """Return the folder into which pip installed the example, once for all workers of a test run."""
    return installed(temporary, "cinch-echo", [EXAMPLE])


def installed(temporary: pytest.TempPathFactory, name: str, sources: Sequence[Path]) -> Path:
    """Return the folder of that name into which pip installed packages, once for all workers of a test run."""
    own = temporary.getbasetemp()
    # Each worker has its own folder in the shared one.
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    target = shared / name
    with FileLock(shared / f"{name}.lock"):
        if not target.exists():
            pip_install(sources, target)
    return target


def pip_install(sources: Sequence[Path], target: Path) -> None:
    """Build packages and install them into a folder, without dependencies and network."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run(
        [*command, "--disable-pip-version-check", "--target", str(target), *map(str, sources)],
        check=True,
        capture_output=True,
        timeout=120,
    )


def install(
    folder: Path,
    name: str,
    code: str,
    *,
    entry: str = "",
    package: str = "",
    version: str = "1.2",
    group: str = "cinch.providers",
) -> Path:
    """Write a one-module package into a folder as pip would; `entry` is the object of its entry point."""
    package = package or f"{name}-package"
    module = package.replace("-", "_")
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    described = folder / f"{module}-{version}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (described / "entry_points.txt").write_text(f"[{group}]\n{name} = {entry or f'{module}:{name}'}\n")
    return folder


def preset_code(name: str, *, url: str = "https://api.example.com/v1", variable: str = "ACME_API_KEY") -> str:
    return PRESET.format(name=name, url=url, variable=variable)


def cinch(
    *arguments: str, cwd: Path, installed: Path | str = "", typed: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run cinch in a folder, with the packages installed in another. `typed` is its standard input."""
    return subprocess.run(
        [sys.executable, "-m", "cinch_tui", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(installed), **variables},
        input=typed,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
