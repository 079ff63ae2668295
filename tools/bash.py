"""bash: runs a shell command in the workspace and streams what it prints."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, AliasChoices, Field

from harness.execution.spill import spill_name
from harness.messages import JsonObject
from harness.tool import Revisable, Risk, Tool, ToolContext, ToolOutput
from harness.views import TerminalView, View
from tools.model_keys import without_model_keys
from tools.output import CapturedOutput
from tools.process import Command, Ended, quiet_environment, run_command
from tools.shell_risk import assess
from tools.typed import Parameters, TypedTool

LIMIT = 30_000
LONGEST_SECONDS = 600.0
_SHOWN_LIVE = 8_000
_UPDATE_SECONDS = 0.1


def _seconds(value: float) -> float:
    """Some models count in milliseconds; nobody means to wait longer than ten minutes."""
    return min(value / 1000, LONGEST_SECONDS) if value > LONGEST_SECONDS else value


class BashArguments(Parameters):
    command: str = Field(
        description="The command, as bash reads it.",
        min_length=1,
        validation_alias=AliasChoices("command", "cmd"),
    )
    timeout_s: Annotated[float, AfterValidator(_seconds)] = Field(
        default=120,
        gt=0,
        description="Seconds until it is stopped with all it started; at most 600.",
        validation_alias=AliasChoices("timeout_s", "timeout"),
    )
    description: str | None = Field(default=None, description="What it is for, in five to ten words.")


class BashTool(TypedTool[BashArguments]):
    """`secrets` names environment variables that a command must not see, beside the keys of known model services."""

    name = "bash"
    label = "Run command"
    mutates = True
    Arguments = BashArguments

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = frozenset(secrets)

    def summary(self, arguments: JsonObject) -> str:
        command = arguments.get("command") or arguments.get("cmd")
        lines = command.strip().splitlines() if isinstance(command, str) else []
        return f"{lines[0]} …" if len(lines) > 1 else "".join(lines)

    def judge(self, arguments: BashArguments) -> Risk:
        return assess(arguments.command)

    async def foresee(self, arguments: BashArguments, context: ToolContext) -> View | ToolOutput | None:
        del context
        return TerminalView(arguments.command, "")

    def revised(self, arguments: JsonObject, view: View, text: str) -> JsonObject | None:
        return {**arguments, "command": text} if isinstance(view, TerminalView) else None

    async def execute(self, arguments: BashArguments, context: ToolContext) -> ToolOutput:
        environment = quiet_environment(without_model_keys(os.environ, self._secrets))
        command = Command(arguments.command, context.workspace.root, environment, arguments.timeout_s)
        captured = CapturedOutput(context.room(LIMIT), context.spill_dir / spill_name("bash", context.call_id))
        live = _Live(lambda: context.update(TerminalView(command.text, captured.latest(_SHOWN_LIVE))))

        def take(data: bytes) -> None:
            captured.feed(data)
            live.changed()

        try:
            ended = await run_command(command, take)
        except (OSError, ValueError) as error:
            return ToolOutput.failure(f"The command could not be started: {_reason(error, context.workspace.root)}")
        finally:
            live.stop()
            captured.close()
        return _report(command, captured, ended)


class _Live:
    """Calls `show` after a change, at most ten times a second, and after the last one too."""

    def __init__(self, show: Callable[[], None]) -> None:
        self._show = show
        self._shown_at = 0.0
        self._planned: asyncio.TimerHandle | None = None

    def changed(self) -> None:
        if self._planned is not None:
            return
        wait = self._shown_at + _UPDATE_SECONDS - time.monotonic()
        if wait <= 0:
            self._now()
        else:
            self._planned = asyncio.get_running_loop().call_later(wait, self._now)

    def stop(self) -> None:
        if self._planned is not None:
            self._planned.cancel()

    def _now(self) -> None:
        self._planned = None
        self._shown_at = time.monotonic()
        self._show()


def _reason(error: OSError | ValueError, folder: Path) -> str:
    if isinstance(error, FileNotFoundError) and not folder.is_dir():
        return f"the folder {folder} does not exist any more."
    return str(error)


def _report(command: Command, captured: CapturedOutput, ended: Ended) -> ToolOutput:
    output = captured.text()
    text = f"{_headline(command, ended)}\n{output.strip() or '(no output)'}{_aftermath(ended)}"
    view = TerminalView(command.text, output, ended.exit_code)
    details: JsonObject = {"exit_code": ended.exit_code, "duration": round(ended.duration, 3)}
    if ended.exit_code is None:
        return ToolOutput.failure(text, view=view, details=details)
    return ToolOutput.text(text, view=view, details=details)


def _headline(command: Command, ended: Ended) -> str:
    if ended.exit_code is None:
        return (
            f"Timed out after {command.timeout:g} s: the command and every process it started were killed. "
            "What it printed until then:"
        )
    return f"Exit code: {ended.exit_code}{_signal_name(ended.exit_code)}"


def _signal_name(exit_code: int) -> str:
    """Shells report the death by a signal as 128 and its number."""
    names = {128 + number: number.name for number in signal.Signals}
    return f" ({names[exit_code]})" if exit_code in names else ""


def _aftermath(ended: Ended) -> str:
    if ended.left_running is None:
        return ""
    return (
        f"\n[It left processes running in the background; stop them with: kill -- -{ended.left_running}. "
        "What they print from now on is lost unless it goes to a file.]"
    )


if TYPE_CHECKING:
    _: type[Tool] = BashTool
    _revisable: type[Revisable] = BashTool
