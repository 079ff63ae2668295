"""Review dialog: accept a plan or a brief, edit it, or reject it, a plan with feedback."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partialmethod
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from cinch_tui.keybindings.keymap import bindings, label_of
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.rendering.styles import DIFF_CLASSES
from cinch_tui.screens.dialog import CONVERSATION_HINT, GRACE, DockedDialog, stylesheets
from cinch_tui.transcript.lines import StyledLine
from cinch_tui.transcript.painting import paint_line
from cinch_tui.transcript.replies import ReplyBlock, reply_lines
from cinch_tui.transcript.styles import STYLE_NAMES, BlockStyles, DisplayOptions, block_styles, component_class
from cinch_tui.user_dialogs.approval_options import BRIEF_ANSWERS, PLAN_ANSWERS, AnswerOption
from cinch_tui.user_dialogs.plan_file import PlanFile
from cinch_tui.widgets.answer_bar import AnswerBar
from harness.user_requests import Plan, PlanDecision

POLL_SECONDS = 0.5
"""Time between two looks at the file of a plan."""
_HINT = ("plan.page_up plan.page_down scroll", CONVERSATION_HINT)
_WRITING_HINT = ("Enter sends", "plan.back goes back")


class ReviewTexts(Struct, frozen=True):
    """Texts of a review."""

    title: str
    """Name of what is reviewed."""
    file: str
    """Name of the file in the editor."""
    answers: Sequence[AnswerOption]
    """Answers offered."""
    back: str
    """Effect of Esc."""


PLAN_REVIEW = ReviewTexts("Plan", "plan.md", PLAN_ANSWERS, "keeps planning")
BRIEF_REVIEW = ReviewTexts("Brief of the new session", "brief.md", BRIEF_ANSWERS, "cancels")


class PlanScreen(DockedDialog[PlanDecision]):
    """Shows a plan. Esc keeps planning without feedback."""

    CSS_PATH = stylesheets("docked", "transcript", "plan_review")
    BINDINGS = bindings("plan")
    SCROLLED = "#plan"

    explaining = var(default=False, toggle_class="-explaining")

    def __init__(
        self, plan: Plan, *, grace: float = GRACE, editor: str = "", review: ReviewTexts = PLAN_REVIEW
    ) -> None:
        super().__init__(grace=grace, editor=editor)
        self._review = review
        self._plan = plan
        self._file = PlanFile(plan.file, plan.text)
        self._option = 0

    @property
    def key_hints(self) -> tuple[str, ...]:
        digits = (f"1–{len(self._plan.options)} choose the option",) if self._plan.options else ()
        return _WRITING_HINT if self.explaining else (*digits, *_HINT, f"plan.back {self._review.back}")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        offered = {each.action for each in self._review.answers}
        if action == "pick" and not self._plan.options:
            return False
        is_offered = action in offered or all(each.action != action for each in PLAN_ANSWERS)
        return is_offered and super().check_action(action, parameters)

    def compose_content(self) -> ComposeResult:
        yield Static(self._heading(), id="heading", markup=False)
        if self._plan.file:
            yield Static(one_line(str(self._plan.file)), id="file", classes="hint", markup=False)
        with VerticalScroll(id="plan"):
            yield MarkdownText(self._plan.text)
        with Vertical(id="options"):
            for at, each in enumerate(self._plan.options):
                with Horizontal(classes="option"):
                    yield Static(self._mark(at), classes="mark", markup=False)
                    yield Static(Content.assemble((one_line(each.label), "bold"), f"  {one_line(each.description)}"))
        yield AnswerBar(
            (replace(each, key=label_of(f"plan.{each.action}")) for each in self._review.answers),
            id="answers",
        )
        placeholder = f"what to change? Enter sends, {label_of('plan.back')} goes back"
        yield Input(placeholder=placeholder, id="feedback", compact=True, select_on_focus=False)

    def opened(self) -> None:
        if self._plan.file:
            self.set_interval(POLL_SECONDS, self._show_changes)

    def _show_changes(self) -> None:
        if self._file.reread():
            self._show_text()

    def _show_text(self) -> None:
        self.query_one("#heading", Static).update(self._heading())
        self.query_one(MarkdownText).update(self._file.text)

    def _heading(self) -> Content:
        title = f"{self._review.title}: {one_line(self._plan.title)}" if self._plan.title else self._review.title
        edited = " (edited by you)" if self._file.text != self._plan.text else ""
        return Content.styled(f"{title}{edited}", "bold")

    def _mark(self, at: int) -> Content:
        # No cursor: the arrow keys move between the answers, as in all dialogs.
        return Content.styled(f"{'●' if at == self._option else '○'} {at + 1}", "bold" if at == self._option else "")

    def action_pick(self, index: int) -> None:
        if index < len(self._plan.options):
            self._option = index
            for at, mark in enumerate(self.query(".mark").results(Static)):
                mark.update(self._mark(at))

    @property
    def unsent_text(self) -> str:
        return self.query_one("#feedback", Input).value

    def watch_explaining(self) -> None:
        self.show_keys()

    def focus_first(self) -> None:
        self.query_one("#feedback" if self.explaining else "#answers").focus()

    def action_reject(self) -> None:
        self.answer(PlanDecision(accepted=False))

    def _accept(self, *, allow_edits: bool = False) -> None:
        self._file.reread()
        edited = self._file.text if self._file.text != self._plan.text else ""
        option = self._plan.options[self._option].label if self._plan.options else ""
        self.answer(PlanDecision(accepted=True, allow_edits=allow_edits, plan=edited, option=option))

    action_accept = partialmethod(_accept)
    action_accept_with_edits = partialmethod(_accept, allow_edits=True)

    @work(group="editor", exclusive=True)
    async def action_edit(self) -> None:
        self._file.reread()
        if plan := self.edit_text(self._file.text, self._review.file, lambda text: text if text.strip() else ""):
            self._file.write(plan)
            self._show_text()

    def action_keep_planning(self) -> None:
        self.explaining = True
        self.focus_first()

    def action_back(self) -> None:
        if self.explaining:
            self.explaining = False
            self.focus_first()
        else:
            self.answer(PlanDecision(accepted=False))

    @on(Input.Submitted, "#feedback")
    def refuse(self, event: Input.Submitted) -> None:
        feedback = event.value.strip()
        event.input.clear()
        self.answer(PlanDecision(accepted=False, feedback=feedback))


class MarkdownText(Widget):
    """Text with the height of its lines; its container scrolls."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {component_class(name) for name in STYLE_NAMES} | DIFF_CLASSES
    DEFAULT_CSS = "MarkdownText { height: auto; }"

    def __init__(self, text: str) -> None:
        super().__init__()
        self._reply = ReplyBlock(text)
        self._look: BlockStyles | None = None

    def update(self, text: str) -> None:
        self._reply = ReplyBlock(text)
        self.refresh(layout=True)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._look = None

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines(width))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        lines = self._lines(width)
        return paint_line(lines[y], width, self.rich_style) if y < len(lines) else Strip.blank(width, self.rich_style)

    def _lines(self, width: int) -> list[StyledLine]:
        if self._look is None:
            self._look = block_styles(self, DisplayOptions())
        return reply_lines(self._reply, self._look, max(1, width))
