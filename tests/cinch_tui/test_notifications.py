from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from cinch_tui.notifications.notifications import APPROVE, QUESTION, REVIEW, Notifications
from cinch_tui.notifications.presence import COMPOSING, IDLE, Presence
from harness.events import (
    AgentEnd,
    AgentStart,
    Event,
    PlanSubmitted,
    QuestionAnswered,
    QuestionAsked,
    SubagentEvent,
    ToolApprovalRequested,
    ToolApprovalResolved,
)
from harness.messages import ToolCall
from harness.user_requests import Answer, Question

APPROVAL = ToolApprovalRequested(call=ToolCall("1", "bash", {}), reason="")
ASKED = QuestionAsked(call_id="2", question=Question("the secret?"))


@dataclass
class Scene:
    """Someone at a terminal, whose time stands still until it is moved."""

    now: float = 100.0
    called: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.presence = Presence(lambda: self.now)
        self.attention = Notifications(self.presence, self.called.append, 10.0, lambda: self.now)

    def hear(self, *events: Event) -> None:
        for event in events:
            self.attention.receive(event)

    def run(self, seconds: float, end: AgentEnd) -> None:
        self.hear(AgentStart())
        self.now += seconds
        self.hear(end)


@pytest.fixture
def away() -> Scene:
    scene = Scene()
    scene.presence.is_looking = False
    return scene


@pytest.mark.parametrize(
    ("event", "words"), [(APPROVAL, APPROVE), (ASKED, QUESTION), (PlanSubmitted(plan="x"), REVIEW)]
)
def test_an_unfocused_terminal_is_notified_when_something_waits(away: Scene, event: Event, words: str):
    away.hear(event)

    assert away.called == [words]


@pytest.mark.parametrize("event", [APPROVAL, ASKED, PlanSubmitted(plan="x")])
def test_a_focused_terminal_is_not_notified(event: Event):
    scene = Scene()
    scene.presence.is_looking = True

    scene.hear(event)
    scene.run(60, AgentEnd(stop_reason="stop"))

    assert scene.called == []


def test_a_subagent_calls_too_and_its_end_is_not_the_end(away: Scene):
    away.hear(AgentStart())
    away.hear(SubagentEvent(call_id="9", event=AgentStart()))
    away.hear(SubagentEvent(call_id="9", event=APPROVAL))
    away.now += 60
    away.hear(SubagentEvent(call_id="9", event=AgentEnd(stop_reason="stop")))

    assert away.called == [APPROVE]


def test_one_call_is_enough_for_all_that_waits(away: Scene):
    away.hear(APPROVAL, ASKED)
    away.hear(
        ToolApprovalResolved(call_id="1", decision="once"), QuestionAnswered(call_id="2", answer=Answer("skipped"))
    )
    away.hear(APPROVAL)

    assert away.called == [APPROVE, APPROVE]


@pytest.mark.parametrize(
    ("seconds", "end", "called"),
    [
        (9, AgentEnd(stop_reason="stop"), []),
        (12, AgentEnd(stop_reason="stop"), ["finished after 12 s"]),
        (75, AgentEnd(stop_reason="error", error="no such key: sk-x"), ["failed after 1 min 15 s"]),
        (75, AgentEnd(stop_reason="stop", limit="turns"), ["stopped by a limit after 1 min 15 s"]),
        (75, AgentEnd(stop_reason="aborted"), []),
    ],
)
def test_the_end_of_a_long_run_is_notified(away: Scene, seconds: float, end: AgentEnd, called: list[str]):
    away.run(seconds, end)

    assert away.called == called


def test_without_focus_reports_keys_show_the_focus():
    scene = Scene()

    assert scene.presence.is_away
    scene.presence.typed()
    assert scene.presence.is_composing
    assert not scene.presence.is_away
    scene.now += COMPOSING
    assert not scene.presence.is_composing
    scene.now += IDLE
    assert scene.presence.is_away


def test_a_key_shows_that_the_user_is_back(away: Scene):
    away.presence.typed()

    assert not away.presence.is_away


@pytest.mark.parametrize("answered", [False, True])
async def test_a_user_who_typed_is_notified_once_after_leaving_unless_they_answered(answered: bool):
    scene = Scene()
    scene.presence.typed()
    scene.hear(APPROVAL)
    assert scene.called == []

    if answered:
        scene.hear(ToolApprovalResolved(call_id="1", decision="once"))
    scene.now += IDLE
    scene.attention.look_again()

    assert scene.called == ([] if answered else [APPROVE])
