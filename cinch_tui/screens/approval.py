"""The question before a call runs: what it will do, why it asks, and every answer a person may give."""

from __future__ import annotations

import json
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from cinch_tui.rendering.diff import diff_stat
from cinch_tui.screens.dialog import GRACE, Dialog, stylesheets
from cinch_tui.transcript.plain import one_line
from cinch_tui.widgets.diff_view import ViewPane
from harness.person import Always, Approval, ApprovalRequest, Denied, Once, Session
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


class ApprovalScreen(Dialog[Approval]):
    """Asks about one call. Esc and `n` deny it, `d` denies with a reason for the model."""

    CSS_PATH = stylesheets("approval")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "once", "Allow once", id="approval.once"),
        Binding("s", "session", "Allow for this session", id="approval.session"),
        Binding("a", "always", "Allow always here", id="approval.always"),
        Binding("n", "deny", "Deny", id="approval.deny"),
        Binding("escape", "back", "Deny", id="approval.back"),
        Binding("d", "explain", "Deny and say why", id="approval.explain"),
        Binding("pageup", "scroll('page_up')", "Page up", priority=True, show=False, id="approval.page-up"),
        Binding("pagedown", "scroll('page_down')", "Page down", priority=True, show=False, id="approval.page-down"),
        Binding("shift+up", "scroll('up')", "Scroll up", priority=True, show=False, id="approval.line-up"),
        Binding("shift+down", "scroll('down')", "Scroll down", priority=True, show=False, id="approval.line-down"),
        Binding("ctrl+home", "scroll('home')", "To the top", priority=True, show=False, id="approval.top"),
        Binding("ctrl+end", "scroll('end')", "To the end", priority=True, show=False, id="approval.end"),
    ]

    explaining = var(default=False, toggle_class="-explaining")

    def __init__(self, request: ApprovalRequest, *, grace: float = GRACE) -> None:
        super().__init__(grace=grace)
        self._request = request

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog") as dialog:
            dialog.border_subtitle = "PgUp PgDn scroll · Esc denies"
            yield Static(self._heading(), id="heading", markup=False)
            yield Static(self._why(), id="why", classes=f"-{self._request.risk.level}", markup=False)
            yield ViewPane(self._shown(), id="view")
            yield OptionList(*self._answers(), id="answers", markup=False, compact=True)
            yield Input(
                placeholder="why not? Enter sends, Esc goes back", id="reason", compact=True, select_on_focus=False
            )

    def opened(self) -> None:
        """A dangerous call is not allowed by Enter alone."""
        if self._request.risk.level == "dangerous":
            answers = self.query_one("#answers", OptionList)
            answers.highlighted = answers.get_option_index("deny")

    @property
    def unsent(self) -> str:
        return self.query_one("#reason", Input).value

    def focus_first(self) -> None:
        self.query_one("#reason" if self.explaining else "#answers").focus()

    def action_once(self) -> None:
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
        else:
            self.answer(Denied())

    def action_explain(self) -> None:
        self.explaining = True
        self.focus_first()

    def action_scroll(self, where: str) -> None:
        pane = self.query_one(ViewPane)
        match where:
            case "page_up":
                pane.scroll_page_up(animate=False)
            case "page_down":
                pane.scroll_page_down(animate=False)
            case "up":
                pane.scroll_up(animate=False)
            case "down":
                pane.scroll_down(animate=False)
            case "home":
                pane.scroll_home(animate=False)
            case _:
                pane.scroll_end(animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "session" and not self._request.can_trust:
            return False
        if action == "always" and not self._request.rule:
            return False
        return super().check_action(action, parameters)

    @on(OptionList.OptionSelected, "#answers")
    async def take_selected(self, event: OptionList.OptionSelected) -> None:
        if event.option_id:
            await self.run_action(event.option_id)

    @on(Input.Submitted, "#reason")
    def deny_with_reason(self, event: Input.Submitted) -> None:
        self.answer(Denied(event.value.strip()))

    def _heading(self) -> Content:
        view = self._request.view
        label = Content.styled(one_line(self._request.label), "bold")
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
        request = self._request
        answers = [("y", "once", "Yes, once")]
        if request.can_trust:
            answers.append(("s", "session", "Yes, and trust it this session"))
        if request.rule:
            answers.append(("a", "always", f"Yes, and always allow {one_line(request.rule)} here"))
        answers += [("n", "deny", "No"), ("d", "explain", "No, and say why")]
        return [Option(Content.assemble((key, "bold"), f"  {label}"), id=action) for key, action, label in answers]
