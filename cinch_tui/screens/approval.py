"""Approval dialog: preview of a call, reason for asking, and the answers."""

from __future__ import annotations

import json
from functools import partialmethod

from msgspec.structs import replace
from textual import on, work
from textual.app import ComposeResult
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, Static

from cinch_tui.keybindings.keymap import bindings, hint, label_of
from cinch_tui.rendering.diff import diff_stat
from cinch_tui.rendering.safe_text import one_line, reveal
from cinch_tui.screens.dialog import CONVERSATION_HINT, GRACE, DockedDialog, stylesheets
from cinch_tui.user_dialogs.approval_options import AnswerOption, PendingCalls, offered_rules, proposal_in, reason_text
from cinch_tui.widgets.answer_bar import AnswerBar
from cinch_tui.widgets.view_pane import ReviewPane, ViewPane
from harness.approval.patterns import host_of
from harness.user_requests import (
    AllowAlways,
    AllowForSession,
    Approval,
    ApprovalDecision,
    ApprovalRequest,
    Denied,
    ProposeRevision,
)
from harness.views import DiffView, TerminalView, TextView, View

MIN_ROWS = 2
"""Minimum number of lines of the call that stay visible."""
ONE_LINE = 60
"""Maximum number of characters of arguments that are shown on one line."""

_HINT = ("approval.page_up approval.page_down scroll", CONVERSATION_HINT, "approval.back denies")
_DIFF_HINT = ("approval.split side by side", "approval.unfold unfold", *_HINT)
_REVIEW_HINT = (
    "review.take take",
    "review.leave skip",
    "review.explain skip with reason",
    "review.all all",
    "review.none none",
    "review.finish done",
)
_WRITING_HINT = ("Enter sends", "approval.back goes back")
_WRITING_HINT_OF_ONE = ("Enter saves", "approval.back goes back")
_WHY_NOT = "reason for denying: Enter sends, {back} goes back"
_WHY_SKIP = "reason for skipping change {number}: Enter saves, {back} goes back"
_SOMETIMES = ("session", "always", "server", "exactly", "allow_all", "allow_tool", "deny_all", "review", "rewrite")


class ApprovalScreen(DockedDialog[Approval]):
    """Asks for approval of one call. Esc and `n` deny it, `d` denies with a reason for the model.

    A call can be allowed only after it was shown to its end. If other calls of the reply are pending, ← and → switch
    between them, and the answer applies to the visible one.

    Args:
        request: the call.
        grace: seconds during which keys go to the prompt.
        editor: command to edit the proposal; empty: the default editor.
    """

    CSS_PATH = stylesheets("docked", "approval")
    SCROLLED = "#view"
    BINDINGS = bindings("approval")

    explaining = var(default=False, toggle_class="-explaining")
    reviewing = var(default=False, toggle_class="-reviewing")

    def __init__(self, request: ApprovalRequest, *, grace: float = GRACE, editor: str = "") -> None:
        super().__init__(grace=grace, editor=editor)
        self._calls = PendingCalls(request)

    @property
    def key_hints(self) -> tuple[str, ...]:
        if self.explaining:
            return _WRITING_HINT_OF_ONE if self.reviewing else _WRITING_HINT
        if self.reviewing:
            return _REVIEW_HINT
        return _DIFF_HINT if self._has_two_sides else _HINT

    def compose_content(self) -> ComposeResult:
        yield Static(self._others(), id="others", markup=False)
        yield Static(self._heading(), id="heading", markup=False)
        yield Static(self._why(), id="why", classes=self._danger, markup=False)
        yield self._pane()
        yield Static("", id="unseen", markup=False)
        yield AnswerBar(self._options(), id="answers")
        yield Input(id="reason", compact=True, select_on_focus=False)

    def opened(self) -> None:
        """Highlight the safe answer: Enter alone must not allow a dangerous call."""
        self.query_one("#dialog").set_class(self._request.total > 1, "-batch")
        self.query_one("#answers", AnswerBar).highlight("deny" if self._danger else "once")

    def on_resize(self) -> None:
        """Limit the height of the call, so that all answers stay visible."""
        self.call_after_refresh(self._fit)

    @property
    def unsent_text(self) -> str:
        return self.query_one("#reason", Input).value

    def focus_first(self) -> None:
        name = "#reason" if self.explaining else "#view" if self.reviewing else "#answers"
        self.query_one(name).focus()

    def watch_reviewing(self) -> None:
        self.show_keys()
        self.call_after_refresh(self._fit)

    def watch_explaining(self) -> None:
        self.show_keys()

    def _allow(self, approval: ApprovalDecision) -> None:
        """Allow the visible call if its end was visible."""
        self.show_unseen()
        if self._calls.shown.is_seen:
            self._decide(approval)

    action_session = partialmethod(_allow, AllowForSession())
    action_always = partialmethod(_allow, AllowAlways())
    action_exactly = partialmethod(_allow, AllowAlways(exact=True))
    action_server = partialmethod(_allow, AllowAlways(server=True))

    def action_once(self) -> None:
        self._allow(self._calls.shown.approval)

    def action_allow_tool(self) -> None:
        self._allow_together(self._request.call.name)

    def action_deny_all(self) -> None:
        self.answer(self._calls.denied())

    async def action_go(self, step: int) -> None:
        """Show another pending call."""
        if self._answered:
            return
        self._calls.show_next(step)
        # Update the answers first: an answer must match the visible call.
        self.show_choice()
        self.opened()
        dialog = self.query_one("#dialog")
        self.show_keys()
        self.query_one("#others", Static).update(self._others())
        self.query_one("#heading", Static).update(self._heading())
        reason = self.query_one("#why", Static)
        reason.update(self._why())
        reason.set_class(bool(self._danger), "-dangerous")
        await self.query_one("#view").remove()
        if self._answered:
            return
        await dialog.mount(self._pane(), after="#why")
        self.focus_first()
        self.call_after_refresh(self._fit)

    def action_back(self) -> None:
        if self.explaining:
            self.explaining = False
            self.focus_first()
        elif self.reviewing:
            self.leave_review()
        else:
            self.action_deny()

    def action_review(self) -> None:
        self.reviewing = True
        self.focus_first()

    @work(group="editor", exclusive=True)
    async def action_rewrite(self) -> None:
        if text := self.edit_text(*proposal_in(self._shown())):
            self._decide(ProposeRevision(text))

    def action_split(self) -> None:
        self.query_one(ViewPane).toggle_split()

    def action_unfold(self) -> None:
        self.query_one(ViewPane).toggle_fold()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        answers = {each.action for each in self._calls.answers()}
        offered = {
            **{name: name in answers for name in _SOMETIMES},
            "go": len(self._calls) > 1 and not (self.reviewing or self.explaining),
            "split": self._has_two_sides,
            "unfold": self._has_two_sides,
        }
        return offered.get(action, True) and super().check_action(action, parameters)

    @on(ViewPane.Moved)
    def show_unseen(self) -> None:
        """Record that the end of the call was visible, or show how many lines are not."""
        panes = self.query(ViewPane)
        below = panes.first().lines_below(self._rows_for_call) if panes else None
        self._calls.shown.is_seen |= below == 0
        self._show_requirement(f"↓ {below:,} more line{'s' * (below != 1)}: scroll to allow" if below else "")

    @on(Input.Submitted, "#reason")
    def take_reason(self, event: Input.Submitted) -> None:
        reason = event.value.strip()
        event.input.clear()
        if not (self.reviewing and self._calls.shown.review):
            self._decide(Denied(reason))
            return
        self._calls.shown.review.reject(reason)
        self._calls.shown.review.go(1)
        self.explaining = False
        self.focus_first()

    @on(ReviewPane.Entered)
    def begin_review(self) -> None:
        self.reviewing = True

    @on(ReviewPane.Changed)
    def show_choice(self) -> None:
        """Update the number of accepted hunks in the answers."""
        self.query_one("#answers", AnswerBar).show(self._options())

    @on(ReviewPane.Explain)
    def ask_about_hunk(self) -> None:
        review = self._calls.shown.review
        self._ask_reason(_WHY_SKIP, review.current + 1 if review else 1)

    def _fit(self) -> None:
        """Limit the call to the remaining rows."""
        self.query_one("#why", Static).update(self._why())
        # It is missing for a moment while another call is shown.
        for view in self.query("#view"):
            view.styles.max_height = self._rows_for_call

    @property
    def _rows_for_call(self) -> int:
        names = ("#others", "#heading", "#why", "#unseen", "#reason", "#answers")
        taken = sum(part.outer_size.height for name in names if (part := self.query_one(name)).display)
        margin = sum(view.styles.margin.height for view in self.query("#view"))
        return max(MIN_ROWS, self.max_rows - self.query_one("#dialog").gutter.height - taken - margin)

    @property
    def _request(self) -> ApprovalRequest:
        return self._calls.shown.request

    @property
    def _danger(self) -> str | None:
        return "-dangerous" if self._request.risk.level == "dangerous" else None

    @property
    def _has_two_sides(self) -> bool:
        view = self._request.view
        return isinstance(view, DiffView) and view.old is not None and view.new is not None

    def _decide(self, approval: ApprovalDecision) -> None:
        """Answer the visible call."""
        self.answer(self._calls.approval_of(approval))

    action_deny = partialmethod(_decide, Denied())

    def _allow_together(self, tool: str) -> None:
        """Allow several calls at once if each was shown."""
        self.show_unseen()
        others = self.query_one("#others")
        unseen = self._calls.unseen(0 if self.has_class("-short") else others.size.width, tool)
        if not unseen:
            self.answer(self._calls.allowed(tool))
        elif self._calls.shown.is_seen:
            calls = "1 call" if unseen == 1 else f"{unseen} calls"
            self._show_requirement(hint(f"{calls} not shown in full yet: approval.next shows the next"))

    action_allow_all = partialmethod(_allow_together, "")

    def _show_requirement(self, text: str) -> None:
        """Show what must be viewed before the call can be allowed."""
        line = self.query_one("#unseen", Static)
        if line.display != bool(text):
            line.display = bool(text)
            self.call_after_refresh(self._fit)
        line.update(text)

    def _others(self) -> str:
        return "\n".join(self._calls.lines())

    @on(ReviewPane.Finished)
    def leave_review(self) -> None:
        self.reviewing = False
        self.focus_first()

    def _ask_reason(self, template: str, number: int = 0) -> None:
        placeholder = template.format(back=label_of("approval.back"), number=number)
        self.query_one("#reason", Input).placeholder = placeholder
        self.explaining = True
        self.focus_first()

    action_explain = partialmethod(_ask_reason, _WHY_NOT)

    def _pane(self) -> ViewPane:
        view = _in_full(self._shown())
        if self._calls.shown.review and isinstance(view, DiffView):
            return ReviewPane(view, self._calls.shown.review, id="view")
        return ViewPane(view, id="view")

    def _heading(self) -> Content:
        view = self._request.view
        label = Content.styled(one_line(self._request.label), "bold")
        if self._request.is_revised:
            label = label.append("  (edited by you)")
        if isinstance(view, TerminalView):
            return label  # the command is shown below
        if self._request.risk.is_remote and (host := host_of(self._request.risk.subject)):
            # A URL can be made to look like that of another host; it is shown below.
            return label.append("  ").append_text(one_line(host), "bold underline")
        heading = label.append(f"  {one_line(self._request.summary)}")
        if not isinstance(view, DiffView):
            return heading
        added, removed = diff_stat(view)
        kind = "new file " if view.old is None else "deleted " if view.new is None else ""
        return heading.append_text(f"  {kind}+{added} −{removed}", "bold")

    def _why(self) -> Content:
        """Return the reason, with the rules that answers add unless these name them."""
        text = reason_text(self._request, " · ")
        shortened = frozenset[str]().union(*(each.shortened() for each in self.query(AnswerBar)))
        keys = [label_of(f"approval.{action}") for action in ("session", "always") if action in shortened]
        if keys:
            text = f"{text}\n{' and '.join(keys)}: allow {offered_rules(self._request)}"
        return Content(text)

    def _shown(self) -> View:
        if self._request.view is not None:
            return self._request.view
        arguments = self._request.call.arguments
        text = json.dumps(arguments, ensure_ascii=False)
        return TextView(text if len(text) <= ONE_LINE else json.dumps(arguments, indent=2, ensure_ascii=False), "json")

    def _options(self) -> list[AnswerOption]:
        return [replace(each, key=label_of(f"approval.{each.action}")) for each in self._calls.answers()]


def _in_full(view: View) -> View:
    """Return the view with long blanks and lines revealed; diffs already are."""
    match view:
        case TerminalView(command=command):
            return replace(view, command=reveal(command))
        case TextView(text=text):
            return replace(view, text=reveal(text))
        case _:
            return view
