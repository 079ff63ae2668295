"""Hooks of users around sessions, subagents and turns, and in the background."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.long_talk import reading
from fakes.processes import is_alive
from fakes.runs import calls, texts_of, until
from fakes.user_hooks import HookedAgent, command, group

from harness.events import Event, MessageEnd, SubagentEvent
from harness.messages import UserMessage

LOOK = calls("bash", command="echo looked")


async def test_subagents_have_the_hooks_and_their_own_events(tmp_path: Path):
    hooks = {
        "PreToolUse": [group(command("cat > call"), matcher="Bash")],
        "SubagentStart": [
            group(command('cat > start; echo \'{"hookSpecificOutput": {"additionalContext": "use tabs"}}\'')),
            group(command("touch wrong"), matcher="reviewer"),
        ],
        "SubagentStop": [group(command("cat > stop"))],
        "Stop": [group(command("cat >> main"))],
        "UserPromptSubmit": [group(command("echo x >> prompts"))],
    }
    script = (calls("delegate_subagent", task="look", name="scout"), LOOK, "found", "ok")
    hooked = HookedAgent(tmp_path, hooks, *script)
    seen: list[Event] = []
    hooked.agent.subscribe(seen.append)

    await hooked.agent.prompt("go")

    began, call, stop = map(hooked.read, ("start", "call", "stop"))
    assert began["agent_type"] == call["agent_type"] == stop["agent_type"] == "general-purpose"
    assert began["agent_id"] == call["agent_id"] == stop["agent_id"] != ""
    received = [each.event for each in seen if isinstance(each, SubagentEvent) and isinstance(each.event, MessageEnd)]
    texts = [each.message.text for each in received if isinstance(each.message, UserMessage)]
    assert texts == ["look", "[SubagentStart hook]\nuse tabs"]
    assert not (tmp_path / "wrong").exists()
    assert stop["last_assistant_message"] == "found"
    assert hooked.read("main")["last_assistant_message"] == "ok"
    assert (tmp_path / "prompts").read_text() == "x\n"


async def test_session_start_adds_context_to_the_first_prompt(tmp_path: Path):
    hooks = {
        "SessionStart": [
            group(command("cat > seen; echo started"), matcher="startup"),
            group(command("echo resumed"), matcher="resume"),
        ]
    }
    hooked = HookedAgent(tmp_path, hooks, "ok", "ok")
    hooked.session.begin("startup")

    await hooked.agent.prompt("go")
    await hooked.agent.prompt("again")

    assert hooked.read("seen")["source"] == "startup"
    assert texts_of(hooked.agent) == ["go", "[SessionStart hook]\nstarted", "again"]


async def test_stopping_a_run_ends_slow_session_start_hooks(tmp_path: Path):
    hooked = HookedAgent(tmp_path, {"SessionStart": [group(command("touch began; sleep 600"))]}, "ok")
    hooked.session.begin("startup")
    run = asyncio.create_task(hooked.agent.prompt("go"))
    await until(lambda: (tmp_path / "began").exists())

    hooked.agent.abort()
    stopped = await run
    result = await hooked.agent.prompt("again")

    assert (stopped.stop_reason, result.text) == ("aborted", "ok")


async def test_session_end_is_about_the_session_that_ends(tmp_path: Path):
    hooked = HookedAgent(tmp_path, {"SessionEnd": [group(command("cat > ended"), matcher="clear")]})
    before = hooked.agent.session_id

    hooked.session.end("clear")
    hooked.agent.new_session()
    await until(lambda: (tmp_path / "ended").exists() and (tmp_path / "ended").stat().st_size)

    assert (hooked.read("ended")["session_id"], hooked.read("ended")["reason"]) == (before, "clear")


async def test_turns_elapsed_runs_after_every_nth_turn(tmp_path: Path):
    hook = command('cat >> seen; echo >> seen; echo \'{"decision": "block", "reason": "look back"}\'', turns=2)
    hooked = HookedAgent(tmp_path, {"TurnsElapsed": [group(hook)]}, LOOK, LOOK, LOOK, LOOK, "ok")

    await hooked.agent.prompt("go")

    assert (tmp_path / "seen").read_text().count('"turns": ') == 2
    assert texts_of(hooked.agent).count("[TurnsElapsed hook]\nlook back") == 2


async def test_notification_hooks_run_when_the_user_is_needed(tmp_path: Path):
    hooks = {"Notification": [group(command("cat > seen"), matcher="permission_prompt")]}
    hooked = HookedAgent(tmp_path, hooks, calls("bash", command="touch made"), "ok")

    await hooked.agent.prompt("go")
    await until(lambda: (tmp_path / "seen").exists() and (tmp_path / "seen").stat().st_size)
    await hooked.session.close("other")

    assert hooked.read("seen")["message"] == "cinch needs your permission to use Bash"


async def test_hook_may_ask_to_continue_in_the_background(tmp_path: Path):
    request = 'echo \'{"async": true, "asyncTimeout": 60000}\''
    hook = command(f"{request}; until [ -e go ]; do sleep 0.01; done; echo later", timeout=1)
    hooked = HookedAgent(tmp_path, {"SessionStart": [group(hook)]}, "one", "two")
    hooked.session.begin("startup")

    first = await hooked.agent.prompt("go")
    (tmp_path / "go").touch()
    await until(lambda: hooked.agent.inbox.news)
    await hooked.agent.prompt("more")

    assert first.text == "one"
    assert texts_of(hooked.agent) == ["go", "more", "[SessionStart hook]\nlater"]
    assert hooked.notices == []


async def test_hook_that_continues_in_the_background_ends_with_the_session(tmp_path: Path):
    hook = command("echo '{\"async\": true}'; echo $$ >pid; sleep 60")
    hooked = HookedAgent(tmp_path, {"SessionStart": [group(hook)]}, "one")
    hooked.session.begin("startup")
    await hooked.agent.prompt("go")
    await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())

    await hooked.session.stop()

    await until(lambda: not is_alive(int((tmp_path / "pid").read_text())))


async def test_hook_in_the_background_reports_with_the_next_turn(tmp_path: Path):
    hook = command("until [ -e go ]; do sleep 0.01; done; echo slow >&2; exit 2", asyncRewake=True)
    hooked = HookedAgent(tmp_path, {"PostToolUse": [group(hook)]}, LOOK, "ok", "seen")

    first = await hooked.agent.prompt("go")
    (tmp_path / "go").touch()
    await until(lambda: hooked.agent.inbox.news)
    await hooked.agent.prompt("and now")

    assert first.text == "ok"
    assert texts_of(hooked.agent)[-1] == "[PostToolUse hook]\nslow"


@pytest.mark.parametrize("blocks", [True, False])
async def test_compaction_can_be_prevented_and_starts_the_session_again(tmp_path: Path, blocks: bool):
    hooks = {
        "PreCompact": [
            group(command(f"cat > seen; {'echo not now >&2; exit 2' if blocks else 'true'}"), matcher="manual")
        ],
        "SessionStart": [group(command("echo after the summary"), matcher="compact")],
    }
    hooked = HookedAgent(tmp_path, hooks, "A summary of everything that was done so far.", "ok")
    hooked.agent.append_messages(reading(16, 300))

    compaction = await hooked.agent.compact()
    await hooked.agent.prompt("go")

    assert (compaction is None) == blocks
    assert (hooked.read("seen")["trigger"], hooked.read("seen")["custom_instructions"]) == ("manual", "")
    assert ("[SessionStart hook]\nafter the summary" in texts_of(hooked.agent)) != blocks
    assert hooked.notices == (["A hook prevented the compaction: not now"] if blocks else [])
