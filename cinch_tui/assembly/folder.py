"""Contents of a folder that an agent uses, as far as the user trusts the folder."""

from __future__ import annotations

import asyncio
from pathlib import Path

from msgspec import Struct

from cinch_tui.config.options import Options
from cinch_tui.trust.prompt import folder_state, skipped_notices
from cinch_tui.trust.store import FolderTrust
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


async def read_folder(options: Options, root: Path) -> Folder:
    """Read what a folder brings along, as far as the user trusts it."""
    files, trust = await asyncio.to_thread(folder_state, options, root)
    loaded = await load_instructions(root, options.paths.config, project=trust.is_trusted)
    environment = await asyncio.to_thread(describe_environment, root)
    return Folder(
        prompt=options.system or build_system_prompt(environment, loaded.instructions),
        instructions=quoted(loaded.instructions),
        trust=trust,
        ignored=tuple(files.label(each.path) for each in files.found if each.path in trust.inert),
        problems=(*loaded.problems, *skipped_notices(files, trust, headless=options.headless)),
    )
