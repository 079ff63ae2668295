"""The question before a call runs: what it will do, why it asks, and every answer a person may give."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from cinch_tui.rendering.diff import diff_stat
from cinch_tui.rendering.review import Review
from cinch_tui.screens.dialog import GRACE, Dialog, stylesheets
from cinch_tui.transcript.plain import one_line
from cinch_tui.widgets.diff_view import ViewPane
from cinch_tui.widgets.review_pane import ReviewPane
from harness.hunks import hunks_of
from harness.person import Always, Approval, ApprovalRequest, Denied, Once, Partly, RefusedHunk, Reworded, Session
from harness.tool import RiskLevel
from harness.views import DiffView, TerminalView, TextView, View

_RISKS: dict[RiskLevel, str] = {
    "none": "touches nothing",
    "read": "reads",
    "edit": "changes files",
    "execute": "runs a program",
    "dangerous": "dangerous",
    "forbidden": "forbidden",
}
FRAME = 4
LEAST = 4
"""Lines of what is asked about that are seen whatever else there is to say."""

_HINT = "PgUp PgDn scroll · Esc denies"
_DIFF_HINT = f"v side by side · u unfold · {_HINT}"
_REVIEW_HINT = "y take · n leave out · d say why · a all · r none · Enter done"
_WHY_NOT = "why not? Enter sends, Esc goes back"
_WHY_NOT_THIS = "why not this change? Enter keeps it, Esc goes back"


class ApprovalScreen(Dialog[Approval]):
    """Asks about one call. Esc and `n` deny it, `d` denies with a reason for the model.

    `editor` is the command with which the person changes what is proposed; empty for the usual one.
    """

    CSS_PATH = stylesheets("approval")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "once", "Allow once", id="approval.once"),
        Binding("s", "session", "Allow for this session", id="approval.session"),
        Binding("a", "always", "Allow always here", id="approval.always"),
        Binding("h", "review", "Choose among the changes", id="approval.review"),
        Binding("e", "rewrite", "Change it in $EDITOR, then decide", id="approval.rewrite"),
        Binding("n", "deny", "Deny", id="approval.deny"),
        Binding("escape", "back", "Deny", id="approval.back"),
        Binding("d", "explain", "Deny and say why", id="approval.explain"),
        Binding("v", "split", "Side by side, or one under the other", id="approval.split"),
        Binding("u", "unfold", "Show or fold unchanged lines", id="approval.unfold"),
        Binding("pageup", "scroll('page_up')", "Page up", priority=True, show=False, id="approval.page-up"),
        Binding("pagedown", "scroll('page_down')", "Page down", priority=True, show=False, id="approval.page-down"),
        Binding("shift+up", "scroll('up')", "Scroll up", priority=True, show=False, id="approval.line-up"),
        Binding("shift+down", "scroll('down')", "Scroll down", priority=True, show=False, id="approval.line-down"),
        Binding("ctrl+home", "scroll('home')", "To the top", priority=True, show=False, id="approval.top"),
        Binding("ctrl+end", "scroll('end')", "To the end", priority=True, show=False, id="approval.end"),
    ]

    explaining = var(default=False, toggle_class="-explaining")
    reviewing = var(default=False, toggle_class="-reviewing")

    def __init__(self, request: ApprovalRequest, *, grace: float = GRACE, editor: str = "") -> None:
        super().__init__(grace=grace)
        self._request = request
        self._editor = editor
        self._review = _review_of(request)

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog", classes="-diff" if self._is_diff else None) as dialog:
            dialog.border_subtitle = _DIFF_HINT if self._has_two_sides else _HINT
            yield Static(self._heading(), id="heading", markup=False)
            yield Static(self._why(), id="why", classes=f"-{self._request.risk.level}", markup=False)
            yield self._pane()
            yield OptionList(*self._answers(), id="answers", markup=False, compact=True)
            yield Input(placeholder=_WHY_NOT, id="reason", compact=True, select_on_focus=False)

    def opened(self) -> None:
        """A dangerous call is not allowed by Enter alone."""
        if self._request.risk.level == "dangerous":
            answers = self.query_one("#answers", OptionList)
            answers.highlighted = answers.get_option_index("deny")

    def on_resize(self) -> None:
        """What is asked about takes the room that heading and answers leave: no answer is out of sight."""
        self.call_after_refresh(self._fit)

    @property
    def unsent(self) -> str:
        return self.query_one("#reason", Input).value

    def focus_first(self) -> None:
        name = "#reason" if self.explaining else "#view" if self.reviewing else "#answers"
        self.query_one(name).focus()

    def watch_reviewing(self, reviewing: bool) -> None:  # noqa: FBT001 - Textual's own way to call it
        hint = _REVIEW_HINT if reviewing else _DIFF_HINT if self._has_two_sides else _HINT
        self.query_one("#dialog").border_subtitle = hint
        self.call_after_refresh(self._fit)

    def action_once(self) -> None:
        refused = self._review.refused if self._review else {}
        if refused:
            self.answer(Partly(tuple(RefusedHunk(number, refused[number]) for number in sorted(refused))))
        else:
            self.answer(Once())

    def action_session(self) -> None:
        self.answer(Session())

    def action_always(self) -> None:
        self.answer(Always())

    def action_deny(self) -> None:
        self.answer(Denied())

    def action_back(self) -> None:
        if self.explaining:
            self.explaining = False
            self.focus_first()
        elif self.reviewing:
            self._leave_review()
        else:
            self.answer(Denied())

    def action_explain(self) -> None:
        self._ask_why(_WHY_NOT)

    def action_review(self) -> None:
        self.reviewing = True
        self.focus_first()

    @work(group="editor", exclusive=True)
    async def action_rewrite(self) -> None:
        from cinch_tui.editor import Edited, EditorFailed, rewrite

        proposed, name = _proposal(self._shown())
        match await rewrite(proposed, name, self._editor, self.give_away):
            case EditorFailed(reason, _):
                self.notify(reason, severity="error", markup=False)
            case Edited(text) if (text := self._cleaned(text)) and text != proposed:
                self.answer(Reworded(text))
            case _:
                self.notify("Nothing was changed.", markup=False)

    def action_split(self) -> None:
        self.query_one(ViewPane).toggle_split()

    def action_unfold(self) -> None:
        self.query_one(ViewPane).toggle_fold()

    def action_scroll(self, where: str) -> None:
        self.query_one(ViewPane).page(where)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        offered = {
            "session": self._request.can_trust and not self._is_partial,
            "always": bool(self._request.rule) and not self._is_partial,
            "review": self._review is not None,
            "rewrite": self._request.is_revisable,
            "split": self._has_two_sides,
            "unfold": self._has_two_sides,
        }
        return offered.get(action, True) and super().check_action(action, parameters)

    @on(OptionList.OptionSelected, "#answers")
    async def take_selected(self, event: OptionList.OptionSelected) -> None:
        if event.option_id:
            await self.run_action(event.option_id)

    @on(Input.Submitted, "#reason")
    def take_reason(self, event: Input.Submitted) -> None:
        reason = event.value.strip()
        if not (self.reviewing and self._review):
            self.answer(Denied(reason))
            return
        event.input.clear()
        self._review.refuse(reason)
        self.explaining = False
        self.focus_first()

    @on(ReviewPane.Entered)
    def begin_review(self) -> None:
        self.reviewing = True

    @on(ReviewPane.Changed)
    def show_choice(self) -> None:
        """The answers say how much is taken."""
        answers = self.query_one("#answers", OptionList)
        answers.clear_options()
        answers.add_options(self._answers())
        answers.highlighted = 0

    @on(ReviewPane.Explain)
    def ask_about_hunk(self) -> None:
        self._ask_why(_WHY_NOT_THIS)

    @on(ReviewPane.Finished)
    def finish_review(self) -> None:
        self._leave_review()

    def _fit(self) -> None:
        told = sum(self.query_one(name).size.height for name in ("#heading", "#why"))
        answers = 1 if self.reviewing else self.query_one("#answers", OptionList).option_count
        room = max(LEAST, self.size.height - FRAME - told - answers)
        self.query_one("#view").styles.max_height = None if self.has_class("-short") else room

    @property
    def _is_diff(self) -> bool:
        return isinstance(self._request.view, DiffView)

    @property
    def _has_two_sides(self) -> bool:
        view = self._request.view
        return isinstance(view, DiffView) and view.old is not None and view.new is not None

    @property
    def _is_partial(self) -> bool:
        return self._review is not None and bool(self._review.refused)

    def _leave_review(self) -> None:
        self.reviewing = False
        self.focus_first()

    def _ask_why(self, hint: str) -> None:
        self.query_one("#reason", Input).placeholder = hint
        self.explaining = True
        self.focus_first()

    def _cleaned(self, text: str) -> str:
        """What an editor adds at the end of a command is no part of it."""
        return text if self._is_diff else text.rstrip()

    def _pane(self) -> ViewPane:
        view = self._shown()
        if self._review and isinstance(view, DiffView):
            return ReviewPane(view, self._review, id="view")
        return ViewPane(view, id="view")

    def _heading(self) -> Content:
        view = self._request.view
        label = Content.styled(one_line(self._request.label), "bold")
        if self._request.is_reworded:
            label = label.append("  as you changed it")
        if isinstance(view, TerminalView):
            return label  # the whole command stands below
        heading = label.append(f"  {one_line(self._request.summary)}")
        if not isinstance(view, DiffView):
            return heading
        added, removed = diff_stat(view)
        kind = "new file " if view.old is None else "deleted " if view.new is None else ""
        return heading.append_text(f"  {kind}+{added} −{removed}", "bold")

    def _why(self) -> Content:
        risk = self._request.risk
        reason = f": {one_line(risk.reason)}" if risk.reason else ""
        return Content(f"{_RISKS[risk.level]}{reason} · in {one_line(str(self._request.cwd))}")

    def _shown(self) -> View:
        if self._request.view is not None:
            return self._request.view
        return TextView(json.dumps(self._request.call.arguments, indent=2, ensure_ascii=False), "json")

    def _answers(self) -> list[Option]:
        request, review = self._request, self._review
        yes = f"Yes, {review.taken} of {review.count} changes" if review and self._is_partial else "Yes, once"
        answers = [("y", "once", yes)]
        if request.can_trust and not self._is_partial:
            answers.append(("s", "session", "Yes, and trust it this session"))
        if request.rule and not self._is_partial:
            answers.append(("a", "always", f"Yes, and always allow {one_line(request.rule)} here"))
        # Yes and no are seen in the smallest terminal.
        answers += [("n", "deny", "No"), ("d", "explain", "No, and say why")]
        if review:
            answers.append(("h", "review", f"Choose among the {review.count} changes"))
        if request.is_revisable:
            answers.append(("e", "rewrite", "Change it in your editor, then decide"))
        return [Option(Content.assemble((key, "bold"), f"  {label}"), id=action) for key, action, label in answers]


def _review_of(request: ApprovalRequest) -> Review | None:
    """Where there is only one change, yes and no are enough."""
    if not (request.is_revisable and isinstance(request.view, DiffView)):
        return None
    count = len(hunks_of(request.view))
    return Review(count) if count > 1 else None


def _proposal(view: View) -> tuple[str, str]:
    """What of a view can be changed, and what to call the file it is changed in."""
    match view:
        case DiffView(path=path, new=new):
            return new or "", PurePath(path).name or "proposal.txt"
        case TerminalView(command=command):
            return command, "command.sh"
        case _:
            return "", "proposal.txt"
