"""First frame: the empty chat screen of the last start, painted before the app is loaded; keys are buffered meanwhile.

Typed text is echoed in the painted prompt. The app then inserts it into its own prompt and replays all other keys. Only
built-in modules are imported here: loading the app takes ten times as long.
"""

from __future__ import annotations

import _thread
import os
import select
import sys
import termios

from cinch_tui import __version__
from cinch_tui.terminal.guard import Guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence
    from types import FrameType
    from typing import Any

    Place = tuple[int, int, int]
    Colours = tuple[bytes, bytes, bytes]
else:
    # The C module without the enums of `signal`, which take 5 ms to load.
    import _signal as signal

STDIN, SCREEN = 0, 2
"""File descriptors. The app writes to stderr, as Textual does."""

LARGEST = 1024 * 1024
ENTER = b"\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?7l"
LEAVE = b"\x1b[?7h\x1b[?2004l\x1b[?1049l\x1b[?25h"
ERASE = (0x08, 0x7F)
INTERRUPT = b"\x03"
INTERRUPTED = 130
JOIN_TIMEOUT_S = 1.0
SCREEN_VARIABLES = ("TERM", "COLORTERM", "NO_COLOR", "CINCH_UI_THEME")
"""Variables that determine the appearance of the screen."""

# Prefixes that open a completion list while typing.
COMPLETION_PREFIXES = ("/", "#", "!", "@")

FLAGS = ("--no-session", "--verbose")
FLAGS_WITH_VALUE = ("-m", "--model", "--thinking", "--add-dir", "--max-turns", "--max-cost", "--base-url")


class SavedScreen:
    """A saved screen.

    Args:
        prompt: row and column of the prompt text, from 1, and its width in cells.
        folder: the same for the folder in the start banner, which is replaced by the current one.
        status_texts: texts of the status bar: model and branch.
        colours: sequences for typed text, the cursor cell and the folder.
        body: the screen without them.
    """

    def __init__(self, prompt: Place, folder: Place, status_texts: tuple[str, str], colours: Colours, body: bytes):
        self.prompt = prompt
        self.folder = folder
        self.status_texts = status_texts
        self.colours = colours
        self.text_style, self.cursor, self.muted = colours
        self.body = body

    def encoded(self) -> bytes:
        places = b"%d %d %d %d %d %d" % (*self.prompt, *self.folder)
        status_texts = "\t".join(self.status_texts).encode()
        return b"\n".join((f"cinch {__version__}".encode(), places, status_texts, *self.colours, self.body))

    def painted(self, folder: str) -> bytes:
        """Return the screen with this folder."""
        row, column, width = self.folder
        line = shown_folder(folder, width)
        blanks = " " * (width - cells(line))
        return self.body + b"\x1b[%d;%dH" % (row, column) + self.muted + f"{line}{blanks}".encode() + b"\x1b[0m"


class FirstFrame:
    """Owns the terminal until it is taken over or closed; both are idempotent."""

    def __init__(self, picture: SavedScreen) -> None:
        self.text = ""
        """Typed text, once the frame is taken over."""

        self.keys = b""
        """Other keys as raw terminal input, once the frame is taken over."""

        self.attributes: list[Any] = termios.tcgetattr(STDIN)
        """Original terminal attributes."""

        self.guard = Guard()
        """Started before anything is painted."""

        self.status_texts = picture.status_texts
        """Model and branch shown in its status bar."""

        self._picture = picture
        self._pressed = b""
        self._wake, self._awake = os.pipe()
        self._listening = _thread.allocate_lock()
        self._is_open = False

    def paint(self) -> None:
        """Paint the frame and read keys.

        Raises:
            OSError, termios.error: the terminal hung up.
        """
        body = self._picture.painted(os.getcwd())  # noqa: PTH109  pathlib is slow to load
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._leave)
        self._is_open = True
        termios.tcsetattr(STDIN, termios.TCSANOW, raw_attributes(termios.tcgetattr(STDIN)))
        self._pressed = read_pending_input(STDIN)
        self.guard.acquire(SCREEN, self.attributes)
        _write(ENTER + body)
        if self._pressed:
            self._echo()
        self._listening.acquire()
        _thread.start_new_thread(self._listen, ())

    def take_over(self) -> None:
        """Stop reading; the caller owns the terminal, which stays as it is."""
        if self._is_open:
            self._stop_listening()
            text, rest = split_typed_text(self._pressed)
            is_plain = text[:1] not in COMPLETION_PREFIXES and "@" not in text
            self.text, self.keys = (text, rest) if is_plain else ("", self._pressed)

    def close(self) -> None:
        """Restore the terminal unless it was taken over."""
        if self._is_open:
            self._stop_listening()
            self._restore()

    def _stop_listening(self) -> None:
        self._is_open = False
        os.write(self._awake, b"x")
        # The thread holds the lock until it ends.
        self._listening.acquire(timeout=JOIN_TIMEOUT_S)

    def _restore(self) -> None:
        try:
            termios.tcsetattr(STDIN, termios.TCSANOW, self.attributes)
            _write(LEAVE)
        except (OSError, termios.error):
            return  # the terminal is gone
        self.guard.release()

    def _listen(self) -> None:
        try:
            while True:
                ready = select.select([STDIN, self._wake], [], [])[0]
                keys = b"" if self._wake in ready else os.read(STDIN, 4096)
                if not keys:
                    return
                self._pressed += keys
                if self._pressed.count(INTERRUPT) > 1:
                    # A second Ctrl+C exits without waiting for the app.
                    self._restore()
                    os._exit(INTERRUPTED)
                self._echo()
        except OSError:
            return  # the terminal hung up; the app detects it
        finally:
            self._listening.release()

    def _echo(self) -> None:
        text, rest = split_typed_text(self._pressed)
        picture, (row, column, room) = self._picture, self._picture.prompt
        room -= cells(text) + 1
        # Anything but plain text is left to the app, which can interpret it.
        if rest or room < 0:
            return
        line = text.encode() + picture.cursor + b" " + picture.text_style + b" " * room
        _write(b"\x1b[%d;%dH" % (row, column) + picture.text_style + line + b"\x1b[0m")

    def _leave(self, number: int, where: FrameType | None) -> None:
        """Handle SIGTERM and SIGHUP."""
        self.close()
        os._exit(128 + number)


def open_frame(argv: Sequence[str], environ: Mapping[str, str]) -> FirstFrame | None:
    """Paint the first frame; None without a terminal or saved screen, or if another screen comes first."""
    if (
        not _starts_empty_conversation(argv)
        or environ.get("CINCH_FIRST_FRAME") == "off"
        or environ.get("CINCH_UI_PLAIN")
    ):
        return None
    try:
        if not (os.isatty(STDIN) and os.isatty(1) and os.isatty(SCREEN)) or os.tcgetpgrp(STDIN) != os.getpgrp():
            return None
        columns, rows = os.get_terminal_size(SCREEN)
        kept = saved_screen_file(state_folder(environ), environ, columns, rows)
        picture = read_saved_screen(kept) if _is_newer(kept, settings_file(environ)) else None
        if picture is None:
            return None
        frame = FirstFrame(picture)
        frame.paint()
    except (OSError, termios.error):
        return None
    return frame


def saved_screen_file(state: str, environ: Mapping[str, str], columns: int, rows: int) -> str:
    """Return the path of the saved screen for this kind of terminal."""
    kind = "-".join(environ.get(name, "") for name in SCREEN_VARIABLES)
    letters = "".join(letter if letter.isalnum() else "_" for letter in kind)
    return f"{state}/first-frame/{columns}x{rows}-{letters}"


def state_folder(environ: Mapping[str, str]) -> str:
    """Return `paths.find_paths(environ).state` without importing platformdirs."""
    path = os.path
    if home := environ.get("CINCH_HOME", ""):
        return path.join(path.abspath(path.expanduser(home)), "state")
    if sys.platform == "darwin":
        return path.expanduser("~/Library/Application Support/cinch")
    return path.join(environ.get("XDG_STATE_HOME", "").strip() or path.expanduser("~/.local/state"), "cinch")


def settings_file(environ: Mapping[str, str]) -> str:
    """Return `paths.find_paths(environ).config_file` without importing platformdirs."""
    path = os.path
    if home := environ.get("CINCH_HOME", ""):
        return path.join(path.abspath(path.expanduser(home)), "config.toml")
    if sys.platform == "darwin":
        return path.join(state_folder(environ), "config.toml")
    folder = environ.get("XDG_CONFIG_HOME", "").strip() or path.expanduser("~/.config")
    return path.join(folder, "cinch", "config.toml")


def read_saved_screen(name: str) -> SavedScreen | None:
    """Read a saved screen; None if it is missing or from another version."""
    try:
        handle = os.open(name, os.O_RDONLY)
    except OSError:
        return None
    try:
        head, places, status_texts, ink, cursor, muted, body = os.read(handle, LARGEST).split(b"\n", 6)
        row, column, room, folder_row, folder_column, width = map(int, places.split())
        model, branch = status_texts.decode().split("\t")
    except ValueError:
        return None
    finally:
        os.close(handle)
    if head != f"cinch {__version__}".encode():
        return None
    prompt, folder = (row, column, room), (folder_row, folder_column, width)
    return SavedScreen(prompt, folder, (model, branch), (ink, cursor, muted), body)


def _is_newer(picture: str, settings: str) -> bool:
    """Return True if the settings, which determine the appearance, have not changed since the screen was saved."""
    path = os.path
    return not path.exists(settings) or path.getmtime(picture) > path.getmtime(settings)


def split_typed_text(pressed: bytes) -> tuple[str, bytes]:
    """Split pressed keys into leading text, with backspaces applied, and the rest from the first other key on."""
    text, place = "", 0
    while place < len(pressed):
        first = pressed[place]
        if first in ERASE:
            text, place = text[:-1], place + 1
            continue
        size = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
        try:
            letter = pressed[place : place + size].decode()
        except UnicodeDecodeError:
            break
        if first < 0x20:
            break
        text, place = text + letter, place + size
    return text, pressed[place:]


def read_pending_input(terminal: int) -> bytes:
    """Read keys typed before the terminal was switched to raw mode, where Enter is a line feed.

    Several line feeds indicate a paste; they stay line breaks, so that no line is sent as a prompt.
    """
    if not select.select([terminal], [], [], 0)[0]:
        return b""
    keys = os.read(terminal, 4096)
    return keys if keys.count(b"\n") > 1 else keys.replace(b"\n", b"\r")


def shown_folder(folder: str, width: int) -> str:
    """Return the folder as in the start banner: with `~`, truncated at the start to `width` cells."""
    path = os.path
    home = path.expanduser("~")
    if home != "/" and (folder + "/").startswith(home + "/"):
        folder = "~" + folder[len(home) :]
    folder = "".join(letter if letter.isprintable() else "\ufffd" for letter in folder)
    while cells(folder) > width:
        folder = "…" + folder[2:] if len(folder) > 1 else ""
    return folder


def cells(text: str) -> int:
    """Return the width of the text in cells."""
    if text.isascii():
        return len(text)
    # Imported for non-ASCII text only.
    from unicodedata import combining, east_asian_width

    return sum(2 if east_asian_width(letter) in "WF" else 0 if combining(letter) else 1 for letter in text)


def _starts_empty_conversation(argv: Sequence[str]) -> bool:
    """Return True if these arguments start an empty conversation."""
    rest = list(argv)
    while rest:
        flag = rest.pop(0)
        if flag in FLAGS_WITH_VALUE and rest:
            rest.pop(0)
        elif flag not in FLAGS:
            return False
    return True


def raw_attributes(attributes: list[Any]) -> list[Any]:
    """Return raw mode attributes: single keys, no echo, no signals."""
    attributes[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
    attributes[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    attributes[6][termios.VMIN] = 1
    return attributes


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(SCREEN, data) :]
