"""Files that instruction files include, in the inventory of a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from cinch_tui.trust.inventory import inventory


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "docs").mkdir()
    return folder


def listed(project: Path) -> list[tuple[str, str]]:
    files = inventory(project)
    return [(each.kind, files.label(each.path)) for each in files.found]


def test_included_files_are_listed_once_and_are_not_pinned(project: Path):
    (project / "AGENTS.md").write_text("See @docs/style.md and @CLAUDE.md, not `@docs/code.md`.")
    (project / "CLAUDE.md").write_text("See @docs/style.md.")
    (project / "docs/style.md").write_text("See @../docs/deep.md.")
    (project / "docs/deep.md").write_text("Deep.")
    (project / "docs/code.md").write_text("Code.")

    assert listed(project) == [
        ("instructions", "AGENTS.md"),
        ("instructions", "CLAUDE.md"),
        ("instructions", "docs/style.md"),
        ("instructions", "docs/deep.md"),
    ]
    assert not any(each.is_pinned for each in inventory(project).found)


def test_files_that_rules_include_are_listed(project: Path):
    (project / ".cinch/rules").mkdir(parents=True)
    (project / ".cinch/rules/api.md").write_text("See @../../docs/api.md.")
    (project / "docs/api.md").write_text("API.")

    assert listed(project) == [("rules", ".cinch/rules/api.md"), ("instructions", "docs/api.md")]


def test_files_outside_and_hidden_files_are_not_listed(project: Path):
    (project.parent / "secret.md").write_text("key")
    (project / ".env").write_text("KEY=1")
    (project / "AGENTS.md").write_text("See @../secret.md and @.env.")

    assert listed(project) == [("instructions", "AGENTS.md")]
