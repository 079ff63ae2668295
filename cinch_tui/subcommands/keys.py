"""`cinch keys`: inspect key presses, and list all key bindings."""

from __future__ import annotations

import os
import re
import select
import shutil
import textwrap
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from cinch_tui.cli.start import config_sources
from cinch_tui.config.config import Config
from cinch_tui.config.layers import load_config
from cinch_tui.config.paths import find_paths
from cinch_tui.keybindings.user_keys import describe_key, key_list_lines
from cinch_tui.print_mode.output import Output
from cinch_tui.terminal.key_protocols import is_in_konsole, translate_legacy_keys
from harness.errors import ConfigError

ENTERING = "\x1b[>25u\x1b[?2004h"
"""Key reporting as in the app: the kitty keyboard protocol, if supported, and bracketed paste."""

INTRODUCTION = """\
Press a key to see what the terminal sends; Ctrl+C twice, or q and then Esc, quits.
Shown are the bytes and the name of the key, then its actions. To change an action, copy the
line on the right to [keys] in {file}
and replace the dots by another key, such as "Ctrl+X", or by "none".
"""
UNKNOWN = "no key: the terminal handles it, or cinch does not know it"
ENDINGS = (("ctrl+c", "ctrl+c"), ("q", "escape"))
CHUNK = 4096
READ_TIMEOUT_S = 0.1


def run(argv: Sequence[str], cwd: Path, out: Output) -> int:
    """Describe each pressed key until the user quits, or list all keys with `--list`; the status is 0.

    Raises:
        ConfigError: there is no terminal, or the settings are invalid.
    """
    if argv not in ([], ["--list"]):
        raise ConfigError(f"cinch keys takes no arguments but --list, not {argv[0]!r}")
    paths = find_paths(os.environ)
    config = load_config(config_sources(paths, cwd))
    if argv:
        _list(config, paths.config_file, out)
    else:
        _show(config, paths.config_file, out.stream)
    return 0


def _list(config: Config, file: Path, out: Output) -> None:
    own = config.settings.keys
    is_terminal = out.stream.isatty()
    for line in key_list_lines(own):
        out.write_text(_in_columns(line) if is_terminal else line)
    out.write_text(
        f'\nTo change a key, add a line to [keys] in {file}: "chat.search" = "Ctrl+F, F12"; "none" removes the key.'
    )
    if own:
        out.write_text(f"* {len(own)} changed in your configuration.")
    for warning in config.warnings:
        out.write_text(f"! {warning}")


def _in_columns(line: str) -> str:
    """Wrap a row of the list in the column of its description."""
    width = max(40, shutil.get_terminal_size().columns)
    if len(line) <= width or not line.strip():
        return line
    columns = re.match(r"(?s)\n*(?:\S| ) .*? {2,}\S+ {2,}", line)
    indent = " " * min(len(columns[0]) if columns else 2, width // 2)
    return textwrap.fill(line, width, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True)


def _show(config: Config, file: Path, out: TextIO) -> None:
    from cinch_tui.terminal.raw_mode import open_terminal, raw

    terminal = open_terminal()
    try:
        # OSError: the terminal was closed.
        with raw(terminal, ENTERING), suppress(OSError):
            _write(out, INTRODUCTION.format(file=file))
            for warning in config.warnings:
                _write(out, f"! {warning}\n")
            _describe_presses(terminal, out, config.settings.keys)
    finally:
        os.close(terminal)


def _describe_presses(terminal: int, out: TextIO, own: Mapping[str, str]) -> None:
    # Not needed for the list.
    from textual._xterm_parser import XTermParser

    from cinch_tui.keybindings.keymap import recognize_alt_keys

    recognize_alt_keys()
    parser, decoder = XTermParser(), getincrementaldecoder("utf-8")("replace")
    in_konsole = is_in_konsole(os.environ)
    last, arrived = "", b""
    while True:
        chunk = os.read(terminal, CHUNK) if select.select([terminal], [], [], READ_TIMEOUT_S)[0] else None
        if chunk == b"":
            return
        arrived += chunk or b""
        text = translate_legacy_keys(decoder.decode(chunk or b""), in_konsole=in_konsole)
        # A lone Esc is recognized by the missing rest of an escape sequence.
        events = [*(parser.feed(text) if text else ()), *parser.tick()]
        for name, lines in describe_events(events, own):
            _write(out, "".join([f"{format_bytes(arrived)} · {name}\n", *(f"    {line}\n" for line in lines)]))
            if (last, name) in ENDINGS:
                return
            last, arrived = name, b""
        if arrived and not chunk:
            _write(out, f"{format_bytes(arrived)} · {UNKNOWN}\n")
            arrived = b""


def describe_events(events: Iterable[object], own: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the actions of each pressed key; pasted text has no key binding."""
    from textual.events import Key as Pressed
    from textual.events import Paste

    for event in events:
        if isinstance(event, Pressed):
            yield event.key, list(describe_key(event.key, own))
        elif isinstance(event, Paste):
            yield f"paste of {len(event.text)} characters", ["pasted text: it is inserted"]


def format_bytes(arrived: bytes) -> str:
    """Format bytes in hexadecimal and as characters, with ESC for the escape character."""
    if not arrived:
        return "(same bytes)"
    start = arrived[:24]
    signs = "".join("ESC " if byte == 0x1B else chr(byte) if 0x20 < byte < 0x7F else "·" for byte in start)
    return f"{start.hex(' ')}{' …' if len(arrived) > len(start) else ''}  {signs}"


def wrap_line(line: str) -> str:
    """Wrap a line between words at the width of the terminal."""
    indent = " " * (len(line) - len(line.lstrip()))
    width = max(20, shutil.get_terminal_size().columns)
    if len(line.rstrip("\n")) <= width:
        return line
    # A sample for the configuration file is not broken.
    rest, *change = re.split(r"(?<= ) {2}(?=\")", line.strip(), maxsplit=1)
    texts = textwrap.wrap(rest, width - len(indent), break_long_words=False, break_on_hyphens=False)
    return "".join(f"{indent}{each}\n" for each in (*texts, *change))


def _write(out: TextIO, text: str) -> None:
    out.write("".join(map(wrap_line, text.splitlines(keepends=True))))
    out.flush()
