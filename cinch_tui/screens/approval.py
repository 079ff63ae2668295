"""The question before a call runs: what it will do, why it asks, and every answer a person may give."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from cinch_tui.asking.call_words import why
from cinch_tui.asking.waiting_calls import WaitingCalls
from cinch_tui.keys.keymap import bindings, hint, label_of
from cinch_tui.rendering.diff import diff_stat
from cinch_tui.screens.dialog import GRACE, Dialog, stylesheets
from cinch_tui.transcript.plain import one_line
from cinch_tui.widgets.diff_view import ViewPane
from cinch_tui.widgets.review_pane import ReviewPane
from harness.person import (
    Always,
    Approval,
    ApprovalRequest,
    Denied,
    OneApproval,
    Reworded,
    Session,
)
from harness.views import DiffView, TerminalView, TextView, View

FRAME = 4
LEAST = 4
"""Lines of what is asked about that are seen whatever else there is to say."""
MOST_ANSWERS = 12

_HINT = ("approval.page_up approval.page_down scroll", "approval.back denies")
_DIFF_HINT = ("approval.split side by side", "approval.unfold unfold", *_HINT)
_REVIEW_HINT = (
    "review.take take",
    "review.leave leave out",
    "review.explain say why",
    "review.all all",
    "review.none none",
    "review.finish done",
)
_WRITING_HINT = ("Enter sends", "approval.back goes back")
_WRITING_HINT_OF_ONE = ("Enter keeps it", "approval.back goes back")
_WHY_NOT = "why not? Enter sends, {back} goes back"
_WHY_NOT_THIS = "why not change {number}? Enter keeps it, {back} goes back"


class ApprovalScreen(Dialog[Approval]):
    """Asks about one call. Esc and `n` deny it, `d` denies with a reason for the model.

    Where other calls of the reply wait too, ← and → go through them: what is answered is the one that is shown.
    `editor` is the command with which the person changes what is proposed; empty for the usual one.
    """

    CSS_PATH = stylesheets("approval")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("approval")]

    explaining = var(default=False, toggle_class="-explaining")
    reviewing = var(default=False, toggle_class="-reviewing")

    def __init__(self, request: ApprovalRequest, *, grace: float = GRACE, editor: str = "") -> None:
        super().__init__(grace=grace)
        self._editor = editor
        self._calls = WaitingCalls(request)

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog") as dialog:
            dialog.border_subtitle = self._hint
            dialog.set_class(self._is_diff, "-diff").set_class(self._request.total > 1, "-batch")
            yield Static(self._others(), id="others", markup=False)
            yield Static(self._heading(), id="heading", markup=False)
            yield Static(self._why(), id="why", classes=self._danger, markup=False)
            yield self._pane()
            yield OptionList(*self._options(), id="answers", markup=False, compact=True)
            yield Input(id="reason", compact=True, select_on_focus=False)

    def opened(self) -> None:
        """A dangerous call is not allowed by Enter alone."""
        answers = self.query_one("#answers", OptionList)
        answers.highlighted = answers.get_option_index("deny") if self._danger else 0

    def on_resize(self) -> None:
        """What is asked about takes the room that heading and answers leave: no answer is out of sight."""
        self.call_after_refresh(self._fit)

    @property
    def unsent(self) -> str:
        return self.query_one("#reason", Input).value

    @property
    def unheard(self) -> str:
        return self.unsent

    def focus_first(self) -> None:
        name = "#reason" if self.explaining else "#view" if self.reviewing else "#answers"
        self.query_one(name).focus()

    def watch_reviewing(self) -> None:
        self._show_hint()
        self.call_after_refresh(self._fit)

    def watch_explaining(self) -> None:
        self._show_hint()

    def _show_hint(self) -> None:
        # It is told of its state before it has its parts.
        for dialog in self.query("#dialog"):
            dialog.border_subtitle = self._hint

    def action_once(self) -> None:
        self._say(self._calls.shown.yes)

    def action_session(self) -> None:
        self._say(Session())

    def action_always(self) -> None:
        self._say(Always())

    def action_exactly(self) -> None:
        self._say(Always(exact=True))

    def action_deny(self) -> None:
        self._say(Denied())

    def action_allow_all(self) -> None:
        self.answer(self._calls.allowed())

    def action_allow_tool(self) -> None:
        self.answer(self._calls.allowed(self._request.call.name))

    def action_deny_all(self) -> None:
        self.answer(self._calls.denied())

    async def action_go(self, step: int) -> None:
        """Show another of the calls that wait."""
        if self._answered:
            return
        self._calls.go(step)
        # Before anything else may happen: an answer is to what is shown.
        self.show_choice()
        self.opened()
        dialog = self.query_one("#dialog")
        dialog.set_class(self._is_diff, "-diff")
        self._show_hint()
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
            self._leave_review()
        else:
            self._say(Denied())

    def action_explain(self) -> None:
        self._ask_why(_WHY_NOT)

    def action_review(self) -> None:
        self.reviewing = True
        self.focus_first()

    @work(group="editor", exclusive=True)
    async def action_rewrite(self) -> None:
        from cinch_tui.terminal.editor import Edited, EditorFailed, rewrite

        proposed, name = _proposal(self._shown())
        match await rewrite(proposed, name, self._editor, self.give_away):
            case EditorFailed(reason, _):
                self.notify(reason, severity="error", markup=False)
            case Edited(text) if (text := self._cleaned(text)) and text != proposed:
                self._say(Reworded(text))
            case _:
                self.notify("Nothing was changed.", markup=False)

    def action_split(self) -> None:
        self.query_one(ViewPane).toggle_split()

    def action_unfold(self) -> None:
        self.query_one(ViewPane).toggle_fold()

    def action_scroll(self, where: str) -> None:
        self.query_one(ViewPane).page(where)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        answers = {name for _, name, _ in self._calls.answers()}
        offered = {
            **{name: name in answers for name in _SOMETIMES},
            "go": len(self._calls) > 1 and not (self.reviewing or self.explaining),
            "split": self._has_two_sides,
            "unfold": self._has_two_sides,
        }
        return offered.get(action, True) and super().check_action(action, parameters)

    @on(OptionList.OptionSelected, "#answers")
    async def take_selected(self, event: OptionList.OptionSelected) -> None:
        # One that was chosen of another call is not offered any more.
        if event.option_id and event.option in event.option_list.options:
            await self.run_action(event.option_id)

    @on(Input.Submitted, "#reason")
    def take_reason(self, event: Input.Submitted) -> None:
        reason = event.value.strip()
        event.input.clear()
        if not (self.reviewing and self._calls.shown.review):
            self._say(Denied(reason))
            return
        self._calls.shown.review.refuse(reason)
        self._calls.shown.review.go(1)
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
        answers.add_options(self._options())
        answers.highlighted = 0

    @on(ReviewPane.Explain)
    def ask_about_hunk(self) -> None:
        review = self._calls.shown.review
        self._ask_why(_WHY_NOT_THIS, review.at + 1 if review else 1)

    @on(ReviewPane.Finished)
    def finish_review(self) -> None:
        self._leave_review()

    def _fit(self) -> None:
        told = sum(self.query_one(name).size.height for name in ("#others", "#heading", "#why"))
        room = self.size.height - FRAME - told
        answers = self.query_one("#answers", OptionList)
        most = max(LEAST, min(answers.option_count, MOST_ANSWERS, room - LEAST))
        is_short = self.has_class("-short")
        answers.styles.max_height = None if is_short else most
        rest = max(LEAST, room - (1 if self.reviewing else most))
        # For a moment there is none, while another call is shown.
        for view in self.query("#view"):
            view.styles.max_height = None if is_short else rest

    @property
    def _request(self) -> ApprovalRequest:
        return self._calls.shown.request

    @property
    def _danger(self) -> str | None:
        return "-dangerous" if self._request.risk.level == "dangerous" else None

    @property
    def _hint(self) -> str:
        if self.explaining:
            return hint(*(_WRITING_HINT_OF_ONE if self.reviewing else _WRITING_HINT))
        if self.reviewing:
            return hint(*_REVIEW_HINT)
        return hint(*(_DIFF_HINT if self._has_two_sides else _HINT))

    @property
    def _is_diff(self) -> bool:
        return isinstance(self._request.view, DiffView)

    @property
    def _has_two_sides(self) -> bool:
        view = self._request.view
        return isinstance(view, DiffView) and view.old is not None and view.new is not None

    def _say(self, approval: OneApproval) -> None:
        """Answer what is shown."""
        self.answer(self._calls.said(approval))

    def _others(self) -> str:
        return "\n".join(self._calls.lines())

    def _leave_review(self) -> None:
        self.reviewing = False
        self.focus_first()

    def _ask_why(self, words: str, number: int = 0) -> None:
        told = words.format(back=label_of("approval.back"), number=number)
        self.query_one("#reason", Input).placeholder = told
        self.explaining = True
        self.focus_first()

    def _cleaned(self, text: str) -> str:
        """What an editor adds at the end of a command is no part of it."""
        return text if self._is_diff else text.rstrip()

    def _pane(self) -> ViewPane:
        view = self._shown()
        if self._calls.shown.review and isinstance(view, DiffView):
            return ReviewPane(view, self._calls.shown.review, id="view")
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
        return Content(why(self._request, " · "))

    def _shown(self) -> View:
        if self._request.view is not None:
            return self._request.view
        return TextView(json.dumps(self._request.call.arguments, indent=2, ensure_ascii=False), "json")

    def _options(self) -> list[Option]:
        return [
            Option(Content.assemble((label_of(f"approval.{action}"), "bold"), f"  {words}"), id=action)
            for _, action, words in self._calls.answers()
        ]


_SOMETIMES = ("session", "always", "exactly", "allow_all", "allow_tool", "deny_all", "review", "rewrite")


def _proposal(view: View) -> tuple[str, str]:
    """What of a view can be changed, and what to call the file it is changed in."""
    match view:
        case DiffView(path=path, new=new):
            return new or "", PurePath(path).name or "proposal.txt"
        case TerminalView(command=command):
            return command, "command.sh"
        case _:
            return "", "proposal.txt"
