"""Plan review dialog: accept a plan, edit it, or reject it with feedback."""

from __future__ import annotations

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, Static

from cinch_tui.keybindings.keymap import bindings, hint, label_of
from cinch_tui.screens.dialog import GRACE, stylesheets
from cinch_tui.screens.docked import CONVERSATION_HINT, DialogFrame, DockedDialog
from cinch_tui.user_dialogs.approval_options import PLAN_ANSWERS
from cinch_tui.widgets.answer_bar import Answer, AnswerBar
from cinch_tui.widgets.markdown_text import MarkdownText
from harness.user_requests import PlanDecision

_HINT = ("plan.page_up plan.page_down scroll", CONVERSATION_HINT, "plan.back keeps planning")
_WRITING_HINT = ("Enter sends", "plan.back goes back")


class PlanScreen(DockedDialog[PlanDecision]):
    """Shows a plan. Esc keeps planning without feedback. `editor`: editor command; empty: the default editor."""

    CSS_PATH = stylesheets("docked", "transcript", "plan_review")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("plan")]
    FIRST_FOCUS = "AnswerBar"

    explaining = var(default=False, toggle_class="-explaining")

    def __init__(self, plan: str, *, grace: float = GRACE, editor: str = "") -> None:
        super().__init__(grace=grace)
        self._proposed = plan
        self._plan = plan
        self._editor = editor

    def compose(self) -> ComposeResult:
        with DialogFrame(id="dialog") as dialog:
            dialog.border_subtitle = hint(*_HINT)
            yield Static(Content.styled("Plan", "bold"), id="heading", markup=False)
            with VerticalScroll(id="plan"):
                yield MarkdownText(self._plan)
            yield AnswerBar(
                (Answer(action, label_of(f"plan.{action}"), text, short) for _, action, text, short in PLAN_ANSWERS),
                id="answers",
            )
            yield Input(
                placeholder=f"what to change? Enter sends, {label_of('plan.back')} goes back",
                id="feedback",
                compact=True,
                select_on_focus=False,
            )

    @property
    def unsent(self) -> str:
        return self.query_one("#feedback", Input).value

    @property
    def unheard(self) -> str:
        return self.unsent

    def watch_explaining(self, explaining: bool) -> None:  # noqa: FBT001 - Textual's own way to call it
        self.query_one("#dialog").border_subtitle = hint(*(_WRITING_HINT if explaining else _HINT))

    def focus_first(self) -> None:
        self.query_one("#feedback" if self.explaining else "#answers").focus()

    def action_accept(self) -> None:
        self._accept()

    def action_accept_with_edits(self) -> None:
        self._accept(allow_edits=True)

    def action_reject(self) -> None:
        self.answer(PlanDecision(accepted=False))

    def _accept(self, *, allow_edits: bool = False) -> None:
        edited = self._plan if self._plan != self._proposed else ""
        self.answer(PlanDecision(accepted=True, allow_edits=allow_edits, plan=edited))

    @work(group="editor", exclusive=True)
    async def action_edit(self) -> None:
        from cinch_tui.terminal.editor import Edited, EditorFailed, rewrite

        match await rewrite(self._plan, "plan.md", self._editor, self.give_away):
            case EditorFailed(reason, _):
                self.notify(reason, severity="error", markup=False)
            case Edited(text) if text.strip() and text != self._plan:
                self._plan = text
                self.query_one("#heading", Static).update(Content.styled("Plan (edited by you)", "bold"))
                self.query_one(MarkdownText).update(text)
            case _:
                self.notify("No changes made.", markup=False)

    def action_keep_planning(self) -> None:
        self.explaining = True
        self.focus_first()

    def action_back(self) -> None:
        if self.explaining:
            self.explaining = False
            self.focus_first()
        else:
            self.answer(PlanDecision(accepted=False))

    def action_scroll(self, direction: int) -> None:
        plan = self.query_one("#plan")
        if direction < 0:
            plan.scroll_page_up(animate=False)
        else:
            plan.scroll_page_down(animate=False)

    @on(AnswerBar.Chosen)
    async def take_chosen(self, event: AnswerBar.Chosen) -> None:
        await self.run_action(event.action)

    @on(Input.Submitted, "#feedback")
    def refuse(self, event: Input.Submitted) -> None:
        feedback = event.value.strip()
        event.input.clear()
        self.answer(PlanDecision(accepted=False, feedback=feedback))
