"""Packages that bring providers, installed where only one test finds them, and cinch run beside them."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

from filelock import FileLock

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "provider-package"
TALK = runpy.run_path(str(EXAMPLE / "tests" / "echo_server.py"))
EchoServer: Any = TALK["EchoServer"]
PRESET = """
from providers.plugins import Preset
{name} = Preset("{name}", "A label", "openai_chat", "{url}", key_variables=("{variable}",), default_model="large")
"""


def installed_example(shared: Path) -> Path:
    """The folder into which pip installs the example, once for all processes that share the other folder."""
    target = shared / "cinch-echo"
    with FileLock(shared / "cinch-echo.lock"):
        if not target.exists():
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
            offline = ["--no-build-isolation", "--disable-pip-version-check", "--target", str(target), str(EXAMPLE)]
            subprocess.run([*command, *offline], check=True, capture_output=True, timeout=120)
    return target


def install(folder: Path, name: str, code: str, *, entry: str = "", package: str = "", version: str = "1.2") -> Path:
    """Put a package of one module into a folder as pip would; `entry` is what its entry point loads."""
    package = package or f"{name}-package"
    module = package.replace("-", "_")
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    described = folder / f"{module}-{version}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (described / "entry_points.txt").write_text(f"[cinch.providers]\n{name} = {entry or f'{module}:{name}'}\n")
    return folder


def preset_code(name: str, *, url: str = "https://api.example.com/v1", variable: str = "ACME_API_KEY") -> str:
    return PRESET.format(name=name, url=url, variable=variable)


def cinch(*arguments: str, cwd: Path, installed: Path | str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run cinch in a folder, with what is installed in another."""
    return subprocess.run(
        [sys.executable, "-m", "cinch_tui", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(installed), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
