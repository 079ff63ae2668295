"""Every key that cinch answers to: one table, from which bindings and help are made.

The part of an id before the dot names who answers. The ids are stable: a person's settings name them to change a key.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import cast

# The table has no public name, and there is no other place where a terminal's bytes become keys.
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS  # pyright: ignore[reportPrivateUsage]
from textual.binding import Binding


@dataclass(frozen=True, slots=True)
class Key:
    """`keys` as Textual spells them, separated by commas."""

    id: str
    keys: str
    description: str

    @property
    def owner(self) -> str:
        return self.id.partition(".")[0]

    @property
    def action(self) -> str:
        return self.id.partition(".")[2]

    @property
    def label(self) -> str:
        return " or ".join(key_label(key) for key in self.keys.split(","))


KEYS: tuple[Key, ...] = (
    Key("prompt.submit", "enter", "send; while the agent works, steer it"),
    Key("prompt.follow_up", "alt+enter", "send when the agent is done"),
    Key("prompt.newline", "shift+enter,ctrl+j", "new line (also \\ and Enter)"),
    Key("prompt.older", "up", "earlier prompt, from the first line"),
    Key("prompt.newer", "down", "later prompt, from the last line"),
    Key("prompt.complete", "tab", "take the completion"),
    Key("prompt.close_popup", "escape", "close the completion"),
    Key("prompt.open_editor", "ctrl+g", "go on writing in $EDITOR"),
    Key("chat.abort", "escape", "stop the agent"),
    Key("chat.interrupt", "ctrl+c", "copy the selection, else stop, else clear, else quit"),
    Key("chat.leave", "ctrl+d", "quit, when the prompt is empty"),
    Key("chat.toggle_plan", "shift+tab", "plan mode on or off"),
    Key("chat.help", "f1", "this help"),
    Key("chat.toggle_fold", "f2", "open or fold the selected block"),
    Key("chat.previous_block", "shift+left", "select the block before"),
    Key("chat.next_block", "shift+right", "select the block after"),
    Key("chat.page_up", "pageup", "page up in the conversation"),
    Key("chat.page_down", "pagedown", "page down in the conversation"),
    Key("chat.scroll_top", "ctrl+home", "to the start of the conversation"),
    Key("chat.scroll_end", "ctrl+end", "to the end of the conversation"),
    Key("chat.sessions", "ctrl+r", "go on with an earlier session"),
    Key("app.command_palette", "ctrl+p", "all commands"),
    Key("app.quit", "ctrl+q", "quit"),
)

_NAMES = {"pageup": "PgUp", "pagedown": "PgDn", "escape": "Esc", "left": "←", "right": "→", "up": "↑", "down": "↓"}


def bindings(owner: str) -> list[Binding]:
    """The bindings of one owner; each calls the action that its id names."""
    return [Binding(key.keys, key.action, key.description, show=False, id=key.id) for key in KEYS if key.owner == owner]


def key_label(key: str) -> str:
    """A key as people write it: `shift+enter` is Shift+Enter."""
    return "+".join(_NAMES.get(part, part.capitalize()) for part in key.split("+"))


class _Chord(StrEnum):
    ALT_ENTER = "alt+enter"


def read_chords_of_plain_terminals() -> None:
    """Tell Alt+Enter from Enter where the kitty protocol is missing (tmux, screen, xterm).

    Textual reads the bytes of Alt+Enter there as Enter, which would steer a run where a follow-up was meant.
    """
    # Textual wants members of its own enum of keys, which has no chords with Enter; it only ever reads their value.
    table = cast("dict[str, tuple[Enum, ...]]", ANSI_SEQUENCES_KEYS)
    table.setdefault("\x1b\r", (_Chord.ALT_ENTER,))


# What Textual makes of Enter with a modifier where xterm's modifyOtherKeys is on; Alt is lost there, but not to be
# confused: Enter alone is called by its name.
_XTERM_NAMES = {"\r": "alt+enter", "shift+\r": "shift+enter"}


def canonical(key: str) -> str:
    """The name that bindings use."""
    return _XTERM_NAMES.get(key, key)
