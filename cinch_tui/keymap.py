"""Every key that cinch answers to: one table, from which bindings and help are made.

The part of an id before the dot names who answers. The ids are stable: a person's settings name them to change a key.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_lowercase
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
        *others, last = (key_label(key) for key in self.keys.split(","))
        return f"{', '.join(others)} or {last}" if others else last


KEYS: tuple[Key, ...] = (
    Key("prompt.submit", "enter", "send; while the agent works, steer it"),
    Key("prompt.follow_up", "alt+enter", "send when the agent is done"),
    Key("prompt.newline", "shift+enter,ctrl+j", "new line (also \\ and Enter)"),
    Key("prompt.older", "up", "earlier prompt, from the first line"),
    Key("prompt.newer", "down", "later prompt, from the last line"),
    Key("prompt.earlier", "ctrl+p", "as ↑; in an empty prompt, all commands"),
    Key("prompt.later", "ctrl+n", "as ↓"),
    Key("prompt.search_history", "ctrl+r", "search earlier prompts; again: an older one"),
    Key("prompt.stop_search", "ctrl+c", "end the search, back to what was typed"),
    Key("prompt.complete", "tab", "take the completion"),
    Key("prompt.close_popup", "escape", "close the completion"),
    Key("prompt.open_editor", "ctrl+g", "go on writing in $EDITOR"),
    Key("line.letter_left", "ctrl+b", "a letter back"),
    Key("line.letter_right", "ctrl+f", "a letter forward"),
    Key("line.word_left", "alt+b,alt+left,ctrl+left", "a word back"),
    Key("line.word_right", "alt+f,alt+right,ctrl+right", "a word forward"),
    Key("line.erase_letter", "ctrl+h", "erase the letter before the cursor"),
    Key("line.kill_blank_word_back", "ctrl+w", "cut back to the blank before"),
    Key("line.kill_word_back", "alt+backspace,ctrl+backspace", "cut the word before the cursor"),
    Key("line.kill_word", "alt+d,alt+delete,ctrl+delete", "cut the word after the cursor"),
    Key("line.kill_line", "ctrl+k", "cut to the end of the line"),
    Key("line.kill_line_back", "ctrl+u", "cut to the start of the line"),
    Key("line.yank", "ctrl+y", "bring back what was cut last"),
    Key("line.yank_other", "alt+y", "then: what was cut before that"),
    Key("line.swap_letters", "ctrl+t", "swap two letters"),
    Key("line.swap_words", "alt+t", "swap two words"),
    Key("line.upper_word", "alt+u", "the word in capitals"),
    Key("line.lower_word", "alt+l", "the word in small letters"),
    Key("line.capital_word", "alt+c", "the word with a capital"),
    Key("line.undo", "ctrl+underscore,ctrl+shift+minus,ctrl+slash", "undo"),
    Key("line.redo", "alt+e,ctrl+shift+z", "do again what was undone"),
    Key("chat.abort", "escape", "stop the agent"),
    Key("chat.interrupt", "ctrl+c", "copy the selection, else stop, else clear, else quit"),
    Key("chat.leave", "ctrl+d", "twice in an empty prompt: quit"),
    Key("chat.toggle_plan", "shift+tab", "plan mode on or off"),
    Key("chat.help", "f1", "this help"),
    Key("chat.toggle_fold", "f2", "open or fold the selected block"),
    Key("chat.previous_block", "shift+left", "select the block before"),
    Key("chat.next_block", "shift+right", "select the block after"),
    Key("chat.page_up", "pageup", "page up in the conversation"),
    Key("chat.page_down", "pagedown", "page down in the conversation"),
    Key("chat.scroll_top", "ctrl+home", "to the start of the conversation"),
    Key("chat.scroll_end", "ctrl+end", "to the end of the conversation"),
    Key("chat.page_transcript", "ctrl+o", "the whole conversation in $PAGER"),
    Key("chat.previous_prompt", "alt+up", "to the prompt before, in the conversation"),
    Key("chat.next_prompt", "alt+down", "to the prompt after, then to the end"),
    Key("transcript.above", "shift+up", "in the conversation: select the block above, whatever it is"),
    Key("transcript.below", "shift+down", "in the conversation: select the block below"),
    Key("transcript.copy", "y", "in the conversation: copy the selected block, or the last reply"),
    Key("transcript.copy_code", "c", "in the conversation: copy its last code; again: the code before"),
    Key("transcript.unfold", "enter", "in the conversation: open or fold the selected block"),
    Key("transcript.leave", "escape", "in the conversation: back to the prompt"),
    Key("chat.search", "ctrl+f", "find in the conversation"),
    Key("search.earlier", "up,enter", "in a search: the match above"),
    Key("search.later", "down,shift+enter", "in a search: the match below"),
    Key("search.stay", "tab", "end a search there"),
    Key("search.back", "escape", "end a search, back to where it began"),
    Key("chat.sessions", "alt+s", "go on with an earlier session"),
    Key("app.command_palette", "ctrl+p", "all commands"),
    Key("app.suspend_process", "ctrl+z", "stop, and back to the shell; fg goes on"),
    Key("app.quit", "ctrl+q", "quit"),
)

# Also where a field has a use of its own for the key.
_EVERYWHERE = ("app.suspend_process",)

_ARROWS = {"left": "←", "right": "→", "up": "↑", "down": "↓"}
_SIGNS = {"underscore": "_", "minus": "-", "slash": "/"}
_NAMES = {"pageup": "PgUp", "pagedown": "PgDn", "escape": "Esc", **_ARROWS, **_SIGNS}


def bindings(owner: str) -> list[Binding]:
    """The bindings of one owner; each calls the action that its id names."""
    return [
        Binding(key.keys, key.action, key.description, show=False, priority=key.id in _EVERYWHERE, id=key.id)
        for key in KEYS
        if key.owner == owner
    ]


def key_label(key: str) -> str:
    """A key as people write it: `shift+enter` is Shift+Enter."""
    return "+".join(_NAMES.get(part, part.capitalize()) for part in key.split("+"))


@dataclass(frozen=True, slots=True)
class _Chord:
    value: str


# What terminals send after an Esc, for Alt and a key.
_SENT_WITH_ALT = {
    "\r": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
    **{letter: letter for letter in ascii_lowercase},
}


def read_chords_of_plain_terminals() -> None:
    """Tell keys with Alt from those without where the kitty protocol is missing (tmux, screen, xterm).

    Textual reads the bytes of Alt+Enter there as Enter, which would steer a run where a follow-up was meant, and those
    of two keys with Alt, pressed fast, as letters.
    """
    # Textual has members of its own enum of keys there, which has no such chords; it only ever reads their value.
    table = cast("dict[str, tuple[_Chord, ...]]", ANSI_SEQUENCES_KEYS)
    for sent, key in _SENT_WITH_ALT.items():
        table[f"\x1b{sent}"] = (_Chord(f"alt+{key}"),)


# What Textual makes of Enter with a modifier where xterm's modifyOtherKeys is on; Alt is lost there, but not to be
# confused: Enter alone is called by its name.
_XTERM_NAMES = {"\r": "alt+enter", "shift+\r": "shift+enter"}


def canonical(key: str) -> str:
    """The name that bindings use."""
    return _XTERM_NAMES.get(key, key)
