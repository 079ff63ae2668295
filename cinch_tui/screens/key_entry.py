"""Entering the API key of a provider: a masked field that checks it, and its dialog."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from cinch_tui.data_message import DataMessage
from cinch_tui.keybindings.keymap import bindings
from cinch_tui.screens.dialog import Dialog, stylesheets

if TYPE_CHECKING:
    from cinch_tui.api_keys.provider_key import KeyCheck

CheckKey: TypeAlias = Callable[[str], Awaitable["KeyCheck"]]


class KeyField(Vertical):
    """Enter checks the key. A rejected key stays in the field; after a failed check a second Enter accepts it."""

    DEFAULT_CSS = """
    KeyField { height: auto; }
    KeyField > .note { height: auto; color: $text-warning; }
    """

    class Entered(DataMessage):
        secret: str
        verdict: KeyCheck

    def __init__(self, check: CheckKey | None = None, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._check_key = check
        self._unchecked: KeyCheck | None = None

    def compose(self) -> ComposeResult:
        yield Input(placeholder="paste the key", password=True, compact=True)
        yield Static("", classes="note", markup=False)

    def begin(self, check: CheckKey) -> None:
        """Clear the field, use `check` from now on, and focus it."""
        self.stop()
        self._check_key = check
        self._input.value = ""
        self._note("")
        self._input.focus()

    def stop(self) -> None:
        """Cancel a running check."""
        self.workers.cancel_group(self, "check")  # pyright: ignore[reportUnknownMemberType] as Textual types it

    @property
    def _input(self) -> Input:
        return self.query_one(Input)

    def _note(self, text: str) -> None:
        self.query_one(".note", Static).update(text)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.stop()
        self._unchecked = None
        self._note("")

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        secret = event.value.strip()
        if not secret:
            self._note("Paste the key first.")
        elif any(character.isspace() for character in secret):
            self._note("API keys contain no spaces; paste only the key.")
        elif self._unchecked is not None:
            self.post_message(self.Entered(secret, self._unchecked))
        else:
            self._check(secret)

    @work(exclusive=True, group="check")
    async def _check(self, secret: str) -> None:
        from cinch_tui.api_keys.provider_key import KeyAccepted, KeyRefused  # not before the first paint

        if self._check_key is None:
            return
        self._note("checking the key…")
        match verdict := await self._check_key(secret):
            case KeyAccepted():
                self.post_message(self.Entered(secret, verdict))
            case KeyRefused(reason):
                self._note(f"Rejected: {reason}")
            case _:
                self._unchecked = verdict
                self._note(f"The key could not be checked: {verdict.reason}\nPress Enter again to keep it anyway.")


class KeyEntry(Dialog[KeyField.Entered | None]):
    """Returns the entered key with the result of its check; None if cancelled."""

    CSS_PATH = stylesheets("key_entry")
    FIRST_FOCUS = "KeyField Input"
    BINDINGS = bindings("key_entry")
    KEY_HINTS = ("Enter checks and stores it", "key_entry.cancel cancels")

    def __init__(self, title: str, note: str, check: CheckKey) -> None:
        super().__init__(grace=0, frame_title=title)
        self._about = note
        self._check_key = check

    def compose_content(self) -> ComposeResult:
        yield Static(self._about, id="about", markup=False)
        yield KeyField(self._check_key)

    @on(KeyField.Entered)
    def entered(self, event: KeyField.Entered) -> None:
        self.answer(event)

    def action_cancel(self) -> None:
        self.answer(None)
