"""Terminal of a background job: its output, and a field whose lines are typed into its program."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from cinch_tui.keybindings.keymap import bindings
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.screens.dialog import stylesheets
from cinch_tui.screens.reader import Reader
from harness.jobs import Job, JobInput

_KEYS = {"up": "\x1b[A", "down": "\x1b[B", "tab": "\t", "ctrl-c": "\x03", "ctrl-d": "\x04"}
_SHOWN_CHARS = 20_000
VISIBLE = "typed into the program; the model sees it"
HIDDEN = "not shown, and not seen by the model"


class JobTerminal(Reader, inherit_bindings=False):
    """Dialog that types into the program only: not into a history, session or context.

    Args:
        job: The job.
        terminal: Its terminal.
        grace: Seconds after opening during which keys go to the prompt.
        is_prompt: True if the program has opened it for a line that is not echoed; it closes once that is sent.
    """

    CSS_PATH = stylesheets("reader", "job_terminal")
    FIRST_FOCUS = "#line"
    BINDINGS = bindings("job_terminal")
    KEY_HINTS = (
        "Enter sends",
        "job_terminal.interrupt interrupts",
        "job_terminal.end ends input",
        "job_terminal.close closes",
    )

    def __init__(self, job: Job, terminal: JobInput, *, grace: float = 0, is_prompt: bool = False) -> None:
        title, output = one_line(f"{job.id}: {job.spec.title}"), job.spec.output
        super().__init__(title, lambda: output.latest(_SHOWN_CHARS), grace=grace)
        self._is_prompt = is_prompt
        self._job = job
        self._terminal = terminal

    def compose_content(self) -> ComposeResult:
        yield from super().compose_content()
        yield Input(id="line", compact=True, select_on_focus=False)

    def opened(self) -> None:
        super().opened()
        self._update_field()

    @on(Input.Submitted, "#line")
    def send_line(self, event: Input.Submitted) -> None:
        event.stop()
        typed, was_hidden = event.value, self._terminal.hides_input
        event.input.clear()
        self._type(f"{typed}\r")
        if self._is_prompt and was_hidden:
            self.action_close()

    def action_press(self, key: str) -> None:
        """Press a key of the program, after what is in the field."""
        if key == "ctrl-c" and self.get_selected_text():
            self.action_copy_text()
            return
        field = self.query_one("#line", Input)
        typed = field.value if key != "ctrl-c" else ""
        field.clear()
        self._type(typed + _KEYS[key])

    def update(self) -> None:
        super().update()
        self._update_field()

    def _update_field(self) -> None:
        field = self.query_one("#line", Input)
        is_hidden = self._terminal.hides_input
        field.password = is_hidden
        field.disabled = self._job.state != "running"
        field.placeholder = self._job.status_text if field.disabled else HIDDEN if is_hidden else VISIBLE

    def _type(self, text: str) -> None:
        data = text.encode()
        if self._terminal.type(data) < len(data):
            text = f"{self._job.id} takes no more input: {self._job.status_text}."
            self.notify(text, severity="warning", markup=False)
