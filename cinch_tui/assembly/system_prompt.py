"""System prompt of the user's own, from a template."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from harness.errors import NotAFile
from harness.terminal_text import escape_controls
from harness.workspace.disk import read_small_text

MAX_BYTES = 256 * 1024
"""Maximum size of the file, in bytes."""


class OwnPrompt(Struct, frozen=True):
    """Instructions in place of those of cinch."""

    text: str = ""
    """The instructions; empty for those of cinch."""
    problems: tuple[str, ...] = ()
    """Reason that the file is not used."""


async def own_prompt(name: str, root: Path, environ: Mapping[str, str]) -> OwnPrompt:
    """Return the instructions in a file. Never raises.

    Args:
        name: Path of the file, relative to `root`; empty for none.
        root: Folder of the agent.
        environ: Environment of the start.
    """
    return await asyncio.to_thread(_rendered, root / Path(name).expanduser(), root, environ) if name else OwnPrompt()


def _rendered(path: Path, root: Path, environ: Mapping[str, str]) -> OwnPrompt:
    # Imported here because few users have a system prompt of their own.
    from extensions.lifecycle.templates import TemplateError, parse_template
    from extensions.lifecycle.variables import SYSTEM_VARIABLES, system_values

    try:
        template = parse_template(read_small_text(path, MAX_BYTES), str(path), SYSTEM_VARIABLES)
        return OwnPrompt(template.render(system_values(root, environ)))
    except TemplateError as error:
        reason = str(error)
    except UnicodeDecodeError:
        reason = f"{path} is not UTF-8 text"
    except NotAFile as error:
        reason = f"{path} is {error}"
    except OSError as error:
        reason = f"{path}: {error.strerror}"
    return OwnPrompt(problems=(escape_controls(f"Your system prompt is not used: {reason}"),))
