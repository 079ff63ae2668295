"""`cinch keys`: what arrives when a key is pressed, what cinch calls it and does with it; and all keys in a list."""

from __future__ import annotations

import os
import re
import select
import shutil
import textwrap
from codecs import getincrementaldecoder
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from cinch_tui.cli.start import config_sources
from cinch_tui.config.layers import Config, load_config
from cinch_tui.config.paths import find_paths
from cinch_tui.keys.listing import describe_key, key_list_lines
from cinch_tui.print_mode.output import Output
from cinch_tui.terminal.key_modes import is_in_konsole
from cinch_tui.terminal.legacy_keys import spelled_anew
from harness.errors import ConfigError

ENTERING = "\x1b[>25u\x1b[?2004h"
"""As the app asks for its keys: kitty's protocol where there is one, and marked pastes."""

INTRODUCTION = """\
Press a key to see what arrives; Ctrl+C twice, or q and then Esc, ends it.
bytes · its name, and below what it does and where; on the right the line for [keys] in
{file}
with which you change it: put another key, as "Ctrl+X", in place of the dots, or "none".
"""
UNKNOWN = "nothing: the terminal keeps this key, or cinch does not know it"
ENDINGS = (("ctrl+c", "ctrl+c"), ("q", "escape"))
CHUNK = 4096
PATIENCE = 0.1


def run_keys(argv: Sequence[str], *, cwd: Path, out: Output) -> int:
    """Tell of each key until the person has seen enough, or with `--list` of all; the status is 0.

    Raises:
        ConfigError: there is no terminal, or the settings are wrong.
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
        f'\nTo change one, put a line under [keys] in {file}: "chat.search" = "Ctrl+F, F12"; "none" takes it away.'
    )
    if own:
        out.write_text(f"* {len(own)} {'is' if len(own) == 1 else 'are'} yours.")
    for warning in config.warnings:
        out.write_text(f"! {warning}")


def _in_columns(line: str) -> str:
    """A row of the list, whose description goes on below itself where the terminal is narrow."""
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
        # A terminal that went away has no keys.
        with raw(terminal, ENTERING), suppress(OSError):
            _say(out, INTRODUCTION.format(file=file))
            for warning in config.warnings:
                _say(out, f"! {warning}\n")
            _listen(terminal, out, config.settings.keys)
    finally:
        os.close(terminal)


def _listen(terminal: int, out: TextIO, own: Mapping[str, str]) -> None:
    # Who wants the list does not wait for what reads keys.
    from textual._xterm_parser import XTermParser

    from cinch_tui.keys.keymap import recognize_alt_keys

    recognize_alt_keys()
    parser, decoder = XTermParser(), getincrementaldecoder("utf-8")("replace")
    in_konsole = is_in_konsole(os.environ)
    last, arrived = "", b""
    while True:
        chunk = os.read(terminal, CHUNK) if select.select([terminal], [], [], PATIENCE)[0] else None
        if chunk == b"":
            return
        arrived += chunk or b""
        text = spelled_anew(decoder.decode(chunk or b""), in_konsole=in_konsole)
        # A lone Esc is told from the beginning of another key by what does not follow.
        events = [*(parser.feed(text) if text else ()), *parser.tick()]
        for name in key_names(events):
            _say(
                out,
                "".join(
                    [f"{format_bytes(arrived)} · {name}\n", *(f"    {line}\n" for line in describe_key(name, own))]
                ),
            )
            if (last, name) in ENDINGS:
                return
            last, arrived = name, b""
        if arrived and not chunk:
            _say(out, f"{format_bytes(arrived)} · {UNKNOWN}\n")
            arrived = b""


def key_names(events: Iterable[object]) -> list[str]:
    """The names of what was pressed."""
    from textual.events import Key as Pressed
    from textual.events import Paste

    names: list[str] = []
    for event in events:
        if isinstance(event, Pressed):
            names.append(event.key)
        elif isinstance(event, Paste):
            names.append(f"a paste of {len(event.text)} characters")
    return names


def format_bytes(arrived: bytes) -> str:
    """In the way escape sequences are written down, and in hexadecimal."""
    if not arrived:
        return "(with the one before)"
    start = arrived[:24]
    signs = "".join("ESC " if byte == 0x1B else chr(byte) if 0x20 < byte < 0x7F else "·" for byte in start)
    return f"{start.hex(' ')}{' …' if len(arrived) > len(start) else ''}  {signs}"


def wrap_line(line: str) -> str:
    """The line as several, broken between words at the terminal's width."""
    indent = " " * (len(line) - len(line.lstrip()))
    width = max(20, shutil.get_terminal_size().columns)
    if len(line.rstrip("\n")) <= width:
        return line
    # A sample for the settings file stays in one piece.
    rest, *change = re.split(r"(?<= ) {2}(?=\")", line.strip(), maxsplit=1)
    texts = textwrap.wrap(rest, width - len(indent), break_long_words=False, break_on_hyphens=False)
    return "".join(f"{indent}{each}\n" for each in (*texts, *change))


def _say(out: TextIO, text: str) -> None:
    out.write("".join(map(wrap_line, text.splitlines(keepends=True))))
    out.flush()
