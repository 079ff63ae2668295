"""Exit codes and JSON of hooks, read as decisions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extensions.hooks.replies import MOST_CHARS, HookOutput, HookReply, merged, read_reply

DENY = {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}
ALLOW = {"hookSpecificOutput": {"permissionDecision": "allow"}}


@pytest.mark.parametrize(
    ("code", "stdout", "stderr", "expected"),
    [
        (0, "", "", HookReply()),
        (0, "text", "", HookReply()),
        (0, DENY, "", HookReply("deny", "no")),
        (1, DENY, "ignored", HookReply("deny", "no")),
        (2, "", "no\n", HookReply("deny", "no")),
        (2, ALLOW, "no", HookReply("deny", "no")),
        (2, DENY, "other", HookReply("deny", "no")),
        (0, {"decision": "approve"}, "", HookReply("allow")),
        (0, {"decision": "block", "reason": "no"}, "", HookReply("deny", "no")),
        (0, {"decision": "block", "systemMessage": "no"}, "", HookReply("deny", "no", message="no")),
        (0, {"continue": False, "stopReason": "end"}, "", HookReply(stops=True, stop_reason="end")),
        (0, {"suppressOutput": True, "systemMessage": "hi"}, "", HookReply(message="hi")),
        (127, "", "sh: x: not found\nmore", HookReply(problem="exit code 127: sh: x: not found")),
        (1, {"result": "block"}, "", HookReply(problem="exit code 1")),
        (0, "{not json", "", HookReply()),
        (0, "[1]", "", HookReply()),
        (0, {"decision": 7}, "", HookReply(problem="its JSON has an invalid decision")),
        (0, {"hookSpecificOutput": {"permissionDecision": "maybe"}}, "", None),
        (0, {"hookSpecificOutput": {"permissionDecision": "defer"}}, "", HookReply("ask")),
    ],
)
def test_exit_codes_and_json_of_pre_tool_use(code: int, stdout: Any, stderr: str, expected: HookReply | None):
    text = stdout if isinstance(stdout, str) else json.dumps(stdout)

    reply = read_reply("PreToolUse", HookOutput(code, text, stderr))

    assert reply == (expected or HookReply(problem="its JSON has an invalid permissionDecision"))


def test_plain_text_is_context_only_before_prompts_and_at_the_start():
    output = HookOutput(0, "branch main")

    assert (
        read_reply("UserPromptSubmit", output) == read_reply("SessionStart", output) == HookReply(context="branch main")
    )
    assert read_reply("PostToolUse", output) == read_reply("PreCompact", output) == HookReply()


def test_only_calls_can_be_allowed():
    assert read_reply("Stop", HookOutput(0, json.dumps({"decision": "approve"}))) == HookReply()


def test_texts_are_cleaned_and_bounded():
    long = {"decision": "block", "reason": "\x1b[2Jx" * MOST_CHARS}

    reason = read_reply("Stop", HookOutput(0, json.dumps(long))).reason

    assert len(reason) < MOST_CHARS + 100
    assert "\x1b" not in reason


def test_strictest_reply_gives_the_reason_and_all_give_context():
    replies = [
        HookReply("allow", "fine", {"a": 1}, context="one"),
        HookReply("ask", "sure?", {"a": 2}, context="two"),
        HookReply(),
    ]

    assert merged(replies) == HookReply("ask", "sure?", {"a": 2}, "one\ntwo")
    assert merged([*replies, HookReply("deny", "no")]) == HookReply("deny", "no", None, "one\ntwo")
    assert merged([]) == HookReply()
