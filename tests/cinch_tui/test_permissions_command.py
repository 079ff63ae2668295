"""The command `/permissions`."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.recording_host import RecordingHost

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.registry import Invocation
from cinch_tui.config.layers import Sources, load_config

REGISTRY = builtin_commands()


@pytest.fixture
def host() -> RecordingHost:
    return RecordingHost()


async def run(text: str, host: RecordingHost) -> None:
    parsed = REGISTRY.parse(text)
    assert isinstance(parsed, Invocation), parsed
    await REGISTRY.run(parsed, host)


async def test_permissions_are_listed_given_and_revoked(host: RecordingHost):
    await run("/permissions", host)
    await run("/permissions allow bash", host)
    await run("/permissions allow nothing", host)
    granted = list(map(str, host.agent.state.permissions.store.session_rules))
    await run("/permissions revoke bash", host)
    await run("/permissions bash", host)

    assert [call[:2] for call in host.calls] == [("show", "Permissions")]
    assert granted == ["bash"]
    assert host.agent.state.permissions.store.session_rules == ()
    assert [text for _, text in host.notices] == [
        "Allowed this session: all commands except dangerous ones",
        "There is no tool named nothing",
        "No longer allowed: bash",
        "/permissions takes why CALL, allow|ask|deny RULE [session|project|user], or rm RULE, not 'bash'",
    ]


async def test_rules_are_added_and_removed_by_their_text(host: RecordingHost):
    store = host.agent.state.permissions.store
    await run("/permissions add deny bash(git push *)", host)
    await run("/permissions ask edit(docs/**) project", host)
    rules = [(rule.effect, str(rule), rule.source.level) for rule in (*store.rules, *store.session_rules)]
    await run("/permissions", host)
    await run("/permissions rm bash(git push *)", host)
    await run("/permissions rm bash(git push *)", host)
    await run("/permissions deny bash(", host)

    assert rules == [("ask", "edit(docs/**)", "local"), ("deny", "bash(git push:*)", "session")]
    shown = host.calls[0][2]
    assert "| deny | `bash(git push:*)` |" in shown
    assert [str(rule) for rule in (*store.rules, *store.session_rules)] == ["edit(docs/**)"]
    texts = [text for _, text in host.notices]
    assert texts[:4] == [
        "Denied this session: bash(git push:*)",
        "Needs approval in this project: edit(docs/**)",
        "Removed: deny bash(git push:*)",
        "There is no rule bash(git push *); /permissions lists all",
    ]
    assert "is not a permission rule" in texts[4]


async def test_words_of_the_command_line_work_too(host: RecordingHost):
    store = host.agent.state.permissions.store
    await run("/permissions allow bash(make:*) project", host)
    await run("/permissions list", host)
    await run("/permissions explain edit_file README.md", host)
    await run("/permissions explain write_file notes/new.md", host)
    await run("/permissions revoke bash(make:*)", host)
    await run("/permissions revoke bash(make:*)", host)
    await run("/permissions suggest", host)

    assert [call[1] for call in host.calls] == ["Permissions", "Why", "Why"]
    assert all("needs approval: " in call[2] and "schema" not in call[2] for call in host.calls[1:])
    assert store.rules == ()
    assert [text for _, text in host.notices[1:]] == [
        "Removed: allow bash(make:*)",
        "There is no rule bash(make:*); /permissions lists all",
        "To propose rules from past approvals, run: cinch permissions suggest",
    ]


async def test_rule_for_all_projects_is_added_to_the_file_of_the_user(host: RecordingHost, tmp_path: Path):
    file = tmp_path / "config.toml"
    file.write_text('# mine\n[permissions]\nallow = ["grep"]\n')
    host.session.options.sources.user_file = file  # type: ignore[misc] a namespace here
    store = host.agent.state.permissions.store

    for _ in range(2):
        await run("/permissions allow bash(make test:*) user", host)
    await run("/permissions deny bash(curl:*) user", host)

    assert file.read_text().startswith("# mine\n")
    configured = load_config(
        Sources(user_file=file, project_file=None, environ={}, trust_file=tmp_path / "trusted.json")
    ).rules
    written = sorted((rule.effect, rule.text) for rule in configured)
    assert written == [("allow", "bash(make test:*)"), ("allow", "grep"), ("deny", "bash(curl:*)")]
    applied = [(rule.effect, str(rule), str(rule.source)) for rule in store.rules]
    assert applied == [("allow", "bash(make test:*)", f"user: {file}"), ("deny", "bash(curl:*)", f"user: {file}")]
    assert [text for _, text in host.notices][-1] == "Denied in all projects: bash(curl:*)"


async def test_decision_on_a_call_is_explained(host: RecordingHost):
    await run("/permissions why last", host)
    await run("/permissions allow bash(make test:*)", host)
    for call in ("make test -k x", "bash rm -rf /", 'write_file {"path": "a|b", "content": "x"}', "read_file .env"):
        await run(f"/permissions why {call}", host)
    texts = [call[2] for call in host.calls]

    assert host.notices[0][1].startswith("No call yet")
    assert [call[:2] for call in host.calls] == [("show", "Why")] * 4
    assert "`bash make test -k x` runs without asking" in texts[0]
    assert "rule `bash(make test:*)`" in texts[0]
    assert "`bash rm -rf /` never runs: forbidden" in texts[1]
    assert "`write_file a|b` needs approval: it changes files" in texts[2]
    assert "secret" in texts[3]
