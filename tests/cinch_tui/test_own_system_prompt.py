from __future__ import annotations

import os
from pathlib import Path

import pytest

from cinch_tui.assembly.folder import Folder, read_folder
from cinch_tui.cli.start import config_sources
from cinch_tui.config.names import build
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths


async def read(project: Path, template: str) -> Folder:
    paths = find_paths(os.environ)
    options = Options(project, paths, {"SHELL": "/bin/zsh"}, config_sources(paths, project))
    return await read_folder(options, build({"prompt.template": template}), project)


async def test_template_replaces_the_instructions_of_cinch_and_keeps_the_rest(tmp_path: Path):
    (tmp_path / "system.md").write_text("You work in {{ project }} with {{ shell }}.\n")
    (tmp_path / "pyproject.toml").touch()

    folder = await read(tmp_path, "system.md")

    assert folder.prompt.startswith(f"You work in {tmp_path.name} with zsh.\n\n# Where you are")
    assert (folder.problems, "You are" in (await read(tmp_path, "")).prompt) == ((), True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{{ tools }}", "system.md: the template uses the unknown variable 'tools'"),
        (None, "system.md: No such file or directory"),
    ],
)
async def test_unusable_template_is_reported_and_the_prompt_of_cinch_used(
    tmp_path: Path, text: str | None, reason: str
):
    if text is not None:
        (tmp_path / "system.md").write_text(text)

    folder = await read(tmp_path, "system.md")

    assert folder.prompt == (await read(tmp_path, "")).prompt
    assert reason in folder.problems[0]
