"""The first frame: the empty screen as it was last seen, painted before anything is loaded; keys are taken meanwhile.

Typed text is echoed in the prompt of the picture. The app then finds it in its own, and gets whatever else was pressed
as if it had been pressed there. Only what Python has built in is imported here: loading the app takes ten times as long
as all of this.
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
    # The same without its enums, which take 5 ms to load.
    import _signal as signal

STDIN, SCREEN = 0, 2
"""The app writes to what stderr is, as Textual does."""

LARGEST = 1024 * 1024
ENTER = b"\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?7l"
LEAVE = b"\x1b[?7h\x1b[?2004l\x1b[?1049l\x1b[?25h"
ERASE = (0x08, 0x7F)
INTERRUPT = b"\x03"
INTERRUPTED = 130
PATIENCE = 1.0
KIND = ("TERM", "COLORTERM", "NO_COLOR", "CINCH_UI_THEME")
"""What a screen looks like is said by these."""

# What these begin opens a list of completions as it is typed.
SIGNS = ("/", "#", "!", "@")

ALONE = ("--no-session", "--verbose")
WITH_VALUE = ("-m", "--model", "--thinking", "--add-dir", "--max-turns", "--max-cost", "--base-url")


class Picture:
    """A painted screen. `prompt` is where text is typed: row and column from 1, and how many cells wide; `folder` the
    same for the folder in the start banner, which is this start's and not the picture's. `colours` are the sequences
    that choose the colours of typed text, of the cursor's cell and of the folder. `told` is what the status line says:
    the model and the branch."""

    def __init__(self, prompt: Place, folder: Place, told: tuple[str, str], colours: Colours, body: bytes):
        self.prompt = prompt
        self.folder = folder
        self.told = told
        self.colours = colours
        self.ink, self.cursor, self.muted = colours
        self.body = body

    def encoded(self) -> bytes:
        places = b"%d %d %d %d %d %d" % (*self.prompt, *self.folder)
        told = "\t".join(self.told).encode()
        return b"\n".join((f"cinch {__version__}".encode(), places, told, *self.colours, self.body))

    def painted(self, folder: str) -> bytes:
        """The screen with this folder."""
        row, column, width = self.folder
        line = shown_folder(folder, width)
        blanks = " " * (width - cells(line))
        return self.body + b"\x1b[%d;%dH" % (row, column) + self.muted + f"{line}{blanks}".encode() + b"\x1b[0m"


class FirstFrame:
    """Stands on the terminal until it is taken over or closed; both may be called more than once."""

    def __init__(self, picture: Picture) -> None:
        self.text = ""
        """What was typed, once the frame is taken over."""

        self.keys = b""
        """What else was pressed, in the terminal's own bytes, once the frame is taken over."""

        self.attributes: list[Any] = termios.tcgetattr(STDIN)
        """How the terminal was before."""

        self.guard = Guard()
        """Posted before anything is painted: from then on there is something to give back."""

        self.told = picture.told
        """What its status line says: the model and the branch."""

        self._picture = picture
        self._pressed = b""
        self._wake, self._awake = os.pipe()
        self._listening = _thread.allocate_lock()
        self._is_open = False

    def paint(self) -> None:
        """Show it and listen.

        Raises:
            OSError, termios.error: the terminal went away.
        """
        body = self._picture.painted(os.getcwd())  # noqa: PTH109  pathlib is slow to load
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._leave)
        self._is_open = True
        termios.tcsetattr(STDIN, termios.TCSANOW, _raw(termios.tcgetattr(STDIN)))
        self._pressed = typed_before(STDIN)
        self.guard.here(SCREEN, self.attributes)
        _write(ENTER + body)
        if self._pressed:
            self._echo()
        self._listening.acquire()
        _thread.start_new_thread(self._listen, ())

    def take_over(self) -> None:
        """Stop listening; the terminal stays as it is, and is the caller's."""
        if self._is_open:
            self._stop_listening()
            text, rest = typed(self._pressed)
            is_plain = text[:1] not in SIGNS and "@" not in text
            self.text, self.keys = (text, rest) if is_plain else ("", self._pressed)

    def close(self) -> None:
        """Give the terminal back as it was, unless it was taken over."""
        if self._is_open:
            self._stop_listening()
            self._restore()

    def _stop_listening(self) -> None:
        self._is_open = False
        os.write(self._awake, b"x")
        # Held by the thread until it ends.
        self._listening.acquire(timeout=PATIENCE)

    def _restore(self) -> None:
        try:
            termios.tcsetattr(STDIN, termios.TCSANOW, self.attributes)
            _write(LEAVE)
        except (OSError, termios.error):
            return  # nobody is there any more
        self.guard.away()

    def _listen(self) -> None:
        try:
            while True:
                ready = select.select([STDIN, self._wake], [], [])[0]
                keys = b"" if self._wake in ready else os.read(STDIN, 4096)
                if not keys:
                    return
                self._pressed += keys
                if self._pressed.count(INTERRUPT) > 1:
                    # Whoever presses that twice does not want to wait for the app.
                    self._restore()
                    os._exit(INTERRUPTED)
                self._echo()
        except OSError:
            return  # the terminal hung up; the app will find that out
        finally:
            self._listening.release()

    def _echo(self) -> None:
        text, rest = typed(self._pressed)
        picture, (row, column, room) = self._picture, self._picture.prompt
        room -= cells(text) + 1
        # What is more than words is shown by the app, which knows what it means.
        if rest or room < 0:
            return
        line = text.encode() + picture.cursor + b" " + picture.ink + b" " * room
        _write(b"\x1b[%d;%dH" % (row, column) + picture.ink + line + b"\x1b[0m")

    def _leave(self, number: int, where: FrameType | None) -> None:
        """Killed politely."""
        del where
        self.close()
        os._exit(128 + number)


def open_frame(argv: Sequence[str], environ: Mapping[str, str]) -> FirstFrame | None:
    """The frame, painted; None where it would not help: there is no terminal or no picture, or another screen comes."""
    if not _begins_empty(argv) or environ.get("CINCH_FIRST_FRAME") == "off" or environ.get("CINCH_UI_PLAIN"):
        return None
    try:
        if not (os.isatty(STDIN) and os.isatty(1) and os.isatty(SCREEN)) or os.tcgetpgrp(STDIN) != os.getpgrp():
            return None
        columns, rows = os.get_terminal_size(SCREEN)
        kept = picture_file(state_folder(environ), environ, columns, rows)
        picture = read_picture(kept) if _is_newer(kept, settings_file(environ)) else None
        if picture is None:
            return None
        frame = FirstFrame(picture)
        frame.paint()
    except (OSError, termios.error):
        return None
    return frame


def picture_file(state: str, environ: Mapping[str, str], columns: int, rows: int) -> str:
    """Where the picture for such a terminal is kept."""
    kind = "-".join(environ.get(name, "") for name in KIND)
    letters = "".join(letter if letter.isalnum() else "_" for letter in kind)
    return f"{state}/first-frame/{columns}x{rows}-{letters}"


def state_folder(environ: Mapping[str, str]) -> str:
    """The same as `paths.find_paths(environ).state`, without the library that knows every system."""
    path = os.path
    if home := environ.get("CINCH_HOME", ""):
        return path.join(path.abspath(path.expanduser(home)), "state")
    if sys.platform == "darwin":
        return path.expanduser("~/Library/Application Support/cinch")
    return path.join(environ.get("XDG_STATE_HOME", "").strip() or path.expanduser("~/.local/state"), "cinch")


def settings_file(environ: Mapping[str, str]) -> str:
    """The same as `paths.find_paths(environ).config_file`."""
    path = os.path
    if home := environ.get("CINCH_HOME", ""):
        return path.join(path.abspath(path.expanduser(home)), "config.toml")
    if sys.platform == "darwin":
        return path.join(state_folder(environ), "config.toml")
    folder = environ.get("XDG_CONFIG_HOME", "").strip() or path.expanduser("~/.config")
    return path.join(folder, "cinch", "config.toml")


def read_picture(name: str) -> Picture | None:
    """The picture that is kept there; None where there is none that this version painted."""
    try:
        handle = os.open(name, os.O_RDONLY)
    except OSError:
        return None
    try:
        head, places, told, ink, cursor, muted, body = os.read(handle, LARGEST).split(b"\n", 6)
        row, column, room, *folder = map(int, places.split())
        folder_row, folder_column, width = folder
        model, branch = told.decode().split("\t")
    except ValueError:
        return None
    finally:
        os.close(handle)
    return (
        Picture((row, column, room), (folder_row, folder_column, width), (model, branch), (ink, cursor, muted), body)
        if head == f"cinch {__version__}".encode()
        else None
    )


def _is_newer(picture: str, settings: str) -> bool:
    """Whether the settings are still what they were when it was painted: they say how a screen looks, and if there is
    one."""
    path = os.path
    return not path.exists(settings) or path.getmtime(picture) > path.getmtime(settings)


def typed(pressed: bytes) -> tuple[str, bytes]:
    """The words at the beginning of what was pressed, mistakes erased; and what follows from the first other key on."""
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


def typed_before(terminal: int) -> bytes:
    """Keys typed before the terminal was switched to raw mode: Enter is a line feed there.

    Several lines were pasted; they stay line breaks, so that no line is sent as a prompt.
    """
    if not select.select([terminal], [], [], 0)[0]:
        return b""
    keys = os.read(terminal, 4096)
    return keys if keys.count(b"\n") > 1 else keys.replace(b"\n", b"\r")


def shown_folder(folder: str, width: int) -> str:
    """The folder as the start banner shows it: with `~`, and the end of a long one, in at most `width` cells."""
    path = os.path
    home = path.expanduser("~")
    if home != "/" and (folder + "/").startswith(home + "/"):
        folder = "~" + folder[len(home) :]
    folder = "".join(letter if letter.isprintable() else "\ufffd" for letter in folder)
    while cells(folder) > width:
        folder = "…" + folder[2:] if len(folder) > 1 else ""
    return folder


def cells(text: str) -> int:
    """How wide the text is on the screen."""
    if text.isascii():
        return len(text)
    # Only those who write so need it.
    from unicodedata import combining, east_asian_width

    return sum(2 if east_asian_width(letter) in "WF" else 0 if combining(letter) else 1 for letter in text)


def _begins_empty(argv: Sequence[str]) -> bool:
    """Whether these arguments lead to a conversation in which nothing was said."""
    rest = list(argv)
    while rest:
        flag = rest.pop(0)
        if flag in WITH_VALUE and rest:
            rest.pop(0)
        elif flag not in ALONE:
            return False
    return True


def _raw(attributes: list[Any]) -> list[Any]:
    """As the app has it: each key at once, none echoed, none that sends a signal."""
    attributes[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
    attributes[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    attributes[6][termios.VMIN] = 1
    return attributes


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(SCREEN, data) :]
