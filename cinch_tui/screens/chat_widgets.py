"""The widgets of the chat that show what happens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from cinch_tui.transcript.blocks import NoticeBlock, NoticeLevel
from cinch_tui.transcript.view import Transcript
from cinch_tui.widgets.queue_line import QueueLine
from cinch_tui.widgets.stage import Stage
from cinch_tui.widgets.status_bar import StatusBar
from cinch_tui.widgets.todo_panel import TodoPanel
from cinch_tui.widgets.tool_panel import ToolPanel
from harness.lazy_dataclass import dataclass
from harness.views import TodoView

if TYPE_CHECKING:
    from textual.widget import Widget

    from cinch_tui.transcript.block import Block
    from harness.messages import Usage

STYLES = [Path(__file__).parent.parent / "styles" / f"{name}.tcss" for name in ("transcript", "code", "panel")]


@dataclass(frozen=True, slots=True)
class ChatWidgets:
    stage: Stage
    transcript: Transcript
    tool_panel: ToolPanel
    todo_panel: TodoPanel
    queue: QueueLine
    status: StatusBar

    @classmethod
    def above(cls, status: StatusBar) -> Self:
        transcript = Transcript()
        return cls(Stage(transcript), transcript, ToolPanel(), TodoPanel(), QueueLine(), status)

    @property
    def above_prompt(self) -> list[Widget]:
        """What stands above the prompt, from top to bottom."""
        return [self.stage, self.todo_panel, self.tool_panel, self.queue]

    def notice(self, text: str, level: NoticeLevel = "info") -> NoticeBlock:
        block = NoticeBlock(text, level)
        self.transcript.add(block)
        return block

    def note(self, text: str) -> None:
        """A word in the status bar."""
        self.status.status = replace(self.status.status, note=text)

    def show_model(self, name: str) -> None:
        """The model in use, in the status bar and in the start banner."""
        self.status.status = replace(self.status.status, model=name)
        if self.transcript.banner:
            self.transcript.banner = replace(self.transcript.banner, model=name)

    def show_usage(self, total: Usage, context: int, window: int) -> None:
        self.status.status = replace(
            self.status.status,
            tokens_in=total.input + total.cache_read + total.cache_write,
            tokens_out=total.output,
            cost=total.cost.total if total.cost else None,
        )
        self.status.update_context(context, window)

    def show(self, blocks: list[Block]) -> None:
        self.transcript.clear()
        self.transcript.extend(blocks)
        self.transcript.follow()
        self.todo_panel.todo = TodoView(())
        self.tool_panel.clear()
        self.queue.show(())
