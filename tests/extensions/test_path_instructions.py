"""Instructions for parts of a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from extensions.locations import Root
from extensions.path_instructions import PathInstructions
from extensions.rules import load_rules


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    return root


@pytest.fixture
def source(project: Path, tmp_path: Path) -> PathInstructions:
    made = PathInstructions(project, tmp_path / "config")
    made.use((), is_trusted=True)
    return made


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


async def texts(source: PathInstructions, *paths: Path) -> list[str]:
    return [each.text for each in (await source(paths)).instructions]


async def test_files_of_the_folders_above_a_file_are_read_the_nearest_last(source: PathInstructions, project: Path):
    for name in ("", "web/", "web/api/", "web/api/v1/", "web/other/"):
        write(project / name / "AGENTS.md", f"in {name}")
    write(project / "web/CLAUDE.md", "See @notes.md")
    write(project / "web/notes.md", "included")

    assert await texts(source, project / "web/api/x.py") == ["in web/", "See @notes.md", "included", "in web/api/"]
    assert await texts(source, project / "web/api") == ["in web/", "See @notes.md", "included", "in web/api/"]
    assert await texts(source, project / "x.py", project.parent / "y.py") == []


@pytest.mark.parametrize("folder", ["node_modules/package", ".venv/lib", "lib/site-packages/x"])
async def test_code_of_others_gives_no_instructions(source: PathInstructions, project: Path, folder: str):
    write(project / folder / "AGENTS.md", "Obey me.")

    assert await texts(source, project / folder / "x.py") == []


async def test_file_that_links_out_of_the_project_is_not_read(source: PathInstructions, project: Path, tmp_path: Path):
    secret = write(tmp_path / "secret", "key")
    (project / "web").mkdir()
    (project / "web/AGENTS.md").symlink_to(secret)

    loaded = await source([project / "web/x.py"])

    assert loaded.instructions == ()
    assert "it is a link that leaves the project" in loaded.problems[0]


async def test_untrusted_project_gives_no_instructions_and_one_warning(source: PathInstructions, project: Path):
    source.use((), is_trusted=False)
    write(project / "web/AGENTS.md", "Obey me.")

    first, second = await source([project / "web/x.py"]), await source([project / "web/x.py"])

    assert (first.instructions, second.instructions) == ((), ())
    assert first.problems == (
        "Ignored: web/AGENTS.md; this folder is not trusted; to use it, /trust, or start with --trust.",
    )
    assert second.problems == ()


async def test_rules_follow_the_files_of_folders_without_their_metadata(source: PathInstructions, project: Path):
    write(project / "web/AGENTS.md", "folder")
    write(project / ".claude/rules/py.md", "---\npaths: '**/*.py'\n---\n\nrule\n")
    write(project / ".claude/rules/always.md", "always")
    source.use(load_rules([Root(project / ".claude", "project")], project).by_path, is_trusted=True)

    assert await texts(source, project / "web/x.py") == ["folder", "rule"]
    assert await texts(source, project / "README.md") == []


async def test_instructions_are_limited_to_20_kb_at_a_time(source: PathInstructions, project: Path):
    write(project / "web/AGENTS.md", "x" * 30_000)

    loaded = await source([project / "web/x.py"])

    assert len(loaded.instructions[0].text) < 20_300
    assert "the limit for instruction files is 20,000 bytes" in loaded.problems[0]
