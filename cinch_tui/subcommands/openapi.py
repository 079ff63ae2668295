"""`cinch openapi`: list the tools of APIs that OpenAPI documents describe."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cinch_tui.cli.start import config_sources
from cinch_tui.config.api_tables import read_apis
from cinch_tui.config.layers import load_config
from cinch_tui.config.paths import find_paths
from cinch_tui.print_mode.output import Output
from harness.errors import ConfigError
from harness.terminal_text import escape_controls

if TYPE_CHECKING:
    from tools.openapi import LoadedApi, OpenApi

HELP = """\
cinch openapi list            list the tools of the configured APIs, and the operations that
                              are not offered, with the reasons; calls none of them
cinch openapi list NAME       list those of one API
cinch openapi list DOCUMENT   list those of a document that is not configured: its path or URL
"""


def run(argv: Sequence[str], cwd: Path, out: Output) -> int:
    """Run the command and return the exit status: 1 if a document cannot be loaded.

    Raises:
        ConfigError: the arguments or the configuration are invalid.
    """
    if not argv or argv[0] in ("--help", "-h", "help"):
        out.write_text(HELP)
        return 0
    if argv[0] != "list" or len(argv) > 2 or (len(argv) == 2 and argv[1].startswith("-")):
        raise ConfigError(f"cinch openapi: invalid arguments {' '.join(argv)!r}; see cinch openapi --help")
    config = load_config(config_sources(find_paths(os.environ), cwd))
    apis, problems = read_apis(config.apis, os.environ)
    if len(argv) == 2:
        problems = [problem for problem in problems if f"API {argv[1]} " in problem]
        apis = _named(argv[1], apis, cwd) if not problems else []
    for text in (*config.notices, *problems):
        out.write_text(f"warning: {escape_controls(text)}")
    if not apis and not problems:
        out.write_text("no APIs; to add one, see docs/openapi.md")
    loaded = asyncio.run(_loaded(apis))
    for each in loaded:
        out.write_text("\n".join(escape_controls(line) for line in _lines(each)))
    return int(bool(problems) or any(not each.tools for each in loaded))


def _named(name: str, apis: Sequence[OpenApi], cwd: Path) -> list[OpenApi]:
    from tools.openapi import OpenApi

    found = [api for api in apis if api.name == name]
    is_document = name.startswith(("http://", "https://")) or (cwd / name).is_file()
    if not found and not is_document:
        raise ConfigError(f"no API named {name!r} is configured, and there is no such file")
    return found or [OpenApi("document", name if "://" in name else str(cwd / name))]


async def _loaded(apis: Sequence[OpenApi]) -> tuple[LoadedApi, ...]:
    from tools.openapi import OpenApiTools

    tools = OpenApiTools(*apis)
    await tools.load_available()
    await tools.close()
    return tools.loaded


def _lines(loaded: LoadedApi) -> Iterator[str]:
    count = len(loaded.tools)
    title = f" ({loaded.title})" if loaded.title else ""
    yield f"{loaded.api.name}{title}: {count} tool{'' if count == 1 else 's'}"
    width = max((len(tool.name) for tool in loaded.tools), default=0)
    for tool in loaded.tools:
        yield f"  {tool.name:<{width}}  {tool.summary({})}"
    for skipped in loaded.skipped:
        yield f"  not offered: {skipped}"
    for problem in loaded.problems:
        yield f"  problem: {problem}"
