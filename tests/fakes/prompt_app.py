"""App around the prompt, with helpers to type into it."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from fakes.recording_host import RecordingHost
from fakes.widget_app import WidgetApp
from textual import on
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.message import Message
from textual.pilot import Pilot

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.images.image_store import ImageStore
from cinch_tui.widgets.prompt.completion import CommandCompletion
from cinch_tui.widgets.prompt.draft import Draft
from cinch_tui.widgets.prompt.history import PromptHistory
from cinch_tui.widgets.prompt.input import PromptInput
from cinch_tui.widgets.prompt.path_completion import MentionCompletion
from cinch_tui.widgets.prompt.prompt import Prompt
from cinch_tui.widgets.prompt.prompt_field import CompletionPopup


class PromptApp(WidgetApp):
    """App that collects keys the prompt does not handle in `left`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"leave('{key}')") for key in ("escape", "pageup", "shift+left", "ctrl+d", "ctrl+c")
    ]

    def __init__(self, root: Path, theme: str = "cinch-dark", draft: Draft | None = None) -> None:
        self.host = RecordingHost()
        self.prompt = Prompt(
            CommandCompletion(builtin_commands, self.host),
            MentionCompletion(root),
            PromptHistory(root / "state" / "history.jsonl", ImageStore(root / "state" / "pictures")),
            draft,
        )
        self.left: list[str] = []
        super().__init__(self.prompt, styles=("prompt",), theme=theme)

    def on_mount(self) -> None:
        super().on_mount()
        self.prompt.focus()

    def action_leave(self, key: str) -> None:
        self.left.append(key)

    @on(Prompt.Submitted)
    @on(Prompt.FollowUp)
    @on(Prompt.EditorRequested)
    @on(Prompt.RecallQueued)
    @on(Prompt.PasteRejected)
    def keep_it(self, message: Message) -> None:
        self.keep(message)

    @property
    def sent(self) -> list[str]:
        return [message.user_input.text for message in self.received if isinstance(message, Prompt.Submitted)]

    @property
    def input(self) -> PromptInput:
        return self.query_one(PromptInput)

    @property
    def popup(self) -> CompletionPopup:
        return self.query_one(CompletionPopup)


async def type_text(pilot: Pilot[None], text: str) -> None:
    # Posted at once, like the keys of a fast typist: `press` waits until the app is idle.
    for character in text:
        pilot.app.post_message(Key("ctrl+j", None) if character == "\n" else Key(character, character))
    await pilot.pause()
