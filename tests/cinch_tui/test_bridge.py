from __future__ import annotations

from typing import Literal

import pytest
from fakes.chat import until
from fakes.chat_stage import chat_stage

from cinch_tui.transcript.blocks import NoticeBlock
from cinch_tui.transcript.tool_block import ToolBlock
from cinch_tui.transcript.tool_lines import metric
from cinch_tui.widgets.chat_widgets import ChatWidgets
from cinch_tui.widgets.status_bar import parts_of
from harness.events import (
    AgentEnd,
    AgentStart,
    ContextTrimmed,
    Event,
    HookRan,
    MessageEnd,
    MessageStart,
    ModelChanged,
    ModelFallback,
    ModelRouted,
    SubagentEvent,
    ToolApprovalRequested,
    ToolApprovalResolved,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnStart,
)
from harness.messages import ModelSpec, Text, ToolCall, ToolResult, UserMessage, synthetic
from harness.views import TerminalView, TextView, View


def started(name: str) -> ToolExecutionStart:
    return ToolExecutionStart(call=ToolCall("1", name, {}), label=name, summary="it")


def ended(name: str, view: View | None = None) -> ToolExecutionEnd:
    return ToolExecutionEnd(result=ToolResult("1", name, (Text("done"),), view=view))


def panel(widgets: ChatWidgets) -> str:
    return str(widgets.tool_panel.render()).removesuffix("F9 selects").rstrip() if widgets.tool_panel.has_calls else ""


@pytest.mark.parametrize(
    "after", [MessageStart(message_id="m", role="assistant"), AgentEnd(stop_reason="stop")], ids=["reply", "end"]
)
async def test_calls_leave_the_panel_when_the_agent_continues(after: Event):
    app, widgets, bridge = chat_stage()
    async with app.run_test() as pilot:
        for event in (started("grep"), ended("grep")):
            bridge.receive(event)
        await pilot.pause()
        while_it_acts = panel(widgets)

        bridge.receive(after)

        await until(pilot, lambda: not panel(widgets))
        assert while_it_acts == "✓ grep it"


@pytest.mark.parametrize("name", ["ask_user", "submit_plan", "todo"])
async def test_tools_with_their_own_panel_are_not_in_the_tool_panel(name: str):
    app, widgets, bridge = chat_stage()
    async with app.run_test() as pilot:
        bridge.receive(started(name))
        await pilot.pause()

        assert panel(widgets) == ""


async def test_a_subagent_shows_what_it_is_at_in_its_own_call_and_nowhere_else():
    app, widgets, bridge = chat_stage()
    async with app.run_test() as pilot:
        bridge.receive(started("delegate_subagent"))
        for inner in (started("grep"), MessageEnd(message=UserMessage((Text("dig"),))), ended("grep")):
            bridge.receive(SubagentEvent(call_id="1", event=inner))
        bridge.receive(ToolExecutionUpdate(call_id="1", view=TextView("begins\nturn 1: Search TODO")))
        await pilot.pause()

        (block,) = widgets.transcript.blocks
        assert isinstance(block, ToolBlock)
        assert metric(block) == "turn 1: Search TODO"
        assert panel(widgets) == "● delegate_subagent it  turn 1: Search TODO"


async def test_status_bar_counts_the_turns_of_a_run():
    app, widgets, bridge = chat_stage()
    async with app.run_test():
        counted: list[int] = []
        for event in (AgentStart(), TurnStart(), TurnStart(), AgentEnd(stop_reason="stop"), AgentStart(), TurnStart()):
            bridge.receive(event)
            counted.append(widgets.status.status.turn)

        assert counted == [0, 1, 2, 2, 0, 1]
        assert "turn 1" in [part.text for part in parts_of(widgets.status.status, 0.0)]


async def test_questions_of_subagents_show_that_they_wait_for_the_user():
    app, widgets, bridge = chat_stage()
    async with app.run_test():
        asked = SubagentEvent(call_id="2", event=ToolApprovalRequested(call=ToolCall("3", "bash", {}), reason="runs"))
        resolved = SubagentEvent(call_id="2", event=ToolApprovalResolved(call_id="3", decision="once"))

        notes: list[str] = []
        for event in (asked, asked, resolved, resolved):
            bridge.receive(SubagentEvent(call_id="1", event=event))
            notes.append(widgets.status.status.note)

        assert notes == ["needs input", "needs input", "needs input", ""]


async def test_a_command_that_ends_with_a_status_has_failed_in_the_panel_too():
    app, widgets, bridge = chat_stage()
    async with app.run_test() as pilot:
        bridge.receive(started("bash"))
        bridge.receive(ended("bash", TerminalView("false", "", 1)))
        await pilot.pause()

        assert panel(widgets) == "✗ bash it"


async def test_a_call_that_a_hook_blocked_has_failed_in_the_conversation():
    app, widgets, bridge = chat_stage()
    async with app.run_test() as pilot:
        result = ToolResult("1", "bash", (Text("not on a Friday"),), is_error=True)
        bridge.receive(HookRan(point="before_tool", outcome="blocked", call_id="1", result=result))
        bridge.receive(HookRan(point="before_tool", outcome="modified", call_id="2"))
        await pilot.pause()

        (block,) = widgets.transcript.blocks
        assert isinstance(block, ToolBlock)
        assert (block.label, block.status, block.text) == ("bash", "failed", "not on a Friday")


async def test_a_warning_to_the_model_is_one_notice_also_in_a_subagent():
    app, widgets, bridge = chat_stage()
    async with app.run_test() as pilot:
        text = "The same call of bash has failed 3 times."
        warning = HookRan(point="after_turn", outcome="injected", reason=text)
        bridge.receive(warning)
        bridge.receive(MessageEnd(message=synthetic(text)))
        bridge.receive(SubagentEvent(call_id="1", event=warning))
        bridge.receive(HookRan(point="before_tool", outcome="failed", reason="ValueError: not me"))
        await pilot.pause()

        texts = [block.source for block in widgets.transcript.blocks if isinstance(block, NoticeBlock)]

    assert texts == [
        "To the model: The same call of bash has failed 3 times.",
        "To the subagent: The same call of bash has failed 3 times.",
        "A hook failed (before_tool): ValueError: not me",
    ]


FIRST, SECOND = ModelSpec("anthropic", "first"), ModelSpec("openai", "second")


async def test_the_status_shows_the_called_model_and_when_idle_the_chosen_one():
    app, widgets, bridge = chat_stage()
    async with app.run_test():
        shown: list[str] = []
        for event in (
            ModelChanged(spec=FIRST),
            AgentStart(),
            ModelFallback(failed=FIRST, spec=SECOND, error="overloaded"),
            AgentEnd(stop_reason="stop"),
            AgentStart(),
            ModelRouted(spec=SECOND),
            AgentEnd(stop_reason="stop"),
            AgentStart(),
            ModelChanged(spec=SECOND),
            AgentEnd(stop_reason="stop"),
        ):
            bridge.receive(event)
            shown.append(widgets.status.status.model.partition("/")[2])

        assert shown == [*["first"] * 2, "second", *["first"] * 2, "second", *["first"] * 2, *["second"] * 2]


@pytest.mark.parametrize("name", ["ask_user", "submit_plan"])
async def test_a_question_shows_that_it_waits_for_the_user(name: str):
    app, widgets, bridge = chat_stage()
    async with app.run_test():
        notes: list[str] = []
        for event in (started(name), ended(name)):
            bridge.receive(event)
            notes.append(widgets.status.status.note)
            bridge.receive(SubagentEvent(call_id="2", event=event))
            notes.append(widgets.status.status.note)

        assert notes == ["needs input", "needs input", "needs input", ""]


@pytest.mark.parametrize(("answers", "folded"), [("Colour: Blue\nName: till", False), ("Blue", True)])
async def test_answers_longer_than_one_line_stay_visible(answers: str, folded: bool):
    app, widgets, bridge = chat_stage()
    async with app.run_test() as pilot:
        for event in (started("ask_user"), ended("ask_user", TextView(answers))):
            bridge.receive(event)
        await pilot.pause()

        (block,) = widgets.transcript.blocks
        assert block.folded is folded


async def test_a_subagent_that_is_done_no_longer_shows_what_it_is_at():
    app, widgets, bridge = chat_stage()
    async with app.run_test() as pilot:
        bridge.receive(started("delegate_subagent"))
        bridge.receive(ToolExecutionUpdate(call_id="1", view=TextView("turn 1: Search TODO")))
        bridge.receive(ended("delegate_subagent", TextView("I found\nthree of them.")))
        await pilot.pause()

        assert panel(widgets) == "✓ delegate_subagent it  three of them."


@pytest.mark.parametrize(
    ("dropped", "tokens", "reported"),
    [
        (0, 900, []),
        (0, 500, ["The conversation was too long for the model: it sees less of the longest messages."]),
        (1, 500, ["The conversation was too long for the model: 1 older message is left out of what it sees."]),
        (1200, 9, ["The conversation was too long for the model: 1,200 older messages are left out of what it sees."]),
    ],
)
@pytest.mark.parametrize("reason", ["overflow", "window"])
async def test_trimming_reports_dropped_messages(
    reason: Literal["overflow", "window"], dropped: int, tokens: int, reported: list[str]
):
    app, widgets, bridge = chat_stage()
    async with app.run_test():
        bridge.receive(ContextTrimmed(reason=reason, dropped=dropped, tokens_before=900, tokens=tokens))

        assert [block.source for block in widgets.transcript.blocks if isinstance(block, NoticeBlock)] == reported


@pytest.mark.parametrize(
    ("error_type", "reported"),
    [
        (
            "ContextWindowOverflow",
            ["/new starts afresh, and /model switches to a larger window. Nothing of this conversation is lost."],
        ),
        ("NetworkError", ["/retry asks again."]),
        ("AuthenticationFailed", []),
    ],
)
async def test_a_failed_run_explains_how_to_continue(error_type: str, reported: list[str]):
    app, widgets, bridge = chat_stage()
    async with app.run_test():
        bridge.receive(AgentEnd(stop_reason="error", error="it failed", error_type=error_type))

        assert [block.source for block in widgets.transcript.blocks if isinstance(block, NoticeBlock)] == reported
