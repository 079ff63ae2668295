"""Built-in tools of the agent, one file for each."""

from __future__ import annotations

try:
    import harness.errors  # pyright: ignore[reportUnusedImport] only to see that it is ours
except ImportError as error:
    import harness

    message = f"{harness!r} hides the package of that name which cinch-tui brings and tools needs: rename it"
    raise ImportError(message) from error

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from harness.ports.tool import Tool
    from tools.compression import Compression
    from tools.lsp.servers import LanguageServers
    from tools.post_edit import PostEditStep
    from tools.shell_options import ShellOptions
    from tools.web.options import WebOptions

OPTIONAL_TOOLS = ("apply_patch", "think", "prun", "prun_with_memo", "revert_to_state")
"""Tools that are offered only if they are enabled by name: patches, a place to think, editing the model's context."""


def builtin_tools(  # noqa: PLR0913  keywords with defaults
    *,
    secrets: Callable[[], Iterable[str]] = tuple,
    compression: Compression = "aggressive",
    optional: Iterable[str] = (),
    web: WebOptions | None = None,
    symbol_cache: Path | None = None,
    servers: LanguageServers | None = None,
    steps: Sequence[PostEditStep] = (),
    shell: ShellOptions | None = None,
) -> list[Tool]:
    """Return the built-in tools, in the order a model sees them; each is imported when it is first called.

    Args:
        secrets: Returns the names of environment variables that are hidden from commands, in addition to the keys
            of known model services; called when the first command runs.
        compression: Compression of the output of commands for the model.
        optional: Names of the `OPTIONAL_TOOLS` to return as well.
        web: Options of the web tools; `web_search` is returned only if something can search.
        symbol_cache: Folder of the indexes of `find_symbol` and `repo_map`; None to read all files each time.
        servers: Language servers; without them `lsp` is not returned. The caller closes them.
        steps: Steps after each change of files by a tool, in order.
        shell: Options of the shell that commands run in.
    """
    from tools.builtin import CLASSES, LazyTool, ToolOptions

    options = ToolOptions(secrets, compression, web, symbol_cache, servers, steps, *((shell,) if shell else ()))
    has_search = web is not None and bool(web.service or web.hosting)
    missing = {"web_search": not has_search, "lsp": servers is None}
    return [LazyTool(name, options) for name in (*CLASSES, *optional) if not missing.get(name)]


def load(tools: Iterable[Tool]) -> None:
    """Import the built-in tools among `tools`, instead of with their first call; meant for a thread."""
    from tools.builtin import LazyTool

    for tool in tools:
        if isinstance(tool, LazyTool):
            tool.load()
