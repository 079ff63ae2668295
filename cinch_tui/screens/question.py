"""A question of the model's: choices, free text, or both, with a countdown where it will not wait for ever."""

from __future__ import annotations

import time
from typing import ClassVar, Literal, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from cinch_tui.rendering.harmless import harmless
from cinch_tui.screens.dialog import GRACE, Dialog, stylesheets
from cinch_tui.transcript.plain import one_line
from harness.person import Answer, Choice, Question

Writing: TypeAlias = Literal["", "free", "edit"]
OTHER = "Other…"


class QuestionScreen(Dialog[Answer]):
    """Asks one question. Esc goes back from writing to the choices, and from the choices skips the question."""

    CSS_PATH = stylesheets("question")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "move(-1)", "Up", show=False, id="question.up"),
        Binding("j", "move(1)", "Down", show=False, id="question.down"),
        *(
            Binding(str(digit), f"pick({digit - 1})", f"Choice {digit}", show=False, id=f"question.{digit}")
            for digit in range(1, 10)
        ),
        Binding("e", "edit", "Edit the choice", id="question.edit"),
        Binding("o", "write", "Write another answer", id="question.other"),
        Binding("escape", "back", "Skip", id="question.skip"),
        Binding("pageup", "scroll(-1)", "Page up", priority=True, show=False, id="question.page-up"),
        Binding("pagedown", "scroll(1)", "Page down", priority=True, show=False, id="question.page-down"),
    ]

    writing: var[Writing] = var("")

    def __init__(self, question: Question, *, grace: float = GRACE) -> None:
        super().__init__(grace=grace)
        self._question = question
        self._deadline = 0.0

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            with VerticalScroll(id="prompt", can_focus=False):
                yield Static(Content(harmless(self._asked())), markup=False)
            if self._question.choices:
                yield OptionList(*self._options(), id="choices", markup=False, compact=True)
            yield Input(id="text", compact=True, select_on_focus=False)
            yield Static("", id="note", markup=False)
            yield Static("", id="countdown", markup=False)
            yield Static(self._hint(), classes="hint", markup=False)

    def _asked(self) -> str:
        asker, prompt = self._question.asker, self._question.prompt
        return f"{one_line(asker)} asks: {prompt}" if asker else prompt

    def opened(self) -> None:
        if not self._question.choices:
            self.writing = "free"
        if self._question.timeout is not None:
            self._deadline = time.monotonic() + self._question.timeout
            self._show_countdown()
            self.set_interval(1, self._show_countdown)
            self.set_timer(max(0.0, self._question.timeout), self.time_out)

    @property
    def unsent(self) -> str:
        return self.query_one("#text", Input).value if self.writing == "free" else ""

    def focus_first(self) -> None:
        if self.writing:
            self.query_one("#text").focus()
        else:
            super().focus_first()

    def watch_writing(self, writing: Writing) -> None:
        self.set_class(bool(writing), "-writing")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "edit" and not self._question.editable:
            return False
        if action in ("edit", "write", "pick", "move") and not self._question.choices:
            return False
        if action == "pick" and parameters and isinstance(parameters[0], int):
            return parameters[0] < len(self._question.choices) and super().check_action(action, parameters)
        return super().check_action(action, parameters)

    def action_move(self, step: int) -> None:
        choices = self.query_one("#choices", OptionList)
        if step < 0:
            choices.action_cursor_up()
        else:
            choices.action_cursor_down()

    def action_pick(self, index: int) -> None:
        self.answer(Answer("selected", self._question.choices[index].label, index))

    def action_edit(self) -> None:
        index = self._highlighted()
        if index is None:
            self.action_write()
            return
        self._write("edit", self._question.choices[index].label)

    def action_write(self) -> None:
        self._write("free", "")

    def action_back(self) -> None:
        if self.writing and self._question.choices:
            self._stop_writing()
        else:
            self.answer(Answer("skipped"))

    def action_scroll(self, direction: int) -> None:
        prompt = self.query_one("#prompt")
        if direction < 0:
            prompt.scroll_page_up(animate=False)
        else:
            prompt.scroll_page_down(animate=False)

    def time_out(self) -> None:
        """The time is up: answer so. What is half written was meant for somebody, and goes to the prompt."""
        self.give_back_typed(self.unsent)
        self.answer(Answer("timed_out"))

    @on(OptionList.OptionSelected, "#choices")
    def take_choice(self, event: OptionList.OptionSelected) -> None:
        if self.waiting:
            return
        if event.option_index < len(self._question.choices):
            self.action_pick(event.option_index)
        else:
            self.action_write()

    @on(Input.Submitted, "#text")
    def take_text(self, event: Input.Submitted) -> None:
        text = event.value.strip()
        if text and self.writing == "edit":
            self.answer(Answer("edited", text, self._highlighted()))
        elif text:
            self.answer(Answer("free_text", text))
        elif self.writing == "edit":
            self._stop_writing()
            self._note("empty: the edit is cancelled")
        else:
            self._note("write an answer, or press Esc")

    def _options(self) -> list[Option]:
        options = [Option(_described(index, choice)) for index, choice in enumerate(self._question.choices, 1)]
        return [*options, Option(Content.assemble(("o", "bold"), f"  {OTHER}"))]

    def _hint(self) -> str:
        if not self._question.choices:
            return "Enter sends · Esc skips"
        edit = "e edits · " if self._question.editable else ""
        return f"↑ ↓ and Enter, or a digit · {edit}o writes another answer · Esc skips"

    def _highlighted(self) -> int | None:
        index = self.query_one("#choices", OptionList).highlighted
        return index if index is not None and index < len(self._question.choices) else None

    def _write(self, writing: Writing, text: str) -> None:
        self.writing = writing
        self._note("")
        field = self.query_one("#text", Input)
        field.value = text
        field.cursor_position = len(text)
        field.focus()

    def _stop_writing(self) -> None:
        self.writing = ""
        self._note("")
        self.query_one("#choices").focus()

    def _note(self, text: str) -> None:
        note = self.query_one("#note", Static)
        note.update(text)
        note.set_class(bool(text), "-shown")

    def _show_countdown(self) -> None:
        left = max(0, round(self._deadline - time.monotonic()))
        self.query_one("#countdown", Static).update(f"goes on without an answer in {_in_words(left)}")
        self.add_class("-counting")


def _described(number: int, choice: Choice) -> Content:
    key = str(number) if number < 10 else " "
    label = Content.assemble((key, "bold"), f"  {harmless(choice.label)}")
    return label.append_text(f"  {harmless(choice.description)}", "dim") if choice.description else label


def _in_words(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
