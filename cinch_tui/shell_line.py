"""`!command` in the prompt: the person's own command, run by their hand and therefore without a question."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cinch_tui.transcript.shell_report import LABEL, PRIVATE_LABEL, report_of
from cinch_tui.transcript.tool_block import ToolBlock
from harness.messages import Text, UserMessage, new_id
from harness.person import Nobody
from harness.tool import ToolContext, ToolOutput
from harness.views import TerminalView, View
from tools import builtin_tools

if TYPE_CHECKING:
    from cinch_tui.transcript.view import Transcript
    from harness.agent import Agent

LONGEST_SECONDS = 600
STOPPED = "You stopped it. What it printed until then:"


@dataclass(frozen=True, slots=True)
class ShellLine:
    """`is_private`: the model is not told."""

    command: str
    is_private: bool

    @property
    def text(self) -> str:
        return f"{'!!' if self.is_private else '!'}{self.command}"


def shell_line(text: str) -> ShellLine | None:
    """The command that the text stands for; None when it is a prompt."""
    if not text.startswith("!"):
        return None
    is_private = text.startswith("!!")
    command = text[2 if is_private else 1 :].strip()
    return ShellLine(command, is_private) if command else None


class Shell:
    """Runs such lines, shows them in the conversation, and keeps what the model is to hear with the next prompt."""

    def __init__(self, agent: Agent, transcript: Transcript) -> None:
        self._agent = agent
        self._transcript = transcript
        self._running: list[asyncio.Task[object]] = []
        self._unheard: list[UserMessage] = []

    def stop(self) -> bool:
        """Stop what runs; whether something did."""
        for task in self._running:
            task.cancel()
        return bool(self._running)

    def hand_over(self) -> None:
        """Let the model hear, with what is said now, what was run since it was last spoken to."""
        for message in self._unheard:
            self._agent.inbox.reminders.put(message)
        self._unheard.clear()

    async def run(self, line: ShellLine) -> None:
        first, *more = line.command.splitlines()
        block = ToolBlock(new_id(), PRIVATE_LABEL if line.is_private else LABEL, f"{first} …" if more else first)
        block.status = "running"
        block.folded = False
        self._transcript.add(block)
        output = await self._output(line.command, block)
        block.view = output.view
        block.text = _words(output)
        block.status = "failed" if output.is_error else "done"
        self._transcript.changed(block)
        if not line.is_private:
            self._unheard.append(report_of(line.command, block.text))

    async def _output(self, command: str, block: ToolBlock) -> ToolOutput:
        def show(view: View) -> None:
            block.view = view
            self._transcript.changed(block)

        async with asyncio.TaskGroup() as group:
            task = group.create_task(self._execute(command, self._context(block, show)))
            self._running.append(task)
            try:
                await asyncio.wait([task])
            finally:
                self._running.remove(task)
        if not task.cancelled():
            return task.result()
        printed = block.view.output if isinstance(block.view, TerminalView) else ""
        return ToolOutput.failure(f"{STOPPED}\n{printed}", view=block.view)

    async def _execute(self, command: str, context: ToolContext) -> ToolOutput:
        tools = (*self._agent.state.tools, *builtin_tools())
        bash = next(tool for tool in tools if tool.name == "bash")
        return await bash.run({"command": command, "timeout_s": LONGEST_SECONDS}, context)

    def _context(self, block: ToolBlock, show: Callable[[View], None]) -> ToolContext:
        options, nobody = self._agent.options, Nobody()
        return ToolContext(
            call_id=block.call_id,
            workspace=self._agent.workspace,
            person=nobody,
            propose_plan=nobody.review_plan,
            spill_dir=options.spill_dir or self._agent.workspace.root,
            update=show,
            max_result_chars=options.execution.max_result_chars,
        )


def _words(output: ToolOutput) -> str:
    return "\n".join(content.text for content in output.content if isinstance(content, Text))
