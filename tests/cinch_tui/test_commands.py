from __future__ import annotations

import pytest
from fakes.recording_front import RecordingFront

from cinch_tui.commands.approval import next_approval
from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.registry import Invocation, Registry

REGISTRY = builtin_commands()


@pytest.fixture
def front() -> RecordingFront:
    return RecordingFront()


async def run(text: str, front: RecordingFront, registry: Registry = REGISTRY) -> None:
    parsed = registry.parse(text)
    assert isinstance(parsed, Invocation), parsed
    await registry.run(parsed, front)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("/quit", ("quit",)),
        ("/plan", ("toggle_plan",)),
        ("/plan accept", ("accept_plan",)),
        ("/editor", ("open_editor",)),
        ("/diff", ("show_changes", "session")),
        ("/diff git", ("show_changes", "git")),
        ("/model", ("choose_model",)),
        ("/reset", ("reset",)),
        ("/new", ("new_session",)),
        ("/usage", ("show", "Usage", "120 tokens")),
        ("/doctor", ("show", "Doctor", "looked at all")),
        ("/doctor ollama openai", ("show", "Doctor", "looked at ollama, openai")),
        ("/system", ("show", "System prompt", "You are cinch.")),
        ("/resume", ("pick_session",)),
        ("#sessions", ("pick_session",)),
        ("#help", ("toggle_help",)),
        ("/settings", ("show_settings",)),
        ("/config", ("show_settings",)),
        ("/context", ("show_context",)),
        ("/panel logs", ("toggle_panel", "logs")),
        ("/jobs", ("open_panel", "jobs")),
        ("/jobs kill job-1", ("kill_job", "job-1")),
        ("/agents", ("open_panel", "agents")),
        ("/changes", ("open_panel", "changes")),
        ("/logs", ("open_panel", "logs")),
        ("#clear", ("clear_view",)),
        ("#info", ("show", "Session", "3 messages")),
        ("#load first", ("load_session", "first")),
        ("#approve", ("show", "Approval", "smart")),
        ("#keys", ("show", "API keys", "")),
    ],
)
async def test_command_reaches_the_front(front: RecordingFront, text: str, call: tuple[str, ...]):
    await run(text, front)

    assert front.calls == [call]


@pytest.mark.parametrize("text", ["/reset", "/new", "#clear", "#load first", "#save", "/system x", "/resume"])
async def test_command_that_would_change_the_conversation_waits_for_the_run(front: RecordingFront, text: str):
    front.is_running = True

    await run(text, front)

    name = text.split()[0]
    assert front.notices == [("warning", f"{name} is not available while the agent is running; Esc stops it")]
    assert front.calls == []


@pytest.mark.parametrize("text", ["/plan", "/usage", "#copy", "#approve off", "/thinking high", "#info", "/quit"])
async def test_other_commands_work_during_a_run(front: RecordingFront, text: str):
    front.is_running = True

    await run(text, front)

    assert not any("is not available" in text for _, text in front.notices)


async def test_load_without_an_id_says_what_it_needs(front: RecordingFront):
    await run("#load", front)

    assert front.notices == [("warning", "#load needs more: #load <id>")]


async def test_failure_of_the_front_is_shown(front: RecordingFront):
    await run("#load third", front)
    await run("/model gpt-9", front)

    assert front.notices == [("error", "there is no session third"), ("error", "there is no model gpt-9")]


async def test_model_is_set_by_name(front: RecordingFront):
    await run("/model openai-chat/local", front)

    assert front.model == "openai-chat/local"


async def test_thinking_level_is_set_shown_and_corrected(front: RecordingFront):
    await run("/thinking extra-high", front)
    await run("/thinking hihg", front)

    assert front.thinking == "extra-high"
    assert front.notices[1] == ("warning", "there is no thinking level 'hihg'; did you mean high?")


async def test_thinking_level_without_effect_is_reported_and_not_set(front: RecordingFront):
    front.takes_levels = False

    await run("/thinking high", front)

    assert front.thinking == "off"
    assert front.notices == [("warning", "high has no effect: this model takes no thinking level here")]


@pytest.mark.parametrize(("picked", "level"), [("high", "high"), (None, "off")])
async def test_thinking_alone_lets_the_person_pick_a_level(front: RecordingFront, picked: str | None, level: str):
    front.picked = picked

    await run("/thinking", front)

    assert front.thinking == level
    assert front.calls == [
        (
            "pick",
            "How hard does the model think?",
            "off",
            "off",
            "minimal",
            "low",
            "medium",
            "high",
            "extra-high",
            "hide",
        )
    ]


async def test_thoughts_are_hidden_and_shown(front: RecordingFront):
    await run("/thinking hide", front)
    assert not front.shows_thinking

    await run("/thinking show", front)
    assert front.shows_thinking


@pytest.mark.parametrize(
    ("text", "picked", "approval", "is_planning"),
    [
        ("/mode off", None, "off", True),
        ("/mode execute", None, "smart", False),
        ("/mode plan", None, "smart", True),
        ("/mode", "on", "on", True),
        ("/mode", "execute", "smart", False),
        ("/mode", None, "smart", True),
        ("/mode fast", None, "smart", True),
    ],
)
async def test_mode_sets_how_freely_the_agent_works(
    front: RecordingFront, text: str, picked: str | None, approval: str, is_planning: bool
):
    front.is_planning, front.picked = True, picked

    await run(text, front)

    assert (front.approval, front.is_planning) == (approval, is_planning)


async def test_one_key_steps_through_the_ways_to_approve_by_the_strictest(front: RecordingFront):
    gone_through = [front.approval]
    for _ in range(3):
        next_approval(front)
        gone_through.append(front.approval)

    assert gone_through == ["smart", "on", "off", "smart"]
    assert [level for level, _ in front.notices] == ["info", "warning", "info"]


async def test_clear_starts_a_new_session(front: RecordingFront):
    await run("/clear", front)

    assert front.calls == [("new_session",)]


async def test_approval_mode_is_set(front: RecordingFront):
    await run("#approve off", front)
    await run("#approve maybe", front)

    assert front.approval == "off"
    assert [level for level, _ in front.notices] == ["warning", "warning"]


async def test_trust_is_dropped_for_one_tool_or_all(front: RecordingFront):
    front.granted = ["write_file", "bash", "edit_file"]

    await run("#approve untrust bash", front)
    await run("#approve untrust", front)
    await run("#approve untrust bash", front)

    assert [text for _, text in front.notices] == [
        "No longer allowed: bash",
        "No longer allowed: write_file, edit_file",
        "bash was not allowed",
    ]


async def test_permissions_are_listed_given_and_revoked(front: RecordingFront):
    await run("/permissions", front)
    await run("/permissions allow bash", front)
    await run("/permissions allow nothing", front)
    granted = list(front.granted)
    await run("/permissions revoke bash", front)
    await run("/permissions bash", front)

    assert front.calls == [("show", "Permissions", "smart")]
    assert granted == ["bash"]
    assert front.granted == []
    assert [text for _, text in front.notices] == [
        "Allowed this session: all commands except dangerous ones",
        "There is no tool named nothing",
        "No longer allowed: bash",
        "/permissions takes allow TOOL or revoke [GRANT], not 'bash'",
    ]


async def test_copy_takes_the_source_of_what_was_named(front: RecordingFront):
    front.transcript = {"reply": "**bold**", "code": "x = 1", "reply 3": "The third last"}

    await run("#copy", front)
    await run("#copy code", front)
    await run("/copy 3", front)
    await run("/copy 4", front)
    await run("/copy 0", front)
    await run("#copy all", front)
    await run("#copy everything", front)

    assert front.copied == ["**bold**", "x = 1", "The third last"]
    assert [level for level, _ in front.notices] == ["warning"] * 4


async def test_key_command_asks_for_the_provider_and_then_for_the_key(front: RecordingFront):
    front.picked = "anthropic"

    await run("#key openai-chat", front)
    await run("/key", front)

    assert [call for call in front.calls if call[0] == "enter_key"] == [
        ("enter_key", "openai-chat"),
        ("enter_key", "anthropic"),
    ]


async def test_save_says_where(front: RecordingFront):
    await run("#save", front)

    assert front.notices == [("info", "saved to sessions/first.jsonl")]


async def test_every_command_does_something_that_shows(front: RecordingFront):
    front.transcript = {"reply": "text"}

    for command in REGISTRY.commands:
        before = repr(front)
        await REGISTRY.run(Invocation(command, ""), front)
        assert repr(front) != before, command.name


@pytest.mark.parametrize(("picked", "last"), [("jobs", ("toggle_panel", "jobs")), (None, ("pick",))])
async def test_panel_alone_lets_the_person_pick_one(front: RecordingFront, picked: str | None, last: tuple[str, ...]):
    front.picked = picked

    await run("/panel", front)

    assert front.calls[0] == ("pick", "Show or hide", "", "changes", "jobs")
    assert front.calls[-1][: len(last)] == last
