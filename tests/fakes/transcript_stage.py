"""App that contains only a conversation."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType

import cinch_tui
from cinch_tui.keybindings.keymap import bindings
from cinch_tui.keybindings.prompt_keys import FocusPrompt, TypedForPrompt
from cinch_tui.transcript.block import TranscriptBlock
from cinch_tui.transcript.blocks import ReplyBlock
from cinch_tui.transcript.view import Transcript

STYLES = Path(cinch_tui.__file__).parent / "styles"


class Stage(App[None]):
    """App that forwards the keys that the chat screen has for the conversation."""

    CSS_PATH: ClassVar[list[str | Path]] = [STYLES / "code.tcss", STYLES / "transcript.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for binding in bindings("chat")
        if binding.action in ("transcript('fold')", "previous_block", "next_block")
    ]

    def __init__(self, *blocks: TranscriptBlock) -> None:
        super().__init__()
        self.view = Transcript()
        self.view.extend(blocks)
        self.heard: list[object] = []
        self.keys_hint = ""

    def compose(self) -> ComposeResult:
        yield self.view

    async def action_transcript(self, name: str) -> None:
        await self.view.run_action(name)

    def action_previous_block(self) -> None:
        self.view.action_previous_block()

    def action_next_block(self) -> None:
        self.view.action_next_block()

    def on_transcript_link_opened(self, message: Transcript.LinkOpened) -> None:
        self.heard.append(message.url)

    def on_transcript_links_requested(self, message: Transcript.LinksRequested) -> None:
        self.heard.append(message)

    def on_transcript_image_opened(self, message: Transcript.ImageOpened) -> None:
        self.heard.append(message)

    def on_transcript_unseen(self, message: Transcript.Unseen) -> None:
        self.heard.append(message.count)

    def on_transcript_copy_requested(self, message: Transcript.CopyRequested) -> None:
        self.heard.append(message.text)

    def on_transcript_keys_changed(self, message: Transcript.KeysChanged) -> None:
        self.keys_hint = message.hint

    def on_typed_for_prompt(self, message: TypedForPrompt) -> None:
        self.heard.append(("typed", message.text))

    def on_focus_prompt(self, message: FocusPrompt) -> None:
        self.heard.append(type(message))


def screen(view: Transcript) -> list[str]:
    """Return the screen, line by line."""
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


def drawn_parts(view: Transcript) -> int:
    """Return the number of parts that hold lines."""
    return sum(bool(part._lines) for block in view.blocks for part in block.parts)


def numbered(count: int) -> list[TranscriptBlock]:
    return [ReplyBlock(f"**Reply** {number}\n\n- some\n- thing\n\nThe end of {number}.") for number in range(count)]
