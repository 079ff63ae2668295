"""A plan of the model's, to be accepted or sent back with a word."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from cinch_tui.keys.keymap import bindings, hint, label_of
from cinch_tui.rendering.harmless import harmless
from cinch_tui.screens.dialog import GRACE, Dialog, stylesheets
from harness.person import PlanVerdict

_ANSWERS = (
    ("accept", "Accept it and start the work"),
    ("keep_planning", "Keep planning, and say what to change"),
)
_HINT = ("plan.page_up plan.page_down scroll", "plan.back keeps planning")
_WRITING_HINT = ("Enter sends", "plan.back goes back")


class PlanScreen(Dialog[PlanVerdict]):
    """Shows a plan. Esc keeps planning without a word."""

    CSS_PATH = stylesheets("plan_review")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("plan")]

    explaining = var(default=False, toggle_class="-explaining")

    def __init__(self, plan: str, *, grace: float = GRACE) -> None:
        super().__init__(grace=grace)
        self._plan = plan

    def compose(self) -> ComposeResult:
        # The Markdown parser costs 40 ms of import that only a plan pays for.
        from textual.widgets import Markdown

        with Vertical(id="dialog") as dialog:
            dialog.border_subtitle = hint(*_HINT)
            yield Static(Content.assemble(("The plan", "bold")), id="heading", markup=False)
            with VerticalScroll(id="plan"):
                yield Markdown(harmless(self._plan), open_links=False)
            yield OptionList(
                *(
                    Option(Content.assemble((label_of(f"plan.{action}"), "bold"), f"  {label}"), id=action)
                    for action, label in _ANSWERS
                ),
                id="answers",
                markup=False,
                compact=True,
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
        self.answer(PlanVerdict(accepted=True))

    def action_keep_planning(self) -> None:
        self.explaining = True
        self.focus_first()

    def action_back(self) -> None:
        if self.explaining:
            self.explaining = False
            self.focus_first()
        else:
            self.answer(PlanVerdict(accepted=False))

    def action_scroll(self, direction: int) -> None:
        plan = self.query_one("#plan")
        if direction < 0:
            plan.scroll_page_up(animate=False)
        else:
            plan.scroll_page_down(animate=False)

    @on(OptionList.OptionSelected, "#answers")
    async def take_selected(self, event: OptionList.OptionSelected) -> None:
        if event.option_id:
            await self.run_action(event.option_id)

    @on(Input.Submitted, "#feedback")
    def refuse(self, event: Input.Submitted) -> None:
        feedback = event.value.strip()
        event.input.clear()
        self.answer(PlanVerdict(accepted=False, feedback=feedback))
