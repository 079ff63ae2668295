"""Notifications while the user is away: pending questions and the end of long runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from cinch_tui.config.options import Options
from cinch_tui.config.tables.ui import UiSettings
from cinch_tui.notifications.channels import Notification, show_on_desktop, terminal_output
from cinch_tui.notifications.presence import Presence
from harness import events

PLAN = "the plan"
APPROVE, QUESTION, REVIEW, INPUT = "needs approval", "has a question", "plan ready for review", "needs input"


class Notifications:
    """Subscribe `receive` to an agent's event bus.

    Args:
        presence: presence of the user.
        call: shows a notification.
        after: minimum duration, in seconds, of a run whose end is notified.
        clock: monotonic time.
    """

    def __init__(
        self, presence: Presence, call: Callable[[str], None], after: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._presence = presence
        self._call = call
        self._after = after
        self._clock = clock
        self._began = 0.0
        self._waiting: dict[str, str] = {}
        self._later: asyncio.TimerHandle | None = None

    def receive(self, event: events.Event) -> None:
        match event:
            case events.AgentStart():
                self._began = self._clock()
            case events.AgentEnd():
                self._ended(event)
            case _:
                self._track_question(event)

    def _track_question(self, event: events.Event) -> None:
        match event:
            case events.SubagentEvent(event=inner):
                self._track_question(inner)
            case events.ToolApprovalRequested(call=call):
                self._waits(call.id, APPROVE)
            case events.QuestionAsked(call_id=call_id):
                self._waits(call_id, QUESTION)
            case events.JobInputRequested(job_id=job_id) if self._presence.is_away:
                self._call(f"{job_id} {INPUT}")
            case events.PlanSubmitted():
                self._waits(PLAN, REVIEW)
            case events.ToolApprovalResolved(call_id=call_id) | events.QuestionAnswered(call_id=call_id):
                self._waiting.pop(call_id, None)
            case events.ToolExecutionEnd(result=result) if result.tool_name == "submit_plan":
                self._waiting.pop(PLAN, None)
            case _:
                pass

    def _waits(self, name: str, text: str) -> None:
        """Notify for the first pending request only."""
        is_first = not self._waiting
        self._waiting[name] = text
        if not is_first:
            return
        if self._presence.is_away:
            self._call(text)
        elif self._presence.is_looking is None:
            # Without focus reports, the user counts as away if they do not answer in time.
            self._look_later()

    def _look_later(self) -> None:
        if self._later:
            self._later.cancel()
        self._later = asyncio.get_running_loop().call_later(max(0.1, self._presence.idle_in), self.look_again)

    def look_again(self) -> None:
        """Notify if the user left without an answer."""
        self._later = None
        if not self._waiting:
            return
        if self._presence.is_away:
            self._call(next(iter(self._waiting.values())))
        elif self._presence.is_looking is None:
            self._look_later()

    def _ended(self, event: events.AgentEnd) -> None:
        self._waiting.clear()
        took = self._clock() - self._began
        if event.stop_reason == "aborted" or took < self._after or not self._presence.is_away:
            return
        ending = "failed" if event.stop_reason == "error" else "stopped by a limit" if event.limit else "finished"
        self._call(f"{ending} after {_in_words(took)}")


def _in_words(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def notification_handler(
    write: Callable[[str], None], presence: Presence, options: Options, ui: UiSettings
) -> Callable[[events.Event], None]:
    """Return the event handler that notifies the user of this session; `write` sends a sequence to the terminal."""

    def notify(text: str) -> None:
        notification = Notification.about(options.cwd.name, text)
        if sequence := terminal_output(ui.notify, notification, options.environ):
            write(sequence)
        if "desktop" in ui.notify and "off" not in ui.notify:
            show_on_desktop(notification)

    return Notifications(presence, notify, ui.notify_after_s).receive
