"""ARCHITECTURE.md lists every module and folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"`([a-z_]+)[`/]")


@pytest.mark.parametrize("package", ["harness", "cinch_tui"])
def test_every_module_and_folder_is_on_the_map(package: str) -> None:
    folder = ROOT / package
    modules = {path.stem for path in folder.glob("[a-z]*.py")}
    folders = {path.name for path in folder.glob("[a-z]*") if any(path.glob("*.*"))}

    assert (modules | folders) - named(package) == set()


@pytest.mark.parametrize("package", ["harness", "cinch_tui"])
def test_map_names_no_missing_module(package: str) -> None:
    folder = ROOT / package

    assert {
        name for name in named(package) if not ((folder / name).is_dir() or (folder / f"{name}.py").is_file())
    } == set()


def named(package: str) -> set[str]:
    """Return the modules and folders in the first column of a package's table."""
    section = (
        (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition(f"### {package}\n")[2].partition("\n#")[0]
    )
    return {name for row in section.splitlines() if row.startswith("| `") for name in NAME.findall(row.split("|")[1])}
