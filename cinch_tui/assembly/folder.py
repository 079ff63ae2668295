"""Contents of a folder that an agent uses, as far as the user trusts the folder."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from msgspec import Struct

from cinch_tui.config.options import Options
from cinch_tui.trust.inventory import Inventory, extension_folders
from cinch_tui.trust.prompt import folder_state, skipped_notices
from cinch_tui.trust.store import FolderTrust
from extensions.locations import Root, roots_in
from extensions.skills import LoadedSkills, Skill, load_skills, skills_section
from harness.instructions.loading import (
    build_system_prompt,
    describe_environment,
    load_instructions,
    quoted,
)


class Folder(Struct, frozen=True):
    """Instructions that the folder of an agent brings along, as far as the user trusts it."""

    prompt: str
    """System prompt with the trusted instruction files."""

    instructions: str
    """The part of the prompt that comes from instruction files."""

    trust: FolderTrust
    """Trust in the folder."""

    ignored: tuple[str, ...]
    """Files that have no effect without trust, relative to the root of the folder."""

    problems: tuple[str, ...]
    """Problems with files, for the user."""

    skills: tuple[Skill, ...] = ()
    """Skills of the user, and of the folder if it is trusted."""


async def read_folder(options: Options, root: Path) -> Folder:
    """Read what a folder brings along, as far as the user trusts it."""
    files, trust = await asyncio.to_thread(folder_state, options, root)
    loaded = await load_instructions(root, options.paths.config, project=trust.is_trusted)
    environment = await asyncio.to_thread(describe_environment, root)
    skills = await asyncio.to_thread(_skills, options, root, files, trust)
    return Folder(
        prompt=options.system or build_system_prompt(environment, loaded.instructions, skills_section(skills.skills)),
        instructions=quoted(loaded.instructions),
        trust=trust,
        ignored=tuple(files.label(each.path) for each in files.found if each.path in trust.inert),
        problems=(*loaded.problems, *skills.problems, *skipped_notices(files, trust, headless=options.headless)),
        skills=skills.skills,
    )


def _skills(options: Options, root: Path, files: Inventory, trust: FolderTrust) -> LoadedSkills:
    """Read the skills of a trusted folder, the nearest first, then those of the user."""
    usable = {each.path for each in files.found if trust.is_trusted and each.path not in trust.inert}

    def is_active(path: Path) -> bool:
        # A link could lead to any file of the user.
        return path in usable and Path(os.path.realpath(path)).is_relative_to(files.root)

    nearest_first = reversed(extension_folders(root))
    roots = [each for folder in nearest_first for each in roots_in(folder, "project", is_active=is_active)]
    roots.append(Root(options.paths.config, "user"))
    home = options.environ.get("HOME")
    roots += [each for each in roots_in(Path(home), "user") if each.path.name != ".cinch"] if home else []
    return load_skills(roots)
