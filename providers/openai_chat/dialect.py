"""How one server wants Chat Completions written: the dialects differ, and not all of it is known beforehand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Literal

from harness.lazy_dataclass import dataclass
from harness.messages import JsonObject, JsonValue, ModelSpec
from harness.ports.provider import Request
from harness.thinking_level import ThinkingLevel
from providers.catalog import CacheRule, ThinkingRule
from providers.endpoint import Endpoint
from providers.openai_chat.models import EFFORTS, effort_for, gpt_version, reasons
from providers.wire.names import nine_letters, safe_name

# How servers say that they do not know a parameter, and not that its value is wrong.
_UNKNOWN = (
    r"un(supported|known|recogni|expected)|not (supported|permitted|allowed|one of)|extra (inputs|fields)|instead"
)
_USER_AFTER_RESULT = r"unexpected role .user. after role .tool"
_THOUGHTS_WANTED = r"reasoning_content\b.{0,60}(must be passed back|is missing)"
_THOUGHTS_UNWANTED = r"messages?\b.{0,99}\breasoning(_content|_details)?\b"
# How much a model may be told to think changes with its versions: a wrong word is as bad as an unknown one.
_OTHER_EFFORT = r"(reasoning|thinking|effort).{0,200}(input should be|must be one of|invalid value|please use|disable)"
GENERIC = "openai-chat"
"""The preset for any server that speaks Chat Completions."""
# Fields that a request also makes sense without.
DISPENSABLE = (
    *("stream_options", "tool_stream", "chat_template_kwargs"),
    *("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "session_id"),
)


@dataclass(frozen=True, slots=True)
class Dialect:
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    system_role: Literal["system", "developer"] = "system"
    reasoning: Literal["none", "openai", "openrouter"] = "none"
    tool_call_content: Literal["null", "empty"] = "null"
    stream_usage: bool = True
    enforces_schema: bool = True
    thinking: Sequence[ThinkingRule] = ()
    keeps_thinking: bool = False
    returns_thinking: bool = True
    tool_ids: Literal["any", "nine"] = "any"
    reply_after_results: bool = False
    takes_temperature: bool = True
    without: Sequence[str] = ()
    with_tools: JsonObject = field(default_factory=dict[str, JsonValue])
    cache: CacheRule = field(default_factory=CacheRule)

    def without_refused(self, refusal: str) -> Dialect | None:
        """The dialect without what the server just refused; None if the refusal is about something else."""
        # Refused is also a schema that is too large, or that says what the service has no way to keep to.
        if self.enforces_schema and "response_format" in refusal:
            return replace(self, enforces_schema=False)
        if talk := self._mended_talk(refusal.lower()):
            return talk
        return self._mended_fields(refusal) if re.search(_UNKNOWN, refusal.lower()) else None

    def _mended_fields(self, refusal: str) -> Dialect | None:
        if dispensable := next((name for name in DISPENSABLE if name in refusal and name not in self.without), ""):
            return replace(self, without=(*self.without, dispensable))
        if "max_completion_tokens" in refusal:
            is_old = self.max_tokens_field == "max_tokens"
            return replace(self, max_tokens_field="max_completion_tokens" if is_old else "max_tokens")
        if self._is_told_to_think and re.search("reasoning|thinking", refusal):
            return replace(self, reasoning="none", thinking=())
        if self.system_role == "developer" and ("developer" in refusal or "role" in refusal):
            return replace(self, system_role="system")
        return None

    @property
    def _is_told_to_think(self) -> bool:
        return self.reasoning != "none" or bool(self.thinking)

    def _mended_talk(self, refusal: str) -> Dialect | None:
        """The same for what a server wants of the conversation and of thinking; others too have models that insist."""
        if not self.reply_after_results and re.search(_USER_AFTER_RESULT, refusal):
            return replace(self, reply_after_results=True)
        if not self.keeps_thinking and re.search(_THOUGHTS_WANTED, refusal):
            return replace(self, keeps_thinking=True)
        if self.returns_thinking and re.search(_THOUGHTS_UNWANTED, refusal) and re.search(_UNKNOWN, refusal):
            return replace(self, returns_thinking=False, keeps_thinking=False)
        if self._is_told_to_think and re.search(_OTHER_EFFORT, refusal):
            return replace(self, reasoning="none", thinking=())
        return None

    def reasoning_fields(self, request: Request) -> JsonObject:
        """What tells the model how hard to think."""
        return self._reasoning(request.spec, with_tools=bool(request.tools))

    def _reasoning(self, spec: ModelSpec, *, with_tools: bool) -> JsonObject:
        level, model_id = spec.thinking, spec.model_id
        match self.reasoning:
            case "openai":
                effort = _openai_effort(model_id, level, with_tools=with_tools)
                return {"reasoning_effort": effort} if effort else {}
            case "openrouter":
                return {"reasoning": {"effort": EFFORTS[level]}} if level != "off" else {}
            case "none":
                rule = next((rule for rule in self.thinking if rule.applies_to(model_id)), None)
                return rule.fields(level) if rule else {}

    def heeds_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        """Whether the thinking level of `spec` changes a request."""
        fields = [self._reasoning(each, with_tools=with_tools) for each in (spec, replace(spec, thinking="off"))]
        return fields[0] != fields[1]

    def heeds_temperature(self, model_id: str) -> bool:
        """Whether the model has a temperature that can be set."""
        return self.takes_temperature and (self.reasoning != "openai" or not reasons(model_id))

    def tool_id(self, call_id: str) -> str:
        """The id of a call in the letters that the service takes, always the same for the same one."""
        return nine_letters(call_id) if self.tool_ids == "nine" else safe_name(call_id)


def dialect_of(endpoint: Endpoint) -> Dialect:
    """The dialect of the preset, also behind a gateway.

    Only the generic preset speaks the least common dialect to servers that are not its vendor's. A gateway gets no
    session id, which is for the vendor's own routing.
    """
    preset = endpoint.preset
    if not endpoint.is_vendors_own and preset.name == GENERIC:
        return Dialect(tool_call_content="empty")
    return Dialect(
        preset.max_tokens_field,
        preset.system_role,
        preset.reasoning,
        preset.tool_call_content,
        preset.stream_usage,
        thinking=preset.thinking,
        keeps_thinking=preset.keeps_thinking,
        tool_ids=preset.tool_ids,
        reply_after_results=preset.reply_after_results,
        takes_temperature=preset.takes_temperature,
        without=preset.without,
        with_tools=preset.with_tools,
        cache=preset.cache if endpoint.is_vendors_own else replace(preset.cache, key="", header=""),
    )


def _openai_effort(model_id: str, level: ThinkingLevel, *, with_tools: bool) -> str | None:
    # From 5.2 on, OpenAI lets a model use tools here only if it does not reason.
    return effort_for(model_id, "off" if with_tools and gpt_version(model_id) >= (5, 2) else level)
