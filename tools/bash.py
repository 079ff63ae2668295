"""bash: runs a shell command in the workspace and streams its output."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta
from msgspec.structs import replace

from harness.jobs import MAX_RUNNING
from harness.messages import JsonObject, Text
from harness.ports.tool import LEFT_STATE, Revisable, Tool, ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import TerminalView, View
from tools.builtin import LazyTool
from tools.command_execution import Command, CommandExecution, title_of
from tools.compression import Compression
from tools.environment import command_environment, configured, git_environment, read_only_environment
from tools.shell.analysis import analyze
from tools.shell_command import ShellCommand, run_command
from tools.shell_options import DEFAULT_SHELL, ShellOptions
from tools.shell_state import ShellState, placed, read_report, reporting
from tools.typed import Parameters, TypedTool

if TYPE_CHECKING:
    from tools.terminal_process import TerminalProcess

LONGEST_SECONDS = 600.0
NO_BACKGROUND = "Background commands are not available here. Run it without background."
TOO_MANY_JOBS = f"{MAX_RUNNING} background jobs are running already: stop one"
_BY_CALL = " with {job_kill}"

_WORKSPACE_ROOT = ShellState()


def _seconds(value: float) -> float:
    """Convert milliseconds, which some models send: no timeout is longer than ten minutes."""
    return min(value / 1000, LONGEST_SECONDS) if value > LONGEST_SECONDS else value


class BashArguments(Parameters):
    command: Annotated[str, Meta(min_length=1, description="The command, in bash syntax.")]
    timeout_s: Annotated[
        float,
        Meta(gt=0, description="Seconds until the command continues in the background; at most 600."),
    ] = 120
    background: Annotated[
        bool, Meta(description="Return a job id at once; the command keeps running, without a timeout.")
    ] = False
    pty: Annotated[
        bool, Meta(description="Run an interactive program in a terminal in the background; job_input types into it.")
    ] = False
    cwd: Annotated[str | None, Meta(description="Folder to run in, relative to the workspace root.")] = None
    description: Annotated[str | None, Meta(description="Purpose of the command, in five to ten words.")] = None

    def __post_init__(self) -> None:
        self.timeout_s = _seconds(self.timeout_s)


class BashTool(TypedTool[BashArguments], Revisable):
    """bash.

    Args:
        secrets: Names of environment variables that are hidden from commands, in addition to the keys of known model
            services.
        compression: How much of the output of commands the model gets; the user sees all of it.
        options: Options of the shell.
    """

    name = "bash"
    label = "Run command"
    mutates = "by_call"
    Arguments = BashArguments

    def __init__(
        self,
        secrets: Iterable[str] = (),
        compression: Compression = "aggressive",
        options: ShellOptions = DEFAULT_SHELL,
    ) -> None:
        self._secrets = frozenset(secrets)
        self._compression: Compression = compression
        self._options = options
        self.shell = ShellState()
        """State that commands have left; empty unless the shell is persistent."""

    def renewed(self) -> BashTool:
        """Return this tool without the state of its calls."""
        return BashTool(self._secrets, self._compression, self._options) if self._options.persistent else self

    def validate_with_schema(self, schema: JsonObject, arguments: JsonObject) -> JsonObject:
        """Validate, and name the folder in the arguments: the call runs in the one it was approved for."""
        valid = super().validate_with_schema(schema, arguments)
        return {**valid, "cwd": self.shell.folder} if valid.get("cwd") is None and self.shell.folder else valid

    def summary(self, arguments: JsonObject) -> str:
        command = arguments.get("command") or arguments.get("cmd")
        title = title_of(command) if isinstance(command, str) else ""
        if arguments.get("pty") is True:
            return f"{title}  (in a terminal)" if title else ""
        apart = arguments.get("background") is True or arguments.get("run_in_background") is True
        return f"{title}  (in the background)" if apart and title else title

    def risk_of(self, arguments: BashArguments) -> Risk:
        risk = analyze(self.shell.analyzed(arguments.command), _folder(arguments)).risk
        reason = [risk.reason]
        if names := self.shell.names:
            reason.append(f"with variables of earlier commands: {names}")
        if functions := self.shell.functions_of(arguments.command):
            reason.append(f"with functions of earlier commands: {', '.join(functions)}")
        if options := self.shell.options:
            reason.append(f"with shell options of earlier commands: {', '.join(options)}")
        if arguments.background or arguments.pty:
            reason.append("runs in the background")
            # What only reads may read forever, and what runs in a terminal reads input.
            level = "execute" if risk.level == "read" else risk.level
            risk = replace(risk, level=level, access="by_level")
        elif self._options.persistent:
            risk = replace(risk, access="exclusive")
        return replace(risk, reason=", ".join(filter(None, reason)))

    async def preview_of(self, arguments: BashArguments, context: ToolContext) -> View | ToolOutput | None:
        return TerminalView(arguments.command, "")

    def revised(self, arguments: JsonObject, view: View, text: str) -> JsonObject | None:
        return {**arguments, "command": text} if isinstance(view, TerminalView) else None

    async def execute(self, arguments: BashArguments, context: ToolContext) -> ToolOutput:
        is_apart = arguments.background or arguments.pty
        if is_apart and (context.jobs is None or len(context.jobs.running) >= MAX_RUNNING):
            return ToolOutput.failure(f"{TOO_MANY_JOBS}{context.mention(_BY_CALL)}." if context.jobs else NO_BACKGROUND)
        root, folder = context.workspace.root, _folder(arguments)
        if folder and not await asyncio.to_thread((root / _without_tilde(folder)).is_dir):
            return ToolOutput.failure(self._missing(folder))
        if is_apart or not self._options.persistent or context.by_user:
            return await self._run(arguments, context)
        with tempfile.TemporaryDirectory(prefix="cinch-shell-") as reports:
            return await self._run(arguments, context, Path(reports) / "state")

    async def _run(self, arguments: BashArguments, context: ToolContext, report: Path | None = None) -> ToolOutput:
        """Run a command; `report` is the file for the state of its shell."""
        start = ShellState() if context.by_user else replace(self.shell)
        start.folder = _folder(arguments)
        command = await prepared(arguments.command, context, self._secrets, start=start)
        shown = replace(command, text=reporting(command.text, report)) if report else command
        # The output of a command that only reads is content, such as a file.
        is_content = analyze(start.analyzed(arguments.command), start.folder).risk.level == "read"
        compression: Compression = "off" if is_content else self._compression
        terminal = _terminal(command) if arguments.pty else None
        run = terminal.run if terminal else partial(run_command, shown)
        task = Command(
            self.name, arguments.command, run, compression, on_timeout=self._options.on_timeout, terminal=terminal
        )
        is_apart = arguments.background or arguments.pty
        output = await CommandExecution(task, context).execute(None if is_apart else arguments.timeout_s)
        return self._with_state(output, command, report, context.workspace.root) if report else output

    def _with_state(self, output: ToolOutput, command: ShellCommand, report: Path, root: Path) -> ToolOutput:
        """Keep the state that a command has left, and add what has changed to its output."""
        found = read_report(report, command.environment, root)
        if found is None:
            return output
        before, start = self.shell.description, placed(os.path.realpath(command.cwd), root)
        self.shell.update(found, start, os.environ)
        after = self.shell.description
        details: JsonObject = {**(output.details or {}), LEFT_STATE: after}
        note = (
            f"\n[Later commands start with: {after or 'the workspace root, nothing else'}]" if after != before else ""
        )
        return replace(output, content=(*output.content, *([Text(note)] if note else [])), details=details)

    def _missing(self, folder: str) -> str:
        if folder == self.shell.folder:
            self.shell.folder = ""
            return (
                f"{folder} does not exist any more, so the command did not run. Later ones start in the workspace root."
            )
        return f"There is no folder {folder}, so the command did not run."


_GIT_TOOL_SETTINGS = {"core.quotePath": "false", "advice.detachedHead": "false"}


async def prepared(
    text: str,
    context: ToolContext,
    secrets: Iterable[str],
    *,
    start: ShellState = _WORKSPACE_ROOT,
    is_git_tool: bool = False,
) -> ShellCommand:
    """Return a command line with the environment that fits what it does.

    Args:
        text: The command line.
        context: Services of the call.
        secrets: Names of environment variables that are hidden from it.
        start: State that it starts with.
        is_git_tool: True if git takes paths literally, not as patterns, and prints them as they are.
    """
    analysis, root = analyze(start.analyzed(text), start.folder), context.workspace.root
    only_reads = analysis.risk.level == "read"
    environment = start.applied_to(command_environment(os.environ, secrets), only_harmless=only_reads)
    if only_reads:
        environment = read_only_environment(environment, root)
        text = start.assignments(environment) + text
    folders = [root / _without_tilde(each) for each in analysis.git_folders if "\0" not in each]
    # Looking for drivers may run git itself.
    environment = await asyncio.to_thread(git_environment, environment, folders, analysis.git_use)
    if is_git_tool:
        environment = configured({**environment, "GIT_LITERAL_PATHSPECS": "1"}, _GIT_TOOL_SETTINGS)
    if not only_reads:
        text, environment = start.with_functions(text, environment)
    folder = root / _without_tilde(start.folder)
    return ShellCommand(text, folder, environment, start.option_words, is_users=context.by_user)


def shell_state_of(tools: Iterable[Tool]) -> ShellState | None:
    """Return the state of the persistent shell among these tools; None if absent."""
    found = (tool.load() for tool in tools if isinstance(tool, LazyTool) and tool.keeps_state)
    return next((tool.shell for tool in found if isinstance(tool, BashTool)), None)


def _folder(arguments: BashArguments) -> str:
    """Return the folder of a call, normalized; empty for the workspace root."""
    folder = os.path.normpath(arguments.cwd or ".")
    return "" if folder == "." else folder


def _terminal(command: ShellCommand) -> TerminalProcess:
    # Few commands need a terminal.
    from tools.terminal_process import TerminalProcess

    return TerminalProcess(command)


def _without_tilde(folder: str) -> Path:
    with suppress(RuntimeError):
        return Path(folder).expanduser()
    # There is no such user.
    return Path(folder)
