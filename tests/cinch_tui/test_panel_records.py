from __future__ import annotations

import logging
from pathlib import Path

import pytest

from cinch_tui.cli.log import KEPT_RECENT, MOST_RECENT, RecentRecords, recent_records
from cinch_tui.config.paths import load_json, save_json
from cinch_tui.panels.builtin_panels import PANEL_CLASSES
from cinch_tui.panels.panel import PANELS, find_panel
from cinch_tui.panels.panel_manager import BESIDE, PanelLayout
from cinch_tui.panels.subagents import MAX_AGENTS, Subagents
from harness.agent.guardrails import without_secrets
from harness.events import (
    AgentEnd,
    Event,
    MessageEnd,
    SubagentEvent,
    ToolExecutionEnd,
    ToolExecutionStart,
    TurnStart,
    UsageUpdate,
)
from harness.messages import AssistantMessage, Text, ToolCall, ToolResult, Usage


def begins(session: str, call_id: str, summary: str) -> ToolExecutionStart:
    return ToolExecutionStart(call=ToolCall(call_id, "look", {}), label="Look", summary=summary, session_id=session)


def inside(event: Event, call_id: str = "1", caller: str = "main") -> SubagentEvent:
    return SubagentEvent(call_id=call_id, event=event, session_id=caller)


def test_a_subagent_is_identified_by_its_call_and_updated_by_its_events():
    agents = Subagents()
    agents.receive(begins("main", "1", "scout"))
    agents.receive(inside(TurnStart(session_id="child")))
    agents.receive(inside(begins("child", "7", "at all")))
    doing = agents.newest_first[0].doing
    agents.receive(
        inside(ToolExecutionEnd(result=ToolResult("7", "look", (Text("no"),), is_error=True), session_id="child"))
    )
    agents.receive(
        inside(UsageUpdate(usage=Usage(), total=Usage(input=90, output=10), context=0, window=0, session_id="child"))
    )
    agents.receive(inside(MessageEnd(message=AssistantMessage((Text("Nothing there."),)), session_id="child")))
    agents.receive(inside(AgentEnd(stop_reason="stop", session_id="child")))

    (scout,) = agents.newest_first
    assert doing == "Look at all"
    assert (scout.name, scout.call_id, scout.caller, scout.turns, scout.tokens) == ("scout", "1", "main", 1, 100)
    assert (scout.state, scout.doing) == ("done", "")
    assert scout.story.split() == ["●", "Look", "at", "all", "✗", "no", "Nothing", "there."]


def test_nested_subagents_follow_their_parent_and_the_newest_comes_first():
    agents = Subagents()
    agents.receive(inside(TurnStart(session_id="old"), "1"))
    agents.receive(inside(begins("old", "1", "below"), "1"))
    agents.receive(inside(inside(TurnStart(session_id="nested"), "1", "old"), "1"))
    agents.receive(inside(TurnStart(session_id="new"), "2"))

    assert [(agent.caller, agent.depth) for agent in agents.newest_first] == [("main", 0), ("main", 0), ("old", 1)]
    assert agents.newest_first[2].name == "below"


def test_only_the_newest_of_many_subagents_and_running_ones_are_kept():
    agents = Subagents()
    agents.receive(inside(TurnStart(session_id="runs")))
    for number in range(2 * MAX_AGENTS):
        agents.receive(inside(TurnStart(session_id=str(number))))
        agents.receive(inside(AgentEnd(stop_reason="aborted", session_id=str(number))))

    kept = agents.newest_first
    assert len(kept) == MAX_AGENTS
    assert kept[-1].state == "running"
    assert kept[0].state == "stopped"
    assert agents.find(kept[0].session_id) is kept[0]
    assert agents.find("0") is None


def test_choices_of_panels_are_kept_for_their_owner_alone(tmp_path: Path):
    file = tmp_path / "state" / "panels.json"

    save_json(file, PanelLayout("jobs", ("todo",)))

    assert load_json(file, PanelLayout) == PanelLayout("jobs", ("todo",))
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", [None, "", "no json", "[]", '{"beside": 3, "closed": "x"}', '{"closed": [1]}'])
def test_choices_that_cannot_be_read_open_and_close_nothing(tmp_path: Path, text: str | None):
    file = tmp_path / "panels.json"
    if text is not None:
        file.write_text(text)

    assert load_json(file, PanelLayout) is None


def test_an_unwritable_folder_loses_only_the_choice(tmp_path: Path):
    (tmp_path / "state").write_text("a file where the folder should be")

    save_json(tmp_path / "state" / "panels.json", PanelLayout("jobs"))

    assert load_json(tmp_path / "state" / "panels.json", PanelLayout) is None


def test_only_the_last_records_are_kept():
    kept = RecentRecords()
    logger = logging.getLogger("cinch_tui.test.recent")
    logger.addHandler(kept)
    for number in range(MOST_RECENT + 1):
        logger.warning("record %d", number)
    logger.removeHandler(kept)

    assert len(kept.records) == KEPT_RECENT + 1
    assert kept.records[-1].getMessage() == f"record {MOST_RECENT}"


def test_records_are_kept_once():
    kept = recent_records()

    assert recent_records() is kept

    logging.getLogger().removeHandler(kept)


def test_text_that_looks_like_a_key_is_truncated_to_its_first_letters():
    key = "sk-ant-api03-" + "a1b2c3d4e5f6" * 4

    assert without_secrets(f"sent {key} to it") == "sent sk-a… to it"
    assert without_secrets("nothing here") == "nothing here"


def test_every_panel_has_a_unique_name_and_can_be_found():
    assert len({spec.name for spec in PANELS}) == len(PANELS)
    assert [find_panel(spec.name) for spec in PANELS] == list(PANELS)
    assert find_panel("none") is None
    assert [spec.name for spec in BESIDE] == [*PANEL_CLASSES]
