"""Saving the empty chat screen as the first frame of the next start."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from shutil import rmtree

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import TextArea

from cinch_tui.app.start_banner import FOLDER_ROW
from cinch_tui.config.options import Options
from cinch_tui.config.paths import write_private
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.terminal.first_frame import SavedScreen, saved_screen_file, state_folder
from cinch_tui.widgets.status_bar import Status


def save_screen(app: App[object], options: Options, field: TextArea, transcript: Widget, status: Status) -> None:
    """Save the app's screen, which contains no messages, unless it is saved already.

    Args:
        app: the app, showing the chat screen.
        options: options of this start.
        field: text field of the prompt.
        transcript: the empty transcript.
        status: state of the status bar.
    """
    screen: Screen[object] = app.screen
    room = field.content_region
    lines = screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage] - as Textual's own screenshots
    body = "".join(f"\x1b[{number};1H{line.render(app.console)}" for number, line in enumerate(lines, 1))
    heading = transcript.content_region
    picture = SavedScreen(
        (room.y + 1, room.x + 1, room.width),
        (heading.y + 1 + FOLDER_ROW, heading.x + 1, heading.width),
        (one_line(status.model), one_line(status.branch)),
        (
            _sequence(app, field.rich_style),
            _sequence(app, field.get_component_rich_style("text-area--cursor")),
            _sequence(app, transcript.get_component_rich_style("transcript--muted")),
        ),
        body.encode(),
    )
    path = Path(saved_screen_file(state_folder(options.environ), os.environ, app.size.width, app.size.height))
    screen.run_worker(lambda: _write(path, picture.encoded()), thread=True, group="picture")


def delete_saved_screens(options: Options) -> None:
    """Delete all saved screens, since the theme changed."""
    rmtree(Path(state_folder(options.environ)) / "first-frame", ignore_errors=True)


def _sequence(app: App[object], style: Style) -> bytes:
    """Return the escape sequence that selects the colors of a style, if it has any."""
    shown = Strip([Segment("x", style)])
    for each in app.get_line_filters():
        shown = shown.apply_filter(each, Color(0, 0, 0))
    return shown.render(app.console).partition("x")[0].encode()


def _write(path: Path, encoded: bytes) -> None:
    # A missing picture only makes the next start look slower.
    with suppress(OSError):
        if path.exists() and path.read_bytes() == encoded:
            # A newer modification time marks the picture as current after settings changed.
            path.touch()
        else:
            write_private(path, encoded.decode())
