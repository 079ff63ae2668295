"""Shell commands of the user (`!command`), which run without approval."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.messages import Text, UserMessage, new_id
from harness.ports.interaction import NonInteractive
from harness.ports.tool import ToolContext, ToolOutput
from harness.views import View
from tools import builtin_tools

TIMEOUT_S = 600
STOPPED = "You stopped the command. Output so far:"
REPORT_HEAD = "The user ran this command in the project folder:\n$ "
_REPORT_HEADS = (REPORT_HEAD, "The person ran this command themselves, in the project's folder:\n$ ")
"""The current wording, and that of older session files."""


class ShellLine(Struct, frozen=True):
    """A shell command; the model does not see the output of a private one."""

    command: str
    is_private: bool

    @property
    def text(self) -> str:
        return f"{'!!' if self.is_private else '!'}{self.command}"


def shell_line(text: str) -> ShellLine | None:
    """Parse a shell command; None if the text is a prompt."""
    if not text.startswith("!"):
        return None
    is_private = text.startswith("!!")
    command = text[2 if is_private else 1 :].strip()
    return ShellLine(command, is_private) if command else None


def report_message(command: str, output: str) -> UserMessage:
    """Return the message that reports a command to the model."""
    return UserMessage((Text(f"{REPORT_HEAD}{command}\n"), Text(output)), synthetic=True)


def is_report(message: UserMessage) -> bool:
    return message.synthetic and message.text.startswith(_REPORT_HEADS)


def strip_report_head(text: str) -> str:
    """Return the text of a report without its heading."""
    for head in _REPORT_HEADS:
        text = text.removeprefix(head)
    return text


def output_text(output: ToolOutput) -> str:
    """Return the text blocks of an output, one below the other."""
    return "\n".join(content.text for content in output.content if isinstance(content, Text))


class UserShell:
    """Runs shell commands and collects reports for the model."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._running: list[asyncio.Task[object]] = []
        self._pending_reports: list[UserMessage] = []

    @property
    def is_running(self) -> bool:
        return bool(self._running)

    def stop(self) -> bool:
        """Stop running commands; return True if there were any."""
        for task in self._running:
            task.cancel()
        return bool(self._running)

    def add_reports_to_next_prompt(self) -> None:
        """Send the collected reports with the next prompt."""
        for message in self._pending_reports:
            self._agent.inbox.reminders.put(message)
        self._pending_reports.clear()

    async def run(self, line: ShellLine, show: Callable[[View], None]) -> ToolOutput:
        """Run a command; `show` receives its live output."""
        so_far = list[Callable[[], object]]()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self._execute(line.command, self._context(show, so_far.append)))
            self._running.append(task)
            try:
                await asyncio.wait([task])
            finally:
                self._running.remove(task)
        output = _stopped_output(so_far) if task.cancelled() else task.result()
        if not line.is_private:
            self._pending_reports.append(report_message(line.command, output_text(output)))
        return output

    async def _execute(self, command: str, context: ToolContext) -> ToolOutput:
        tools = (*self._agent.state.tools, *builtin_tools())
        bash = next(tool for tool in tools if tool.name == "bash")
        return await bash.run({"command": command, "timeout_s": TIMEOUT_S}, context)

    def _context(
        self, show: Callable[[View], None], on_interrupt: Callable[[Callable[[], object]], None]
    ) -> ToolContext:
        options, user = self._agent.options, NonInteractive()
        return ToolContext(
            call_id=new_id(),
            workspace=self._agent.workspace,
            user=user,
            propose_plan=user.review_plan,
            spill_dir=options.spill_dir or self._agent.workspace.root,
            update=show,
            on_interrupt=on_interrupt,
            max_result_chars=options.execution.max_result_chars,
            by_user=True,
        )


def _stopped_output(so_far: list[Callable[[], object]]) -> ToolOutput:
    output = so_far[-1]() if so_far else None
    if not isinstance(output, ToolOutput):
        return ToolOutput.failure(f"{STOPPED}\n")
    return replace(output, content=(Text(STOPPED), *output.content), is_error=True)
