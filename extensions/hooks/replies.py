"""Replies of hooks: exit codes and JSON, read as a decision, and the decisions of several hooks as one.

Source: https://code.claude.com/docs/en/hooks, "Hook input and output".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from extensions.hooks.config import HookEvent
from harness.messages import JsonObject, JsonValue
from harness.truncation import truncate
from tools.untrusted_text import cleaned_text

MOST_CHARS = 10_000
"""Maximum length of a text from a hook."""
BLOCKED = 2
"""Exit code of a hook that blocks."""
_NO_REASON = "a hook blocked this without a reason"

Permission: TypeAlias = Literal["", "allow", "ask", "deny"]
_NOTHING: Permission = ""
_STRICTEST_FIRST: tuple[Permission, ...] = ("deny", "ask", "allow")
_PERMISSIONS: Mapping[str, Permission] = {"": _NOTHING, **{each: each for each in _STRICTEST_FIRST}}
_PLAIN_TEXT: tuple[HookEvent, ...] = ("UserPromptSubmit", "SessionStart")
"""Events whose hooks add what they print to the context."""
_DECISIONS: Mapping[str, Permission] = {"approve": "allow", "block": "deny"}
"""Earlier form of the decision about a call."""


class HookOutput(Struct, frozen=True):
    """Output of a hook."""

    exit_code: int | None = None
    """Exit code; None if it was killed or never started. 0 for an endpoint that replied."""
    stdout: str = ""
    """Standard output, or the body of the response."""
    stderr: str = ""
    """Standard error."""
    duration: float = 0.0
    """Seconds."""
    failure: str = ""
    """Reason it did not run to its end; empty if it did."""
    is_answer: bool = False
    """True if standard output is the answer of a model: `{"ok": …}`."""


class HookReply(Struct, frozen=True):
    """Decision of a hook, or of all hooks of an event."""

    permission: Permission = ""
    """Decision about a call; `deny` also blocks what other events are about."""
    reason: str = ""
    """Reason of the decision."""
    updated_input: JsonObject | None = None
    """Other arguments for the call, as Claude Code names them."""
    context: str = ""
    """Information for the model."""
    stops: bool = False
    """True to end the run."""
    stop_reason: str = ""
    """Reason for that, for the user."""
    message: str = ""
    """Message for the user."""
    problem: str = ""
    """Reason the output could not be used."""

    @property
    def blocks(self) -> bool:
        return self.permission == "deny"


def read_reply(event: HookEvent, output: HookOutput) -> HookReply:
    """Return the decision in the output of a hook."""
    if output.failure:
        return HookReply(problem=output.failure)
    if output.is_answer:
        return _from_answer(output.stdout)
    text = output.stdout.strip()
    data = _json_object(text)
    blocks = output.exit_code == BLOCKED
    if data is not None:
        reply = _from_json(event, data)
        if blocks:
            reason = reply.reason if reply.blocks and reply.reason else _clean(output.stderr)
            return replace(reply, permission="deny", reason=reason or _NO_REASON, problem="")
        if not output.exit_code or reply != HookReply():
            return reply
    if blocks:
        return HookReply(permission="deny", reason=_clean(output.stderr) or _NO_REASON)
    if output.exit_code:
        first = next(iter(_clean(output.stderr).splitlines()), "")
        return HookReply(problem=f"exit code {output.exit_code}{': ' if first else ''}{first}")
    return HookReply(context=_clean(text) if event in _PLAIN_TEXT else "")


def merged(replies: Sequence[HookReply]) -> HookReply:
    """Return the decision of several hooks: the strictest counts, and the last new arguments."""
    strictest = _strictest({each.permission for each in replies})
    updates = [each.updated_input for each in replies if each.updated_input is not None]
    return HookReply(
        strictest,
        _joined(each.reason for each in replies if each.permission == strictest and strictest),
        updates[-1] if updates and strictest != "deny" else None,
        _joined(each.context for each in replies),
        any(each.stops for each in replies),
        _joined(each.stop_reason for each in replies if each.stops),
        _joined(each.message for each in replies),
        _joined(each.problem for each in replies),
    )


def _strictest(given: Set[Permission]) -> Permission:
    for each in _STRICTEST_FIRST:
        if each in given:
            return each
    return ""


def _json_object(text: str) -> JsonObject | None:
    """Return the object in a text; None if it is plain text."""
    if not text.startswith("{"):
        return None
    try:
        # Line breaks within texts are accepted: models write them.
        data: JsonValue = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _from_answer(text: str) -> HookReply:
    """Return the decision in the answer of a model, which may have text or a fence around its JSON."""
    data = _json_object(text[text.find("{") : text.rfind("}") + 1]) or {}
    if not isinstance(data.get("ok"), bool):
        return HookReply(problem='the model did not answer with {"ok": true} or {"ok": false}')
    if data["ok"]:
        return HookReply()
    reason = data.get("reason")
    return HookReply("deny", (_clean(reason) if isinstance(reason, str) else "") or _NO_REASON)


class _Fields:
    """Reads texts, and notes those that are none."""

    def __init__(self, data: JsonObject, specific: JsonObject) -> None:
        self.data = data
        self.specific = specific
        self.invalid: list[str] = []

    def text(self, name: str, table: JsonObject) -> str:
        value = table.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.invalid.append(name)
            return ""
        return _clean(value)


def _from_json(event: HookEvent, data: JsonObject) -> HookReply:
    specific = data.get("hookSpecificOutput")
    specific = specific if isinstance(specific, dict) else {}
    reader = _Fields(data, specific)
    permission, reason = _permission(event, reader)
    updated, message = specific.get("updatedInput"), reader.text("systemMessage", data)
    reply = HookReply(
        permission,
        reason or (message or _NO_REASON if permission == "deny" else ""),
        updated if event == "PreToolUse" and isinstance(updated, dict) else None,
        reader.text("additionalContext", specific) or reader.text("additionalContext", data),
        data.get("continue") is False,
        reader.text("stopReason", data),
        message,
    )
    if reader.invalid:
        return HookReply(problem=f"its JSON has an invalid {' and '.join(reader.invalid)}")
    return reply


def _permission(event: HookEvent, fields: _Fields) -> tuple[Permission, str]:
    """Return the decision and its reason."""
    decision = fields.text("decision", fields.data)
    reason = fields.text("reason", fields.data)
    if event != "PreToolUse":
        if decision not in ("", "block", "approve"):
            fields.invalid.append("decision")
        blocks = decision == "block"
        return ("deny", reason) if blocks else ("", "")
    wanted = fields.text("permissionDecision", fields.specific)
    if wanted == "defer":
        # There is no caller to resume the call: the user decides.
        wanted = "ask"
    found = _PERMISSIONS.get(wanted)
    if found is None or (decision and decision not in _DECISIONS):
        fields.invalid.append("permissionDecision" if found is None else "decision")
        return "", ""
    if found:
        reason = fields.text("permissionDecisionReason", fields.specific) or reason
    permission = found or _DECISIONS.get(decision, _NOTHING)
    return permission, reason


def _clean(text: str) -> str:
    """Return a text without control characters and of limited length."""
    text = text if len(text) <= 2 * MOST_CHARS else text[: 2 * MOST_CHARS]
    return truncate(cleaned_text(text).strip(), MOST_CHARS, lambda gone: f"[… {gone:,} characters left out …]")


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(dict.fromkeys(filter(None, texts)))
