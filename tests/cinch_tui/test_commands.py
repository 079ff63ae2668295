from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from fakes.recording_host import RecordingHost
from fakes.talk import reply, tour, written

from cinch_tui.commands.approval import next_approval
from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.registry import Invocation, Registry
from cinch_tui.commands.session import is_planning
from cinch_tui.doctor import checks
from harness.approval.modes import PLAN
from harness.permissions import Rule

REGISTRY = builtin_commands()


@pytest.fixture
def host() -> RecordingHost:
    return RecordingHost()


async def run(text: str, host: RecordingHost, registry: Registry = REGISTRY) -> None:
    parsed = registry.parse(text)
    assert isinstance(parsed, Invocation), parsed
    await registry.run(parsed, host)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("/quit", ("leave", "/quit")),
        ("/editor", ("open_editor",)),
        ("/diff", ("show_changes", "session")),
        ("/diff git", ("show_changes", "git")),
        ("/model", ("pick_model",)),
        ("/reset", ("reset",)),
        ("/new", ("new_session",)),
        ("/usage", ("show", "Usage", "No tokens used yet.")),
        ("/system", ("show", "System prompt", "You are cinch.")),
        ("/resume", ("pick_session",)),
        ("#sessions", ("pick_session",)),
        ("/sessions all", ("pick_session", "all")),
        ("#help", ("show_help",)),
        ("/settings", ("show_settings",)),
        ("/config", ("show_settings",)),
        ("/context", ("show_context",)),
        ("/panel logs", ("toggle_panel", "logs")),
        ("/jobs", ("open_panel", "jobs")),
        ("/agents", ("open_panel", "agents")),
        ("/changes", ("open_panel", "changes")),
        ("/logs", ("open_panel", "logs")),
        ("#clear", ("clear_view",)),
        ("#load first", ("load_session", "first")),
    ],
)
async def test_command_reaches_the_front(host: RecordingHost, text: str, call: tuple[str, ...]):
    await run(text, host)

    assert host.calls == [call]


@pytest.mark.parametrize("text", ["/reset", "/new", "#clear", "#load first", "#save", "/system x", "/resume"])
async def test_command_that_would_change_the_conversation_waits_for_the_run(host: RecordingHost, text: str):
    host.session.is_running = True

    await run(text, host)

    name = text.split()[0]
    assert host.notices == [("warning", f"{name} is not available while the agent is running; Esc stops it")]
    assert host.calls == []


@pytest.mark.parametrize("text", ["/plan", "/usage", "#copy", "#approve off", "/thinking high", "#info", "/quit"])
async def test_other_commands_work_during_a_run(host: RecordingHost, text: str):
    host.session.is_running = True

    await run(text, host)

    assert not any("is not available" in text for _, text in host.notices)


async def test_retry_waits_for_the_end_of_a_run_that_is_ending(host: RecordingHost, monkeypatch: pytest.MonkeyPatch):
    host.session.is_running = True

    async def end() -> None:
        host.session.is_running = False

    monkeypatch.setattr(host.agent, "wait_until_idle", end)
    await run("/retry", host)

    assert (host.calls, host.notices) == ([("continue_run",)], [])


async def test_retry_is_refused_while_the_model_is_at_work(host: RecordingHost):
    host.session.is_running = True

    await run("/retry", host)

    assert host.calls == []
    assert host.notices == [("error", "the model is already working; no retry is pending")]


async def test_load_without_an_id_names_the_missing_argument(host: RecordingHost):
    await run("#load", host)

    assert host.notices == [("warning", "#load needs an argument: #load <id>")]


async def test_failure_of_the_front_is_shown(host: RecordingHost):
    await run("#load third", host)
    await run("/model gpt-9", host)

    assert host.notices == [("error", "there is no session third"), ("error", "there is no model gpt-9")]


async def test_model_is_set_by_name(host: RecordingHost):
    await run("/model openai-chat/local", host)

    assert host.agent.state.model.spec.name == "openai-chat/local"
    assert host.notices == [("info", "The model is openai-chat/local from the next reply on.")]


async def test_thinking_level_is_set_shown_and_corrected(host: RecordingHost):
    await run("/thinking extra-high", host)
    await run("/thinking hihg", host)

    assert host.agent.state.model.spec.thinking == "extra-high"
    assert host.notices[1] == ("warning", "there is no thinking level 'hihg'; did you mean 'high'?")


async def test_thinking_level_without_effect_is_reported_and_not_set(host: RecordingHost):
    host.session.take_no_thinking_levels()

    await run("/thinking high", host)

    assert host.agent.state.model.spec.thinking == "off"
    assert host.notices == [("warning", "high has no effect: this model does not support it")]


@pytest.mark.parametrize(("picked", "level"), [("high", "high"), (None, "off")])
async def test_thinking_alone_lets_the_user_pick_a_level(host: RecordingHost, picked: str | None, level: str):
    host.picked = picked

    await run("/thinking", host)

    assert host.agent.state.model.spec.thinking == level
    assert host.calls == [
        (
            "pick",
            "Thinking level",
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


async def test_thoughts_are_hidden_and_shown(host: RecordingHost):
    await run("/thinking hide", host)
    assert not host.shows_thinking

    await run("/thinking show", host)
    assert host.shows_thinking


@pytest.mark.parametrize(
    ("text", "picked", "approval", "plans"),
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
    host: RecordingHost, text: str, picked: str | None, approval: str, plans: bool
):
    host.agent.set_mode(PLAN)
    host.picked = picked

    await run(text, host)

    assert (host.agent.state.approval, is_planning(host)) == (approval, plans)


async def test_one_key_steps_through_the_ways_to_approve_by_the_strictest(host: RecordingHost):
    gone_through = [host.agent.state.approval]
    for _ in range(4):
        next_approval(host)
        gone_through.append(host.agent.state.approval)

    assert gone_through == ["smart", "edits", "on", "off", "smart"]
    assert [level for level, _ in host.notices] == ["info", "info", "warning", "info"]


async def test_modes_that_are_excluded_are_skipped_by_the_key(host: RecordingHost):
    host.agent.state.permissions.loosest = "smart"
    gone_through: list[str] = []
    for _ in range(2):
        next_approval(host)
        gone_through.append(host.agent.state.approval)

    assert gone_through == ["on", "smart"]


async def test_clear_starts_a_new_session(host: RecordingHost):
    await run("/clear", host)

    assert host.calls == [("new_session",)]


async def test_approval_mode_is_set(host: RecordingHost):
    await run("#approve off", host)
    await run("#approve maybe", host)

    assert host.agent.state.approval == "off"
    assert [level for level, _ in host.notices] == ["warning", "warning"]


async def test_trust_is_dropped_for_one_tool_or_all(host: RecordingHost):
    for tool in ("write_file", "bash", "edit_file"):
        host.agent.state.permissions.store.add(Rule(tool))

    await run("#approve untrust bash", host)
    await run("#approve untrust", host)
    await run("#approve untrust bash", host)

    assert [text for _, text in host.notices] == [
        "No longer allowed: bash",
        "No longer allowed: write_file, edit_file",
        "bash was not allowed",
    ]


async def test_copy_takes_the_source_of_what_was_named(host: RecordingHost):
    host.agent.new_session(
        messages=[reply(text) for text in ("The third last", "second", "**bold**\n```py\nx = 1\n```")]
    )

    await run("#copy", host)
    await run("#copy code", host)
    await run("/copy 3", host)
    await run("/copy 4", host)
    await run("/copy 0", host)
    await run("#copy everything", host)

    assert host.copied == ["**bold**\n```py\nx = 1\n```", "x = 1\n", "The third last"]
    assert [level for level, _ in host.notices] == ["warning"] * 3


async def test_key_command_asks_for_the_provider_and_then_for_the_key(host: RecordingHost):
    host.picked = "anthropic"

    await run("#key openai", host)
    await run("/key", host)

    assert [call for call in host.calls if call[0] == "ask_key"] == [
        ("ask_key", "API key for OpenAI"),
        ("ask_key", "API key for Anthropic"),
    ]


async def test_save_reports_the_path(host: RecordingHost):
    await run("#save", host)

    assert host.notices == [("info", "Saved in sessions/first.jsonl")]


@pytest.mark.parametrize(
    ("text", "name"),
    [("/export", "look-at-both-"), ("/export html", "look-at-both-"), ("/export my talk.md", "my talk.md")],
)
async def test_export_writes_the_session_to_the_project(text: str, name: str, host: RecordingHost, tmp_path: Path):
    assembly = host.session.assembly
    assembly.options = SimpleNamespace(cwd=tmp_path)
    assembly.session_file = written(tmp_path, *tour())

    await run(text, host)

    (made,) = [path for path in tmp_path.iterdir() if path.is_file()]
    assert made.name.startswith(name)
    assert made.suffix == (".html" if text.endswith("html") else ".md")
    assert host.notices == [("info", f"Exported to {made}")]


async def doctor_report(names: Sequence[str], *_: object) -> str:
    return f"checked {', '.join(names) or 'all'}"


async def test_doctor_shows_a_report_of_the_named_providers(host: RecordingHost, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checks, "report_block", doctor_report)

    await run("/doctor ollama openai", host)

    assert host.calls[-1] == ("show", "Doctor", "checked ollama, openai")


async def test_every_command_does_something_that_shows(host: RecordingHost, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checks, "report_block", doctor_report)

    def state() -> str:
        return repr((host, host.agent.state.mode, host.agent.state.approval))

    for command in REGISTRY.commands:
        before = state()
        await REGISTRY.run(Invocation(command, ""), host)
        assert state() != before, command.name


@pytest.mark.parametrize(("picked", "last"), [("jobs", ("toggle_panel", "jobs")), (None, ("pick",))])
async def test_panel_alone_lets_the_user_pick_one(host: RecordingHost, picked: str | None, last: tuple[str, ...]):
    host.picked = picked

    await run("/panel", host)

    assert host.calls[0] == ("pick", "Show or hide", "", "changes", "jobs")
    assert host.calls[-1][: len(last)] == last


class PlainHost(RecordingHost):
    full_screen = None


@pytest.mark.parametrize(
    ("text", "level", "reason"),
    [
        ("#clear", "error", "cannot clear the screen"),
        ("/timestamps", "error", "cannot add times"),
        ("/theme", "error", "colors of the terminal"),
        ("/editor", "error", "/editor needs the full-screen app"),
        ("/vim", "error", "/vim needs the full-screen app"),
        ("/panel", "error", "panels need the full-screen app"),
        ("/parallel a/b c/d", "error", "/parallel needs the full-screen app"),
        ("/parallel pick", "error", "no answers to choose from"),
        ("/parallel off", "info", "The next prompt goes to demo/script."),
    ],
)
async def test_command_that_needs_the_screen_reports_it_in_plain_mode(text: str, level: str, reason: str):
    host = PlainHost()

    await run(text, host)

    assert host.calls == []
    assert [shown for shown, _ in host.notices] == [level]
    assert reason in host.notices[0][1]
