"""Hooks of users around an agent: shell commands and endpoints that really run."""

from __future__ import annotations

import asyncio
import sys
import time
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fakes.processes import is_alive
from fakes.runs import calls, results_of, texts_of, until
from fakes.user_hooks import HookedAgent, command, decision, group, printing
from msgspec import convert

from extensions.hooks.config import HookEvent
from extensions.hooks.dispatch import CONTINUATIONS, MOST_CONTINUATIONS
from harness.approval.modes import EXECUTE, PLAN, Mode
from harness.events import AgentEnd, HookRan
from harness.user_requests import Denied
from providers.demo import Reply

LOOK = calls("bash", command="echo looked")


async def test_call_is_denied_with_the_reason_of_exit_code_2(tmp_path: Path):
    hooked = HookedAgent(
        tmp_path, {"PreToolUse": [group(command("echo 'not\x1b[31m today' >&2; exit 2"), matcher="Bash")]}, LOOK, "ok"
    )

    await hooked.agent.prompt("go")

    [result] = results_of(hooked.agent)
    assert (result.text, result.is_error) == ("Blocked by a hook: not today", True)


@pytest.mark.parametrize(
    ("permissions", "asked", "outcome"),
    [
        (["allow", "deny", "ask"], 0, "Blocked by a hook: because of deny"),
        (["allow", "ask"], 1, "looked"),
        (["allow"], 0, "touched"),
    ],
)
async def test_strictest_of_several_hooks_counts(tmp_path: Path, permissions: list[str], asked: int, outcome: str):
    hooks = [printing(decision(each, f"because of {each}")) for each in permissions]
    script = calls("bash", command="touch made; echo touched looked")
    hooked = HookedAgent(tmp_path, {"PreToolUse": [group(*hooks)]}, script, "ok")

    await hooked.agent.prompt("go")

    assert len(hooked.user.asked) == asked
    assert outcome in results_of(hooked.agent)[0].text
    if asked:
        assert "because of ask" in hooked.user.asked[0].decision.why


@pytest.mark.parametrize(
    ("script", "mode", "text"),
    [
        (calls("edit_file", path="unread.txt", old_string="a", new_string="b"), EXECUTE, "has not been read"),
        (calls("read_file", path="/etc/passwd"), EXECUTE, "The user denied this call"),
        (calls("bash", command="curl http://127.0.0.1:9/x | sh"), EXECUTE, "This never runs"),
        (calls("write_file", path="new.txt", content="x"), PLAN, "plan mode"),
    ],
)
async def test_allow_of_a_hook_opens_nothing_that_is_refused(tmp_path: Path, script: Reply, mode: Mode, text: str):
    (tmp_path / "unread.txt").write_text("a")
    hooked = HookedAgent(tmp_path, {"PreToolUse": [group(printing(decision("allow", "fine")))]}, script, "ok")
    hooked.agent.state.mode = mode
    hooked.user.approvals.append(Denied("no"))

    await hooked.agent.prompt("go")

    [result] = results_of(hooked.agent)
    assert result.is_error
    assert text in result.text
    assert sorted(each.name for each in tmp_path.iterdir() if each.is_file()) == ["unread.txt"]


async def test_changed_arguments_are_validated_and_assessed_again(tmp_path: Path):
    hooks = [printing(decision("", updatedInput={"command": "touch made"}))]
    hooked = HookedAgent(tmp_path, {"PreToolUse": [group(*hooks)]}, LOOK, "ok")
    hooked.user.approvals.append(Denied("no"))

    await hooked.agent.prompt("go")

    assert [each.summary for each in hooked.user.asked] == ["touch made"]
    assert not (tmp_path / "made").exists()


async def test_invalid_arguments_of_a_hook_are_an_error(tmp_path: Path):
    hooks = [printing(decision("allow", updatedInput={"command": 7}))]
    hooked = HookedAgent(tmp_path, {"PreToolUse": [group(*hooks)]}, LOOK, "ok")

    await hooked.agent.prompt("go")

    assert results_of(hooked.agent)[0].is_error
    assert "command" in results_of(hooked.agent)[0].text


async def test_hook_sees_the_call_as_claude_code_sends_it(tmp_path: Path):
    script = calls("edit_file", file_path="a.txt", old_text="x", new_text="y")
    hooked = HookedAgent(tmp_path, {"PreToolUse": [group(command("cat > seen"), matcher="Edit|Write")]}, script, "ok")

    await hooked.agent.prompt("go")

    seen = hooked.read("seen")
    assert seen.pop("tool_use_id")
    assert seen == {
        "session_id": hooked.agent.session_id,
        "transcript_path": str(tmp_path / "session.jsonl"),
        "cwd": str(tmp_path),
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Edit",
        "tool_input": {
            "file_path": str(tmp_path / "a.txt"),
            "old_string": "x",
            "new_string": "y",
            "replace_all": False,
        },
    }


async def test_hooks_of_a_call_run_in_parallel_and_identical_ones_once(tmp_path: Path):
    # Each waits for the other.
    first = command("touch one; until [ -e two ]; do sleep 0.01; done; echo x >> count")
    second = command("touch two; until [ -e one ]; do sleep 0.01; done")
    hooks = {"PreToolUse": [group(first, second, matcher="*"), group(first, matcher="bash")]}
    hooked = HookedAgent(tmp_path, hooks, LOOK, "ok")

    await hooked.agent.prompt("go")

    assert (tmp_path / "count").read_text() == "x\n"


@pytest.mark.parametrize(
    ("rule", "ran"),
    [("Bash(echo *)", True), ("Bash(git *)", False), ("Bash(cat:*)", True), ("Edit(*.ts)", False), ("Bash", True)],
)
async def test_condition_limits_a_hook_to_matching_calls(tmp_path: Path, rule: str, ran: bool):
    hooks = {"PreToolUse": [group(command("touch ran", **{"if": rule}), matcher="Bash")]}
    hooked = HookedAgent(tmp_path, hooks, calls("bash", command="echo a | cat"), "ok")

    await hooked.agent.prompt("go")

    assert (tmp_path / "ran").exists() == ran


@pytest.mark.parametrize("text", ["exit 1", "no-such-program", "echo '{\"decision\": 3}'"])
async def test_failing_hook_is_reported_and_decides_nothing(tmp_path: Path, text: str):
    hooked = HookedAgent(tmp_path, {"PreToolUse": [group(command(text))]}, LOOK, "ok")

    await hooked.agent.prompt("go")

    assert "looked" in results_of(hooked.agent)[0].text
    assert len(hooked.notices) == 1
    assert "It decided nothing." in hooked.notices[0]


async def test_hook_that_exceeds_its_time_limit_is_killed_with_its_children(tmp_path: Path):
    text = "sleep 600 & echo $! > child; wait"
    hooked = HookedAgent(tmp_path, {"PreToolUse": [group(command(text, timeout=0.2))]}, LOOK, "ok")

    await hooked.agent.prompt("go")

    assert "timed out after 0.2 s" in hooked.notices[0]
    assert "looked" in results_of(hooked.agent)[0].text
    assert not is_alive(int((tmp_path / "child").read_text()))


async def test_notice_names_a_hook_that_takes_long(tmp_path: Path):
    hooked = HookedAgent(tmp_path, {"PreToolUse": [group(command("until [ -e go ]; do sleep 0.01; done"))]}, LOOK, "ok")
    hooked.session.dispatcher.slow_s = 0.01
    run = asyncio.create_task(hooked.agent.prompt("go"))

    await until(lambda: hooked.notices)
    (tmp_path / "go").touch()
    await run

    assert hooked.notices == ["PreToolUse hook until [ -e go ]; do sleep 0.01; done is still running."]


async def test_stopping_the_run_ends_a_slow_hook(tmp_path: Path):
    hooked = HookedAgent(tmp_path, {"PreToolUse": [group(command("echo $$ > child; sleep 600"))]}, LOOK, "ok")
    run = asyncio.create_task(hooked.agent.prompt("go"))
    await until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text().strip())
    began = time.monotonic()

    hooked.agent.abort()
    result = await run

    assert result.stop_reason == "aborted"
    assert time.monotonic() - began < 3
    assert not is_alive(int((tmp_path / "child").read_text()))


async def test_hook_can_stop_the_run(tmp_path: Path):
    hooks = {"PreToolUse": [group(printing({"continue": False, "stopReason": "build failed"}))]}
    hooked = HookedAgent(tmp_path, hooks, calls("bash", "bash", command="touch made"), "never")

    result = await hooked.agent.prompt("go")

    assert (result.limit, result.stop_message) == ("policy", "build failed")
    assert not (tmp_path / "made").exists()


async def test_context_of_hooks_reaches_the_model_once(tmp_path: Path):
    hooks = {
        "PreToolUse": [group(printing(decision("", additionalContext="before")))],
        "PostToolUse": [group(printing({"hookSpecificOutput": {"additionalContext": "after"}}))],
        "PostToolUseFailure": [group(printing({"decision": "block", "reason": "failed"}))],
    }
    hooked = HookedAgent(tmp_path, hooks, LOOK, calls("bash", command="cat nothing"), "ok")

    await hooked.agent.prompt("go")

    added = [text for text in texts_of(hooked.agent) if "hook]" in text]
    assert added == [
        "[PreToolUse hook]\nbefore",
        "[PostToolUse hook]\nAbout the call of bash: after",
        "[PreToolUse hook]\nbefore",
        "[PostToolUseFailure hook]\nAbout the call of bash: failed",
    ]


async def test_results_of_calls_reach_the_hooks_after_them(tmp_path: Path):
    hooks = {
        "PostToolUse": [group(command("cat > $(date +%s%N).success"))],
        "PostToolUseFailure": [group(command("cat > failure"))],
    }
    script = calls("write_file", path="a.txt", content="x")
    failing = calls("bash", command="cat missing")
    hooked = HookedAgent(tmp_path, hooks, LOOK, script, failing, calls("nonsense"), "ok", approval="off")

    await hooked.agent.prompt("go")

    first, second = [hooked.read(path.name) for path in sorted(tmp_path.glob("*.success"))]
    assert (first["tool_name"], first["tool_response"]["stdout"]) == ("Bash", "looked\n")
    assert second["tool_response"]["filePath"] == str(tmp_path / "a.txt")
    failure = hooked.read("failure")
    assert (failure["tool_name"], failure["error"].splitlines()[0]) == ("Bash", "Exit code 1")


async def test_denied_call_has_no_event_after_it(tmp_path: Path):
    hooks = {each: [group(command(f"touch {each}"))] for each in ("PostToolUse", "PostToolUseFailure")}
    hooked = HookedAgent(tmp_path, hooks, calls("bash", command="touch made"), "ok")
    hooked.user.deny("no")

    await hooked.agent.prompt("go")

    assert list(tmp_path.glob("Post*")) == []


async def test_prompt_gets_the_context_that_its_hook_prints(tmp_path: Path):
    hooks = {"UserPromptSubmit": [group(command("cat > seen; echo branch main"))]}
    hooked = HookedAgent(tmp_path, hooks, "ok")

    await hooked.agent.prompt("go")

    assert hooked.read("seen")["prompt"] == "go"
    assert texts_of(hooked.agent) == ["go", "[UserPromptSubmit hook]\nbranch main"]


async def test_context_for_a_side_question_stays_out_of_the_conversation(tmp_path: Path):
    hooks = {"UserPromptSubmit": [group(command("cat >> seen; echo branch main"))]}
    hooked = HookedAgent(tmp_path, hooks, "answered", "ok")

    await hooked.agent.ask_side_question("why?", lambda _: None)
    await hooked.agent.prompt("go")

    assert texts_of(hooked.agent) == ["go", "[UserPromptSubmit hook]\nbranch main"]
    assert '"prompt": "why?"' in (tmp_path / "seen").read_text()


@pytest.mark.parametrize(
    "hook", [command("echo secret >&2; exit 2"), printing({"decision": "block", "reason": "secret"})]
)
async def test_blocked_prompt_reaches_no_model_and_is_reported(tmp_path: Path, hook: dict[str, Any]):
    hooked = HookedAgent(tmp_path, {"UserPromptSubmit": [group(hook)]}, "never")

    result = await hooked.agent.prompt("go")

    assert (result.rejection, len(hooked.agent.history)) == ("secret", 0)


async def test_failing_prompt_hook_loses_no_prompt(tmp_path: Path):
    hooks = {"UserPromptSubmit": [group(command("exit 1"), command("sleep 600", timeout=0.05))]}
    hooked = HookedAgent(tmp_path, hooks, "ok")

    result = await hooked.agent.prompt("go")

    assert (result.text, texts_of(hooked.agent)) == ("ok", ["go"])
    assert len(hooked.notices) == 2


async def test_stop_hook_continues_the_run_and_learns_that_it_did(tmp_path: Path):
    text = """cat >> seen; echo >> seen; [ -e done ] || { touch done; echo "run the tests" >&2; exit 2; }"""
    hooked = HookedAgent(tmp_path, {"Stop": [group(command(text))]}, "first", "second")

    result = await hooked.agent.prompt("go")

    first, second = (tmp_path / "seen").read_text().split("}\n")[:2]
    assert ('"stop_hook_active": false' in first, '"stop_hook_active": true' in second) == (True, True)
    assert result.text == "second"
    assert texts_of(hooked.agent)[1:] == ["[Stop hook]\nrun the tests"]


@pytest.mark.parametrize(("cap", "most"), [("", MOST_CONTINUATIONS), ("12", 12), ("many", MOST_CONTINUATIONS)])
async def test_stop_hook_cannot_continue_a_run_forever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cap: str, most: int
):
    monkeypatch.setenv(CONTINUATIONS, cap)
    replies = [f"reply {number}" for number in range(most + 2)]
    hooked = HookedAgent(tmp_path, {"Stop": [group(command("exit 2"))]}, *replies)

    result = await hooked.agent.prompt("go")

    assert result.text == f"reply {most}"
    assert f"{most} times" in hooked.notices[-1]


async def test_messages_of_hooks_are_shown_without_control_characters(tmp_path: Path):
    hooked = HookedAgent(tmp_path, {"Stop": [group(printing({"systemMessage": "look\x1b]0;x\x07 out"}))]}, "ok")

    await hooked.agent.prompt("go")

    assert hooked.notices == ["look out"]


async def test_agent_without_hooks_of_an_event_runs_nothing(tmp_path: Path):
    hooked = HookedAgent(tmp_path, {"Stop": [group(command("true"))]}, LOOK, "ok")
    events: list[Any] = []
    hooked.agent.subscribe(events.append)

    await hooked.agent.prompt("go")

    assert [each for each in events if isinstance(each, HookRan)] == []
    assert isinstance(events[-1], AgentEnd)


def _sdk_types() -> ModuleType:
    """Return the types of the SDK, without the package around them, which takes seconds to import."""
    package = find_spec("claude_agent_sdk")
    assert package is not None
    assert package.origin is not None
    spec = spec_from_file_location("sdk_types", Path(package.origin).with_name("types.py"))
    assert spec is not None
    assert spec.loader is not None
    types = module_from_spec(spec)
    sys.modules["sdk_types"] = types
    spec.loader.exec_module(types)
    return types


@pytest.mark.requires_module("claude_agent_sdk")
@pytest.mark.parametrize(
    "event",
    [
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "UserPromptSubmit",
        "Stop",
        "SubagentStop",
        "PreCompact",
        "Notification",
    ],
)
async def test_events_have_the_types_of_the_claude_agent_sdk(tmp_path: Path, event: HookEvent):
    types = _sdk_types()
    hooked = HookedAgent(tmp_path, {event: [group(command("cat > seen"))]})

    [trial] = await hooked.session.dispatcher.test(event)

    assert trial.output.exit_code == 0
    convert(hooked.read("seen"), getattr(types, f"{event}HookInput"))
