"""Formatters that run after changes of files, by the name of the file."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from harness.errors import WorkspaceError
from harness.ports.tool import ToolContext
from harness.terminal_text import escape_controls
from harness.views import DiffView
from harness.workspace.changes import Change
from harness.workspace.disk import read_regular, regular_status
from harness.workspace.hunks import Sides, hunks_of
from tools.post_edit import EditNote

if TYPE_CHECKING:
    from tools.post_edit import PostEditStep

FILE = "{file}"
"""Place of the file in a command."""
TIMEOUT_S = 10.0
MAX_RANGES = 10
MAX_SHOWN_LINES = 40
"""Number of formatted lines that the model gets; more have to be read."""
MAX_SHOWN_CHARS = 3_000
MAX_OTHER_BYTES = 10 * 1024 * 1024
"""Most bytes of other files that are read before a formatter runs, so that the user can revert its changes of them."""
MAX_ERROR_LINES = 5
LONGEST_LINE = 300
LONGEST_NAME = 80
_MOST_OUTPUT = 20_000


class FormatRule(Struct, frozen=True):
    """A formatter for some files."""

    pattern: str
    """Glob for the name of the file, or with `/` for its path in the workspace."""
    command: tuple[str, ...]
    """Program and arguments, with `{file}`."""

    @property
    def name(self) -> str:
        """The command without the file, for notes."""
        program, *words = self.command
        name = " ".join((os.path.basename(program), *(word for word in words if FILE not in word)))  # noqa: PTH119  may be any text
        return escape_controls(name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…")

    def applies_to(self, path: str) -> bool:
        """Return True if the formatter is for a file, given by its path in the workspace."""
        name = path if "/" in self.pattern else path.rpartition("/")[2]
        return fnmatchcase(name, self.pattern.removeprefix("/"))


def format_rules(commands: Mapping[str, str]) -> tuple[tuple[FormatRule, ...], list[str]]:
    """Return the rules of a table of commands by pattern, and problems with it; an empty command sets no rule."""
    rules: list[FormatRule] = []
    problems: list[str] = []
    for pattern, command in commands.items():
        try:
            words = tuple(shlex.split(command))
        except ValueError as error:
            problems.append(f"format: the command for {pattern!r} is not valid: {error}")
            continue
        if words and not any(FILE in word for word in words):
            problems.append(f"format: the command for {pattern!r} lacks {FILE}")
        elif words:
            rules.append(FormatRule(pattern, words))
    return tuple(rules), problems


class Formatter:
    """Runs formatters after changes of files; a step after edits.

    Args:
        rules: The formatters; all that apply to a file run, in order.
        secrets: Returns the names of environment variables that are hidden from them.
        timeout_s: Time limit of one run, in seconds.
    """

    def __init__(
        self,
        rules: Iterable[FormatRule] = (),
        *,
        secrets: Callable[[], Iterable[str]] = tuple,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.rules = tuple(rules)
        """The formatters; may be replaced at any time."""
        self.timeout_s = timeout_s
        self._secrets = secrets

    async def __call__(self, changes: list[Change], context: ToolContext) -> Sequence[EditNote]:
        """Format changed files, replace their changes, and return notes on what differs or failed."""
        notes: list[EditNote] = []
        for index, change in enumerate(changes):
            path = context.workspace.display(change.path)
            if change.is_removed or path.startswith(("/", "..")):
                continue
            for rule in self.rules:
                if rule.applies_to(path):
                    changes[index], note = await self._formatted(rule, changes[index], context)
                    notes += [note] if note else []
        return notes

    async def _formatted(
        self, rule: FormatRule, change: Change, context: ToolContext
    ) -> tuple[Change, EditNote | None]:
        """Run a formatter, and return the change with the text it leaves, and a note."""
        others = [path for path in context.workspace.reads if path != change.path]
        before, contents = await asyncio.to_thread(lambda: (_states(others), _contents(others)))
        failure = await self._run(rule, change.path, context.workspace.root)
        after = await asyncio.to_thread(_states, others)
        changed = [each for each in others if before[each] != after[each]]
        also = [context.workspace.display(each) for each in changed]
        for each in changed:
            if each in contents:
                context.workspace.observers.changed(each, contents[each])
        path = escape_controls(context.workspace.display(change.path))
        try:
            # The model learns what is different, so it may change the file without reading it again.
            file = await context.workspace.read(change.path)
        except WorkspaceError as error:
            text = f"{rule.name}: {failure or 'the file cannot be read any more'} ({error})"
            return change, EditNote(text, is_problem=True)
        lines, excerpt = _changed_lines(change.new, file.text)
        new = replace(change, new=file.text, size=file.size)
        differs = f"the file now differs from what you wrote at {lines}" if lines else ""
        if failure:
            text = f"{path} is changed, but {rule.name} {failure}{f'; {differs}' if differs else ''}"
            return new, EditNote(text, is_problem=True, excerpt=excerpt)
        if also:
            shown = ", ".join(map(escape_controls, also[:MAX_RANGES]))
            differs = f"{differs}{'; ' if differs else ''}it also changed {shown}, which must be read again"
        return new, EditNote(f"{path}: formatted by {rule.name}; {differs}.", excerpt=excerpt) if differs else None

    async def _run(self, rule: FormatRule, path: Path, root: Path) -> str:
        """Run a formatter, and return why it failed; empty if it did not."""
        # Few users have formatters.
        from tools.child_process import Program
        from tools.environment import command_environment
        from tools.shell_command import run_program

        output = bytearray()

        def keep(data: bytes) -> None:
            output.extend(data[: _MOST_OUTPUT - len(output)])

        # As an argument of its own, and absolute: no name of a file can be an option or several words.
        args = tuple(word.replace(FILE, str(path)) for word in rule.command)
        program = Program(args, root, command_environment(os.environ, self._secrets()))
        try:
            async with asyncio.timeout(self.timeout_s):
                result = await run_program(program, b"", keep, keep)
        except TimeoutError:
            return f"took longer than {self.timeout_s:g} s and was stopped"
        except (OSError, ValueError) as error:
            return f"cannot be started: {getattr(error, 'strerror', None) or error}"
        if result.exit_code == 0:
            return ""
        lines = [line[:LONGEST_LINE] for line in output.decode(errors="replace").splitlines() if line.strip()]
        shown = "\n".join(map(escape_controls, lines[:MAX_ERROR_LINES]))
        return f"failed with exit code {result.exit_code}" + (f":\n{shown}" if shown else "")


def _changed_lines(before: str, after: str) -> tuple[str, str]:
    """Return which lines of a text differ from it before, such as `lines 3–5, 9`, and if they are few, these lines."""
    if before == after:
        return "", ""
    view = DiffView("", before, after)
    hunks, texts = hunks_of(view), Sides.of(view).new
    ranges = [
        f"{hunk.new_from + 1}" if hunk.new_to - hunk.new_from <= 1 else f"{hunk.new_from + 1}–{hunk.new_to}"
        for hunk in hunks[:MAX_RANGES]
    ]
    more = f" and {len(hunks) - MAX_RANGES} more places" if len(hunks) > MAX_RANGES else ""
    noun = "line" if len(ranges) == 1 and "–" not in ranges[0] else "lines"
    numbers = [number for hunk in hunks for number in range(hunk.new_from, hunk.new_to)]
    is_short = len(numbers) <= MAX_SHOWN_LINES and sum(len(texts[number]) for number in numbers) <= MAX_SHOWN_CHARS
    excerpt = "".join(f"{number + 1}\t{texts[number]}" for number in numbers) if is_short else ""
    return f"{noun} {', '.join(ranges)}{more}", excerpt.rstrip("\r\n")


def _states(paths: Sequence[Path]) -> dict[Path, tuple[int, int] | None]:
    """Return time and size of files; None for one that does not exist."""
    return {path: _state(path) for path in paths}


def _contents(paths: Sequence[Path]) -> dict[Path, bytes]:
    """Return the contents of files, as far as they are not too large in all; a formatter may change them."""
    contents: dict[Path, bytes] = {}
    room = MAX_OTHER_BYTES
    for path in paths:
        with suppress(OSError, WorkspaceError):
            if (size := regular_status(path).st_size) <= room:
                contents[path] = read_regular(path)
                room -= size
    return contents


def _state(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


if TYPE_CHECKING:
    _: Callable[[], PostEditStep] = Formatter
