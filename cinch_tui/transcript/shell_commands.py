"""Shell commands of the user in the transcript."""

from __future__ import annotations

from cinch_tui.shell_line import ShellLine, UserShell, output_text, strip_report_head
from cinch_tui.transcript.tool_block import ToolBlock
from cinch_tui.transcript.view import Transcript
from harness.agent.agent import Agent
from harness.messages import UserMessage, new_id
from harness.views import View

LABEL = "You ran"
PRIVATE_LABEL = "You ran (not shared with the model)"


def report_block(message: UserMessage) -> ToolBlock:
    text = strip_report_head(message.text)
    block = ToolBlock(message.id, LABEL, text.partition("\n")[0])
    block.text = text
    block.status = "done"
    return block


class Shell:
    """Runs the user's shell commands and shows them in the transcript."""

    def __init__(self, agent: Agent, transcript: Transcript) -> None:
        self._commands = UserShell(agent)
        self._transcript = transcript
        self.stop = self._commands.stop
        self.hand_over = self._commands.add_reports_to_next_prompt

    async def run(self, line: ShellLine) -> None:
        first, *more = line.command.splitlines()
        block = ToolBlock(new_id(), PRIVATE_LABEL if line.is_private else LABEL, f"{first} …" if more else first)
        block.status = "running"
        block.folded = False
        self._transcript.add(block)

        def show(view: View) -> None:
            block.view = view
            self._transcript.changed(block)

        output = await self._commands.run(line, show)
        block.view = output.view
        block.text = output_text(output)
        block.status = "failed" if output.is_error else "done"
        self._transcript.changed(block)
