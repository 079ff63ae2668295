"""git_commit: a commit of given paths, or of what is staged."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from harness.messages import JsonObject, Text
from harness.ports.tool import ToolContext, ToolOutput
from harness.terminal_text import escape_controls
from harness.views import TextView, View
from tools import git_tools
from tools.command_execution import CommandRun
from tools.git_index import IndexCopy
from tools.git_tools import HOOK_SECONDS, GitTool, hint_for
from tools.shell_command import CommandResult, OutputSink
from tools.typed import Parameters

SHOWN_FILES = 30
"""Number of files to name in the preview of a commit."""
NOTHING_STAGED = "Nothing is staged. Pass the paths to commit"
NOTHING_CHANGED = "There is nothing to commit in these paths"
_SHOWN_BY = "; {git_status} shows what has changed"
IN_SUBMODULES = " Changes inside a submodule are committed there first, with `git -C`."

_CONFLICTS = frozenset({"DD", "AU", "UD", "UA", "DU", "AA", "UU"})
_STATUS = ("status", "--porcelain", "--untracked-files=all", "--ignore-submodules=dirty")
_DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", f"--stat=72,50,{SHOWN_FILES}")
_IDENTITIES = ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT")

_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class CommitArguments(Parameters):
    message: Annotated[str, Meta(min_length=1, max_length=10_000, description="Subject, empty line, body.")]
    paths: Annotated[
        tuple[git_tools.Path, ...],
        Meta(description="Commit exactly these files or folders, new ones too; default: what is staged."),
    ] = ()

    def __post_init__(self) -> None:
        if not self.message.strip():
            raise ValueError("message: must not be blank")


class GitCommitTool(GitTool[CommitArguments]):
    name = "git_commit"
    label = "Git commit"
    mutates = True
    seconds = HOOK_SECONDS
    reason = "it creates a commit, and runs the commit hooks of the repository"
    Arguments = CommitArguments

    def summary(self, arguments: JsonObject) -> str:
        message = arguments.get("message")
        return message.strip().partition("\n")[0] if isinstance(message, str) else ""

    def words_of(self, arguments: CommitArguments) -> Sequence[str]:
        return ("commit", "-m", arguments.message, *(("--", *arguments.paths) if arguments.paths else ()))

    def command_line(self, arguments: CommitArguments) -> str:
        commit = super().command_line(arguments)
        # git commits new files only if the index knows of them.
        return f"{shlex.join(('git', 'add', '-N', '--', *arguments.paths))} && {commit}" if arguments.paths else commit

    def revised(self, arguments: JsonObject, view: View, text: str) -> JsonObject | None:
        return {**arguments, "message": text}

    async def preview_of(self, arguments: CommitArguments, context: ToolContext) -> View | ToolOutput | None:
        paths = arguments.paths
        code, status = await self._git(context, *_STATUS, "--", *paths)
        if code:
            return ToolOutput.failure(status.strip())
        changes = [each for each in _changes(status) if paths or each[0][0] not in " ?"]
        merges = not (await self._git(context, "rev-parse", "-q", "--verify", "MERGE_HEAD"))[0]
        if problem := await self._problem(arguments, context, changes, merges=merges):
            return ToolOutput.failure(problem)
        base = ("HEAD", "--", *paths) if paths else ("--cached",)
        code, stat = await self._git(context, *_DIFF, *base)
        new = [f" new: {_shown(path)}" for state, path in changes if state == "??"]
        # A repository without a commit has nothing to compare paths with.
        lines = [f" {_shown(path)}" for _, path in changes] if code else [*stat.splitlines(), *_shortened(new)]
        message = arguments.message.strip()
        return TextView("\n".join((message, "", *(_shortened(lines) if code else lines))), editable=message)

    async def execute(self, arguments: CommitArguments, context: ToolContext) -> ToolOutput:
        before = await self._states(context)
        output = await super().execute(arguments, context)
        after = await self._states(context, *before)
        changed = [_shown(path) for path, state in after.items() if state != before.get(path)]
        notes = [f"Changed while the commit hooks ran: {', '.join(changed[:SHOWN_FILES])}."] if changed else []
        if output.is_error and output.details and output.details.get("exit_code") == 1:
            # With this exit code, git prints nothing itself if a hook fails.
            notes.append("Nothing was committed.")
        return replace(output, content=(*output.content, Text("\n" + "\n".join(notes)))) if notes else output

    async def runner(self, arguments: CommitArguments, context: ToolContext) -> CommandRun:
        run = await super().runner(arguments, context)
        if not arguments.paths:
            return run
        code, path = await self._git(context, "rev-parse", "--git-path", "index")
        return run if code else partial(_with_index_restored, run, context.workspace.root / path.rstrip("\n"))

    async def _problem(
        self, arguments: CommitArguments, context: ToolContext, changes: Sequence[tuple[str, str]], *, merges: bool
    ) -> str:
        """Return why the commit is not possible; empty if it is."""
        if conflicts := [_shown(path) for state, path in changes if state in _CONFLICTS]:
            names = ", ".join(conflicts[:SHOWN_FILES])
            return f"These files have merge conflicts: {names}. Resolve them and stage them with `git add`."
        if merges and arguments.paths:
            return hint_for("partial commit during a merge")
        if not changes and not merges:
            submodules = IN_SUBMODULES if (context.workspace.root / ".gitmodules").exists() else ""
            nothing = NOTHING_CHANGED if arguments.paths else NOTHING_STAGED
            return f"{nothing}{context.mention(_SHOWN_BY)}.{submodules}"
        for each in _IDENTITIES:
            code, text = await self._git(context, "var", each)
            if code:
                return hint_for(text) or text.strip()
        return ""

    async def _states(self, context: ToolContext, *others: str) -> dict[str, tuple[int, int] | None]:
        """Return size and time of the changed files, and of others; None for one that does not exist."""
        _, status = await self._git(context, *_STATUS)
        paths = dict.fromkeys((*others, *(path for _, path in _changes(status))))
        return await asyncio.to_thread(lambda: {path: _state(context.workspace.root / path) for path in paths})

    async def _git(self, context: ToolContext, *words: str) -> tuple[int, str]:
        return await self.read(shlex.join(("git", *words)), context)


async def _with_index_restored(run: CommandRun, index: Path, on_output: OutputSink) -> CommandResult:
    """Run a commit; if it fails or is cancelled, the new files that it has added to the index are removed from it."""
    before = await asyncio.to_thread(IndexCopy, index)
    is_committed = False
    try:
        result = await run(on_output)
        is_committed = not result.exit_code
        return result
    finally:
        if not is_committed:
            # Not in a thread, which a second cancellation would not wait for.
            before.restore()


def _changes(status: str) -> list[tuple[str, str]]:
    """Return the state, such as ` M`, and the path of each changed file in an output of `git status --porcelain`."""
    # A renamed file is listed as `former path -> path`; paths with spaces are quoted.
    return [(line[:2], _unquoted(line[3:].rpartition(" -> ")[2])) for line in status.split("\n") if line[2:3] == " "]


def _unquoted(path: str) -> str:
    """Return a path that git may have written as a string of C."""
    if not path.startswith('"'):
        return path
    return _ESCAPE.sub(
        lambda found: _ESCAPED.get(found[1]) or (chr(int(found[1], 8)) if found[1][1:] else found[1]), path[1:-1]
    )


def _state(path: Path) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    return status.st_size, status.st_mtime_ns


def _shown(path: str) -> str:
    return escape_controls(path).replace("\n", "␊")


def _shortened(lines: Sequence[str]) -> Sequence[str]:
    return lines if len(lines) <= SHOWN_FILES else [*lines[:SHOWN_FILES], f" … and {len(lines) - SHOWN_FILES} more"]
