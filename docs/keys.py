"""Writes keys.md: every key of the table, and what to know of keys and terminals."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from cinch_tui.keys.listing import rows_of  # noqa: E402  the path comes first
from cinch_tui.keys.table import KEYS, PLACES  # noqa: E402

PAGE = ROOT / "docs" / "keys.md"
TITLE = """\
<!-- Made by docs/keys.py from the table of keys: change it there. -->

# Keys

Every key of cinch, by the place in which it is heard. In the app, F1 shows the same with your own keys, and finds
what you type after `/`. What commands there are: [Commands and keys](commands-and-keys.md).

## Changing keys

`cinch keys` shows what arrives when you press a key, what it does, and the line of the configuration file that
changes it; `cinch keys --list` prints all of them, with a star before what is yours. The lines go to the file that
`cinch config path` names:

```toml
[keys]
"chat.search" = "Ctrl+F, F12"      # several, with commas between
"prompt.open_editor" = "Alt+E"
"line.redo" = "Ctrl+Shift+Z"       # Alt+E is free now
"chat.next_panel" = "none"         # no key at all
```

Names of keys are taken as people write them: `Ctrl+X`, `ctrl-x`, `Alt-Enter`, `Option+Return`, `F2`, `PgUp`, `Page
Down`, `?`. A letter alone, or a sign, is a key only where nothing is typed: in dialogs, panels and the conversation.

What cannot be is told at the start, in `cinch config show`, `cinch doctor` and `cinch keys`, with file and line, and
the key keeps its default: an id that nothing has, a key that cannot be read or that terminals send as another (Ctrl+I
is Tab, Ctrl+M is Enter, Ctrl+[ is Esc), two actions on one key in the same place, and whatever would leave you stuck,
such as no key that sends or none that closes a dialog. Hints on the screen name the keys you have. A project's file
changes keys only once you trust it.

## Terminals

Keys are read in the spellings of the VT100, xterm (modifyOtherKeys too), rxvt, PuTTY, the Linux console and kitty's
protocol. No action is out of reach of a plain terminal: what has a function key has a command too, or another key.

- **Shift+Enter** is Enter in most terminals without kitty's protocol. Ctrl+J, or `\\` and Enter, begins a new line
  everywhere; kitty, foot, Ghostty, WezTerm, Alacritty from 0.13 on, iTerm2 (with CSI u), xterm, mlterm, Konsole and
  recent Windows Terminals tell it apart. [Terminals](terminals.md) has those it was tried in, and what to set there.
- **tmux**: `set -g extended-keys on` hands on Shift+Enter, `set -s escape-time 10` makes Esc quick, `set -g
  set-clipboard on` lets cinch copy to the terminal (with it off, `set -g allow-passthrough on` does as well). Its
  prefix, Ctrl+B, is a letter back in cinch: ← does the same.
- **GNU screen** keeps Ctrl+A: use Home, or press Ctrl+A and then `a`. What is copied goes through it to the terminal.
  The mouse is left to the terminal there.
- **macOS**: Option types signs unless Terminal's "Use Option as Meta key" (iTerm2: Left Option key: Esc+) is set;
  only then Alt+Enter and the other keys with Alt arrive. Esc and then the key does the same in one breath.
- **Windows Terminal** takes Ctrl+V, Ctrl+Shift+V, Alt+Enter (full screen) and Ctrl+Shift+F for itself: remove them
  from its actions, or give `prompt.follow_up` another key.
- **Over ssh**, copying asks your own terminal (OSC 52). It does not answer, so cinch says "if the terminal allows
  it"; iTerm2 and xterm want that allowed in their settings, and macOS's own Terminal cannot.
- **Ctrl+S and Ctrl+Q** arrive: cinch turns the terminal's stop and go off while it runs.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([TITLE, *_tables()])


def _tables() -> Iterator[str]:
    for owner, title in PLACES.items():
        rows = rows_of((key for key in KEYS if key.owner == owner), {})
        if rows:
            yield f"## {title}\n\n| key | what it does | id |\n| --- | --- | --- |"
            yield from (f"| {_cell(row.label)} | {_cell(row.words)} | `{row.id}` |" for row in rows)
            yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
