"""Questions from the model: choices, free text or both, with a countdown if they time out.

Several questions are tabs of one dialog; the last tab reviews and sends all answers.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from cinch_tui.keybindings.keymap import bindings, hint, label_of, user_keys
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.screens.dialog import GRACE, DockedDialog, stylesheets
from cinch_tui.user_dialogs.answer_form import AnswerForm, QuestionState
from harness.ports.interaction import shortest_timeout
from harness.terminal_text import escape_controls
from harness.user_requests import Answer, Choice, Question

Writing: TypeAlias = Literal["", "free", "edit"]
OTHER = "Other…"
LONGEST_TITLE = 16


class QuestionScreen(DockedDialog[tuple[Answer, ...]]):
    """Question dialog. Esc returns from text entry to the choices, and from there skips the question."""

    CSS_PATH = stylesheets("docked", "question")
    SCROLLED = "#prompt"
    BINDINGS = bindings("question")

    writing: var[Writing] = var("")

    def __init__(self, questions: Sequence[Question], *, grace: float = GRACE) -> None:
        super().__init__(grace=grace)
        self._form = AnswerForm(questions)
        self._timeout = shortest_timeout(questions)
        self._deadline = 0.0

    def compose_content(self) -> ComposeResult:
        yield Static("", id="tabs", markup=False)
        with VerticalScroll(id="prompt", can_focus=False):
            yield Static("", id="asked", markup=False)
        yield OptionList(id="choices", markup=False, compact=True)
        yield Input(id="text", compact=True, select_on_focus=False)
        yield Static("", id="note", markup=False)
        yield Static("", id="countdown", markup=False)
        yield Static("", id="hint", classes="hint", markup=False)

    def opened(self) -> None:
        self._show()
        if self._timeout is not None:
            self._deadline = time.monotonic() + self._timeout
            self._show_countdown()
            self.set_interval(1, self._show_countdown)
            self.set_timer(max(0.1, self._timeout), self.time_out)

    @property
    def unsent_text(self) -> str:
        self._keep_draft()
        return "\n".join(text for each in self._form.blanks for text in each.written)

    @property
    def unused_text(self) -> str:
        self._keep_draft()
        return "\n".join(text for each in self._form.blanks for text in each.discarded_texts)

    def focus_first(self) -> None:
        self.query_one("#text" if self.writing else "#choices").focus()

    def watch_writing(self, writing: Writing) -> None:
        self.set_class(bool(writing), "-writing")
        self._show_hint()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._is_offered(action, parameters) and super().check_action(action, parameters)

    def _is_offered(self, action: str, parameters: tuple[object, ...]) -> bool:
        if action == "go":
            return self._form.is_form
        if action not in ("edit", "write", "pick", "mark", "tick"):
            return True
        question = None if self._form.is_at_end else self._form.blank.question
        if question is None or not question.choices:
            return action == "mark" and question is None
        index = parameters[0] if parameters and isinstance(parameters[0], int) else 0
        offered = {
            "edit": question.editable,
            "write": question.free_text,
            "pick": index < len(question.choices),
            "tick": question.multi_select,
        }
        return offered.get(action, True)

    def action_go(self, step: int) -> None:
        """Switch to another question or the review; drafts are kept."""
        self._keep_draft()
        self._form.go(step)
        self._show()

    def action_pick(self, index: int) -> None:
        if self._form.blank.question.multi_select:
            self._tick(index)
        else:
            self._form.blank.take(index)
            self._go_on()

    def action_tick(self) -> None:
        if (index := self._highlighted()) is None:
            self.action_write()
        else:
            self._tick(index)

    def action_edit(self) -> None:
        if (index := self._highlighted()) is None:
            self.action_write()
        else:
            self._write("edit", self._form.blank.edited_text(index))

    def action_write(self) -> None:
        self._write("free", self._form.blank.draft)

    def action_back(self) -> None:
        if self._form.is_at_end:
            self.action_go(-1)
        elif self.writing and self._form.blank.question.choices:
            self._keep_draft()
            self._stop_writing()
        else:
            self._keep_draft()
            self._form.blank.answer = Answer("skipped")
            self._go_on()

    def time_out(self) -> None:
        """Answer with what was chosen so far; a draft goes to the prompt."""
        self.answer(self._form.answers(Answer("timed_out")))

    @on(OptionList.OptionSelected, "#choices")
    def take_choice(self, event: OptionList.OptionSelected) -> None:
        if self.waiting:
            return
        if self._form.is_at_end:
            self._form.accept_implied()
            self.answer(self._form.answers(Answer("skipped")))
            return
        blank, index = self._form.blank, event.option_index
        if index >= len(blank.question.choices):
            self.action_write()
        elif blank.question.multi_select:
            blank.ticked = blank.ticked or {index}
            blank.take_ticked()
            self._go_on()
        else:
            self.action_pick(index)

    @on(Input.Changed, "#text")
    def forget_note(self) -> None:
        self._note("")

    @on(Input.Submitted, "#text")
    def take_text(self, event: Input.Submitted) -> None:
        text, blank = event.value.strip(), self._form.blank
        if self.writing == "edit":
            self._take_edit(blank, text)
        elif text:
            blank.draft = text
            blank.write(text)
            self._go_on()
        else:
            self._note(f"write an answer, or press {label_of('question.back')}")

    def _take_edit(self, blank: QuestionState, text: str) -> None:
        most, index = blank.question.max_edit_length, self._highlighted()
        if not text:
            self._keep_draft()
            self._stop_writing()
            self._note("empty text: edit cancelled")
        elif most is not None and len(text) > most:
            self._note(f"{len(text)} characters; the maximum is {most}")
        elif index is not None:
            blank.edit(index, text)
            self._go_on()

    def _go_on(self) -> None:
        if not self._form.is_form or self._form.is_skipped:
            self.answer(self._form.answers(Answer("skipped")))
            return
        self._form.go_to_unanswered()
        self._show()

    def _tick(self, index: int) -> None:
        self._form.blank.toggle(index)
        self._fill(index)

    def _show(self) -> None:
        """Show the current question, or the review of all answers."""
        form = self._form
        self.set_class(form.is_form, "-form")
        self.query_one("#tabs", Static).update(_tabs(form))
        asked = _review(form) if form.is_at_end else _asked(form.blank.question)
        self.query_one("#asked", Static).update(Content(escape_controls(asked)))
        self.query_one("#prompt").scroll_home(animate=False)
        self._note("")
        taken = None if form.is_at_end or form.blank.answer is None else form.blank.answer.index
        self._fill(taken or 0)
        if form.is_at_end or form.blank.question.choices:
            self.writing = ""
        else:
            self._write("free", form.blank.draft)
        self._show_hint()
        if not self.waiting:
            self.focus_first()

    def _show_hint(self) -> None:
        self.query_one("#hint", Static).update(_hint(self._form, self.writing))

    def _fill(self, highlighted: int) -> None:
        choices = self.query_one("#choices", OptionList)
        options = [Option("Send these answers")] if self._form.is_at_end else _options(self._form.blank)
        choices.clear_options()
        choices.add_options(options)
        choices.highlighted = highlighted if options else None
        choices.display = bool(options)

    def _highlighted(self) -> int | None:
        index = self.query_one("#choices", OptionList).highlighted
        return index if index is not None and index < len(self._form.blank.question.choices) else None

    def _keep_draft(self) -> None:
        if not self.writing:
            return
        blank, text = self._form.blank, self.query_one("#text", Input).value
        index = self._highlighted()
        if self.writing == "free":
            blank.draft = text
        elif index is not None:
            blank.keep_edit(index, text)

    def _write(self, writing: Writing, text: str) -> None:
        self.writing = writing
        self._note("")
        field = self.query_one("#text", Input)
        field.value = text
        field.cursor_position = len(text)
        if not self.waiting:
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
        self.query_one("#countdown", Static).update(f"continues without an answer in {_in_words(left)}")
        self.add_class("-counting")


def _asked(question: Question) -> str:
    return f"{one_line(question.asker)} asks: {question.prompt}" if question.asker else question.prompt


def _review(form: AnswerForm) -> str:
    return "\n".join(f"{one_line(each.title)}: {one_line(each.summary)}" for each in form.blanks)


def _tabs(form: AnswerForm) -> Content:
    titles = [f" {number} {_title(each)}{_mark(each)} " for number, each in enumerate(form.blanks, 1)]
    parts = [
        Content.styled(title, "reverse" if at == form.index else "") for at, title in enumerate([*titles, " Send "])
    ]
    return Content(" ").join(parts)


def _mark(blank: QuestionState) -> str:
    return "" if blank.answer is None else " –" if blank.answer.status == "skipped" else " ✓"


def _title(blank: QuestionState) -> str:
    title = one_line(blank.title)
    return title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"


def _options(blank: QuestionState) -> list[Option]:
    question = blank.question
    options = [Option(_described(blank, index, choice)) for index, choice in enumerate(question.choices)]
    if not options or not question.free_text:
        return options
    draft = f" {one_line(blank.draft)}" if blank.draft else ""
    return [*options, Option(Content.assemble(("o", "bold"), f"  {OTHER}{draft}"))]


def _described(blank: QuestionState, index: int, choice: Choice) -> Content:
    key = str(index + 1) if index < 9 else " "
    box = ("[x] " if index in blank.ticked else "[ ] ") if blank.question.multi_select else ""
    taken = " ✓" if blank.answer and blank.answer.index == index else ""
    label = Content.assemble((key, "bold"), f"  {box}{escape_controls(choice.label)}{taken}")
    return label.append_text(f"  {escape_controls(choice.description)}", "dim") if choice.description else label


def _hint(form: AnswerForm, writing: Writing) -> str:
    # In a text field they move the cursor.
    arrows = "" if writing or {"question.next", "question.previous"} & user_keys().keys() else "or ← → "
    others = f"question.next {arrows}other questions" if form.is_form else ""
    if form.is_at_end:
        return hint("Enter sends", others, "question.back goes back")
    question = form.blank.question
    if writing:
        back = "question.back goes back" if question.choices else "question.back skips"
        return hint(f"Enter {'continues' if form.is_form else 'sends'}", others, back)
    take = "question.tick or a digit toggles, Enter continues" if question.multi_select else "↑ ↓ and Enter, or a digit"
    edit = "question.edit edits" if question.editable else ""
    write = "question.write writes another answer" if question.free_text else ""
    return hint(take, edit, write, others, "question.back skips")


def _in_words(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
