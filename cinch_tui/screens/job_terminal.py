"""Terminal of a background job: its output and a field for input, or the screen that its program draws."""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.events import Key, Paste
from textual.message import Message
from textual.widgets import Input, Static

from cinch_tui.keybindings.keymap import bindings
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.screens.dialog import stylesheets
from cinch_tui.screens.reader import Reader
from harness.job_spec import JobInput, JobScreen
from harness.jobs import Job
from harness.terminal_text import escape_controls
from tools.terminal_keys import characters_of
from tools.terminal_process import COLUMNS, ROWS

_SHOWN_CHARS = 20_000
_UPDATE_SECONDS = 0.1
_SMALLEST_ROWS, _SMALLEST_COLUMNS = 5, 20
VISIBLE = "typed into the program; the model sees it"
HIDDEN = "not shown, and not seen by the model"


class ProgramScreen(Static, can_focus=True):
    """The screen that a program draws."""

    class Resized(Message):
        """The size changed."""

    def on_resize(self) -> None:
        self.post_message(self.Resized())


class JobTerminal(Reader, inherit_bindings=False):
    """Dialog that types into the program only: not into a history, session or context.

    Lines are typed into a field. While the program draws on its terminal, each key goes to the program, and the
    terminal has the size of the dialog.

    Args:
        job: The job.
        terminal: Its terminal.
        grace: Seconds after opening during which keys go to the prompt.
        is_prompt: True if the program has opened it for a line that is not echoed; it closes once that is sent.
    """

    CSS_PATH = stylesheets("reader", "job_terminal")
    FIRST_FOCUS = "#line, #screen"
    BINDINGS = bindings("job_terminal")
    LINE_HINTS = (
        "Enter sends",
        "job_terminal.interrupt interrupts",
        "job_terminal.end ends input",
        "job_terminal.close closes",
    )
    SCREEN_HINTS = ("all keys go to the program", "job_terminal.leave closes")

    def __init__(self, job: Job, terminal: JobInput, *, grace: float = 0, is_prompt: bool = False) -> None:
        title, output = one_line(f"{job.id}: {job.spec.title}"), job.spec.output
        super().__init__(title, lambda: output.latest(_SHOWN_CHARS), grace=grace)
        self._is_prompt = is_prompt
        self._job = job
        self._terminal = terminal
        self._screen: JobScreen | None = None
        self._has_drawn = False

    @property
    def key_hints(self) -> tuple[str, ...]:
        return self.SCREEN_HINTS if self._is_drawn else self.LINE_HINTS

    def compose_content(self) -> ComposeResult:
        yield from super().compose_content()
        yield ProgramScreen(id="screen", markup=False)
        yield Input(id="line", compact=True, select_on_focus=False)

    def opened(self) -> None:
        super().opened()
        self.set_interval(_UPDATE_SECONDS, self._update_screen)
        self._update_screen(is_first=True)
        self._update_field()

    def on_unmount(self) -> None:
        self._terminal.resize(ROWS, COLUMNS)

    def focus_first(self) -> None:
        self.query_one("#screen" if self._is_drawn else "#line").focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        # Keys go to the program while it draws; another key closes the dialog then.
        if action in ("press", "page", "close", "leave") and (action == "leave") is not self._is_drawn:
            return False
        return super().check_action(action, parameters)

    @on(Input.Submitted, "#line")
    def send_line(self, event: Input.Submitted) -> None:
        event.stop()
        typed = event.value
        event.input.clear()
        self._type(f"{typed}\r")

    def on_key(self, event: Key) -> None:
        if self._is_drawn and not self.waiting and event.key not in self.active_bindings:
            event.stop()
            event.prevent_default()
            application = self._terminal.uses_application_keys
            is_text = event.is_printable and event.character is not None
            self._type((event.character if is_text else characters_of(event.key, application=application)) or "")
            self.set_timer(_UPDATE_SECONDS / 2, self._update_screen)
        else:
            super().on_key(event)

    def on_paste(self, event: Paste) -> None:
        if self._is_drawn and not self.waiting:
            event.stop()
            self._type(event.text.replace("\n", "\r"))
        else:
            super().on_paste(event)

    def action_press(self, key: str) -> None:
        """Press a key of the program, after what is in the field."""
        if key == "ctrl-c" and self.get_selected_text():
            self.action_copy_text()
            return
        field = self.query_one("#line", Input)
        typed = field.value if key != "ctrl-c" else ""
        field.clear()
        self._type(typed + (characters_of(key, application=self._terminal.uses_application_keys) or ""))

    def action_leave(self) -> None:
        self.action_close()

    def update(self) -> None:
        super().update()
        self._update_field()

    @property
    def _is_drawn(self) -> bool:
        return self._screen is not None

    def _update_screen(self, *, is_first: bool = False) -> None:
        """Show what the program has drawn, or the lines that it prints."""
        was_drawn, shown = self._is_drawn, self._terminal.screen
        if shown == self._screen and not is_first:
            if self._has_drawn and self._job.state != "running" and not self._text():
                # The program has left nothing to read.
                self.action_close()
            return
        self._has_drawn = self._has_drawn or shown is not None
        self._screen = shown
        field, screen = self.query_one("#line", Input), self.query_one("#screen", ProgramScreen)
        if shown is not None:
            screen.update(_with_cursor(shown))
        screen.display = self._is_drawn
        field.display = self.query_one("#text", VerticalScroll).display = not self._is_drawn
        if was_drawn is not self._is_drawn:
            self.show_keys()
            self.refresh_bindings()
            if not self.waiting:
                self.focus_first()

    @on(ProgramScreen.Resized)
    def fit_terminal(self) -> None:
        """Give the terminal the size of the dialog, so that all of its screen is visible."""
        size = self.query_one("#screen", ProgramScreen).size
        if self._is_drawn and size:
            self._terminal.resize(max(size.height, _SMALLEST_ROWS), max(size.width, _SMALLEST_COLUMNS))

    def _update_field(self) -> None:
        field = self.query_one("#line", Input)
        is_hidden = self._terminal.hides_input
        field.password = is_hidden
        field.disabled = self._job.state != "running"
        field.placeholder = self._job.status_text if field.disabled else HIDDEN if is_hidden else VISIBLE

    def _type(self, text: str) -> None:
        data, was_hidden = text.encode(), self._terminal.hides_input
        if self._terminal.type(data) < len(data):
            text = f"{self._job.id} takes no more input: {self._job.status_text}."
            self.notify(text, severity="warning", markup=False)
        elif self._is_prompt and was_hidden and text.endswith("\r"):
            self.action_close()


def _with_cursor(screen: JobScreen) -> Text:
    """Return a screen with the cell of the cursor reversed."""
    rows = [escape_controls(row) for row in screen.text.split("\n")]
    rows += [""] * (screen.line - len(rows))
    row = rows[screen.line - 1].ljust(screen.column)
    rows[screen.line - 1] = row
    start = sum(len(each) + 1 for each in rows[: screen.line - 1]) + screen.column - 1
    text = Text("\n".join(rows), no_wrap=True, overflow="crop", end="")
    text.stylize("reverse", start, start + 1)
    return text
