"""List of the tools of the dialect `cats`, and the tools of cinch that they replace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set

from harness.ports.tool import Tool
from tools.bash import BashTool
from tools.compression import Compression
from tools.dialects.cats.commands import CountTokensTool, RunCommandTool, SubmitTool
from tools.dialects.cats.editing import (
    DeleteFunctionTool,
    DeleteLineTool,
    DeleteTextTool,
    InsertTextTool,
    ReplaceTextTool,
)
from tools.dialects.cats.files import CreateFileTool, OverwriteFileTool
from tools.dialects.cats.navigation import GotoTool, OpenTool, ScrollDownTool, ScrollUpTool, StateTool
from tools.dialects.cats.paths import CopyPathTool, CreateDirectoryTool, DeletePathTool, FilemapTool, MovePathTool
from tools.dialects.cats.searching import FindFileTool, SearchDirTool, SearchFileTool
from tools.dialects.cats.window import Window
from tools.dialects.translation import RenamedTools
from tools.post_edit import PostEditStep
from tools.shell_options import ShellOptions

REPLACED = frozenset(
    {
        *("read_file", "write_file", "edit_file", "move_file", "copy_file", "delete_file"),
        *("list_files", "find_files", "grep", "bash", "job_output", "job_kill"),
    }
)
"""Tools of cinch that are not offered with those of the dialect."""

EDITING = frozenset({"create_file", "overwrite_file", "replace_text"})
"""Tools that do what `edit_file` and `write_file` do."""

_MENTIONS = {
    "read_file": "open",
    "write_file": "create_file",
    "edit_file": "replace_text",
    "list_files": "find_file",
    "find_files": "find_file",
}


def cats_dialect(replaced: Mapping[str, Set[str]] = {}) -> RenamedTools:
    """Return the dialect of an agent with these tools: texts for the model name them.

    Args:
        replaced: Names of tools that are not offered with another one, by the name of that one.
    """
    return RenamedTools("cats", {}, _MENTIONS, replaced)


def cats_tools(
    *,
    secrets: Callable[[], Iterable[str]] = tuple,
    compression: Compression = "aggressive",
    steps: Sequence[PostEditStep] = (),
) -> list[Tool]:
    """Return the tools of the dialect, with a window of their own.

    Args:
        secrets: Returns the names of environment variables that are hidden from commands.
        compression: Compression of the output of commands.
        steps: Steps after each edit.
    """
    window = Window(steps=steps)
    return [
        OpenTool(window),
        GotoTool(window),
        ScrollUpTool(window),
        ScrollDownTool(window),
        FindFileTool(window),
        SearchFileTool(window),
        SearchDirTool(window),
        CreateFileTool(window),
        OverwriteFileTool(window),
        ReplaceTextTool(window),
        InsertTextTool(window),
        DeleteTextTool(window),
        DeleteLineTool(window),
        DeleteFunctionTool(window),
        DeletePathTool(window),
        MovePathTool(window),
        CopyPathTool(window),
        CreateDirectoryTool(window),
        RunCommandTool(window, BashTool(secrets(), compression, ShellOptions(on_timeout="kill"))),
        FilemapTool(window),
        CountTokensTool(window),
        StateTool(window),
        SubmitTool(window),
    ]
