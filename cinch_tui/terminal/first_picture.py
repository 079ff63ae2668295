"""Keeps how the empty screen looks, for the first frame of the next start."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.color import Color
from textual.strip import Strip

from cinch_tui.app.start_banner import FOLDER_ROW
from cinch_tui.config.private_file import write_private
from cinch_tui.terminal.first_frame import Picture, picture_file, state_folder
from cinch_tui.transcript.plain import one_line

if TYPE_CHECKING:
    from rich.style import Style
    from textual.app import App

    from cinch_tui.config.options import Options
    from cinch_tui.screens.chat import ChatScreen
    from cinch_tui.widgets.status_bar import Status


def keep_picture(app: App[object], screen: ChatScreen, status: Status, options: Options) -> None:
    """Keep this screen, unless it is kept already. It shows nothing that was said."""
    field = screen.prompt.field
    room = field.content_region
    lines = screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage] - as Textual's own screenshots
    body = "".join(f"\x1b[{number};1H{line.render(app.console)}" for number, line in enumerate(lines, 1))
    heading = screen.widgets.transcript.content_region
    picture = Picture(
        (room.y + 1, room.x + 1, room.width),
        (heading.y + 1 + FOLDER_ROW, heading.x + 1, heading.width),
        (one_line(status.model), one_line(status.branch)),
        (
            _sequence(app, field.rich_style),
            _sequence(app, field.get_component_rich_style("text-area--cursor")),
            _sequence(app, screen.widgets.transcript.get_component_rich_style("transcript--muted")),
        ),
        body.encode(),
    )
    path = Path(picture_file(state_folder(options.environ), os.environ, app.size.width, app.size.height))
    screen.run_worker(lambda: _write(path, picture.encoded()), thread=True, group="picture")


def forget_pictures(options: Options) -> None:
    """They show colours that are worn no more."""
    rmtree(Path(state_folder(options.environ)) / "first-frame", ignore_errors=True)


def _sequence(app: App[object], style: Style) -> bytes:
    """What chooses the colours of a style, where there are any."""
    shown = Strip([Segment("x", style)])
    for each in app.get_line_filters():
        shown = shown.apply_filter(each, Color(0, 0, 0))
    return shown.render(app.console).partition("x")[0].encode()


def _write(path: Path, encoded: bytes) -> None:
    # It only makes the next start look quicker.
    with suppress(OSError):
        if path.exists() and path.read_bytes() == encoded:
            # The settings that were changed since look the same.
            path.touch()
        else:
            write_private(path, encoded.decode())
