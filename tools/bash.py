"""bash: runs a shell command in the workspace and streams its output."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from harness.jobs import MAX_RUNNING
from harness.messages import JsonObject
from harness.ports.tool import Revisable, ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import TerminalView, View
from tools.command_execution import Command, CommandExecution, title_of
from tools.compression import Compression
from tools.environment import command_environment, git_environment, read_only_environment
from tools.shell.analysis import analyze
from tools.shell_command import ShellCommand, run_command
from tools.typed import Parameters, TypedTool

LONGEST_SECONDS = 600.0
NO_BACKGROUND = "Background commands are not available here. Run it without background."
TOO_MANY_JOBS = f"{MAX_RUNNING} background jobs are running already: stop one with job_kill."


def _seconds(value: float) -> float:
    """Convert milliseconds, which some models send: no timeout is longer than ten minutes."""
    return min(value / 1000, LONGEST_SECONDS) if value > LONGEST_SECONDS else value


class BashArguments(Parameters):
    command: Annotated[str, Meta(min_length=1, description="The command, in bash syntax.")]
    timeout_s: Annotated[
        float,
        Meta(gt=0, description="Seconds until the command and everything it started are stopped; at most 600."),
    ] = 120
    background: Annotated[
        bool, Meta(description="Return a job id at once; the command keeps running, without a timeout.")
    ] = False
    description: Annotated[str | None, Meta(description="Purpose of the command, in five to ten words.")] = None

    def __post_init__(self) -> None:
        self.timeout_s = _seconds(self.timeout_s)


class BashTool(TypedTool[BashArguments], Revisable):
    """bash.

    Args:
        secrets: Names of environment variables that are hidden from commands, in addition to the keys of known model
            services.
        compression: How much of the output of commands the model gets; the user sees all of it.
    """

    name = "bash"
    label = "Run command"
    mutates = "by_call"
    Arguments = BashArguments

    def __init__(self, secrets: Iterable[str] = (), compression: Compression = "aggressive") -> None:
        self._secrets = frozenset(secrets)
        self._compression: Compression = compression

    def summary(self, arguments: JsonObject) -> str:
        command = arguments.get("command") or arguments.get("cmd")
        title = title_of(command) if isinstance(command, str) else ""
        apart = arguments.get("background") is True or arguments.get("run_in_background") is True
        return f"{title}  (in the background)" if apart and title else title

    def risk_of(self, arguments: BashArguments) -> Risk:
        risk = analyze(arguments.command).risk
        if not arguments.background:
            return risk
        # What only reads may read forever.
        level = "execute" if risk.level == "read" else risk.level
        reason = ", ".join(filter(None, (risk.reason, "runs in the background")))
        return replace(risk, level=level, reason=reason, access="by_level")

    async def preview_of(self, arguments: BashArguments, context: ToolContext) -> View | ToolOutput | None:
        return TerminalView(arguments.command, "")

    def revised(self, arguments: JsonObject, view: View, text: str) -> JsonObject | None:
        return {**arguments, "command": text} if isinstance(view, TerminalView) else None

    async def execute(self, arguments: BashArguments, context: ToolContext) -> ToolOutput:
        if arguments.background and (context.jobs is None or len(context.jobs.running) >= MAX_RUNNING):
            return ToolOutput.failure(TOO_MANY_JOBS if context.jobs else NO_BACKGROUND)
        command = await prepared(arguments.command, context, self._secrets)
        # The output of a command that only reads is content, such as a file.
        is_content = analyze(arguments.command).risk.level == "read"
        compression: Compression = "off" if is_content else self._compression
        task = Command(self.name, arguments.command, partial(run_command, command), compression)
        return await CommandExecution(task, context).execute(None if arguments.background else arguments.timeout_s)


async def prepared(
    text: str, context: ToolContext, secrets: Iterable[str], *, literal_paths: bool = False
) -> ShellCommand:
    """Return a command line with the environment that fits what it does.

    Args:
        text: The command line.
        context: Services of the call.
        secrets: Names of environment variables that are hidden from it.
        literal_paths: True if git takes paths literally, not as patterns.
    """
    analysis, root = analyze(text), context.workspace.root
    environment = command_environment(os.environ, secrets)
    if analysis.risk.level == "read":
        environment = read_only_environment(environment, root)
    folders = [root / _without_tilde(each) for each in analysis.git_folders if "\0" not in each]
    # Looking for drivers may run git itself.
    environment = await asyncio.to_thread(git_environment, environment, folders, analysis.git_use)
    if literal_paths:
        environment["GIT_LITERAL_PATHSPECS"] = "1"
    return ShellCommand(text, root, environment, is_users=context.by_user)


def _without_tilde(folder: str) -> Path:
    with suppress(RuntimeError):
        return Path(folder).expanduser()
    # There is no such user.
    return Path(folder)
