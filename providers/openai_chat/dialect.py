"""Dialect of Chat Completions that a server supports; not all differences are known in advance."""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from harness.messages import JsonObject, ModelSpec
from providers.endpoint import Endpoint
from providers.openai_chat.models import effort_for, gpt_version, reasons
from providers.preset import Preset
from providers.wire.encoding import effort_name, nine_letters, safe_name

# Errors about an unknown parameter, as opposed to a wrong value.
_UNKNOWN = (
    r"un(supported|known|recogni|expected)|not (supported|permitted|allowed|one of)|extra (inputs|fields)|instead"
)
_USER_AFTER_RESULT = r"unexpected role .user. after role .tool"
_THOUGHTS_WANTED = r"reasoning_content\b.{0,60}(must be passed back|is missing)"
_THOUGHTS_UNWANTED = r"messages?\b.{0,99}\breasoning(_content|_details)?\b"
# Supported effort levels change with the versions; an unsupported one is rejected like an unknown parameter.
_OTHER_EFFORT = r"(reasoning|thinking|effort).{0,200}(input should be|must be one of|invalid value|please use|disable)"
GENERIC = "openai-chat"
"""Preset for any server with Chat Completions."""
COMMON = Preset("", "", "openai_chat", "")
"""Preset of a server without known features."""
# Optional fields.
OPTIONAL = (
    *("stream_options", "tool_stream", "chat_template_kwargs"),
    *("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "session_id"),
)


class Dialect(Struct, frozen=True):
    """Variant of Chat Completions: the preset's, less what the server rejected so far."""

    preset: Preset = COMMON
    enforces_schema: bool = True
    returns_thinking: bool = True

    def adapted_to(self, error: str) -> Dialect | None:
        """Return the dialect without what the server just rejected; None if the error is about something else."""
        # Also for schemas that are too large or not supported.
        if self.enforces_schema and "response_format" in error:
            return replace(self, enforces_schema=False)
        if adapted := self._for_conversation(error.lower()):
            return adapted
        return self._without_field(error) if re.search(_UNKNOWN, error.lower()) else None

    def _without_field(self, error: str) -> Dialect | None:
        if optional := next((name for name in OPTIONAL if name in error and name not in self.preset.without), ""):
            return self._with(without=(*self.preset.without, optional))
        if "max_completion_tokens" in error:
            is_old = self.preset.max_tokens_field == "max_tokens"
            return self._with(max_tokens_field="max_completion_tokens" if is_old else "max_tokens")
        if self._sets_thinking and re.search("reasoning|thinking", error):
            return self._with(reasoning="none", thinking=())
        if self.preset.system_role == "developer" and ("developer" in error or "role" in error):
            return self._with(system_role="system")
        return None

    def _with(self, **changes: object) -> Dialect:
        # Names and types of the fields are those of `replace`.
        return replace(self, preset=replace(self.preset, **changes))  # pyright: ignore[reportArgumentType]

    @property
    def _sets_thinking(self) -> bool:
        return self.preset.reasoning != "none" or bool(self.preset.thinking)

    def _for_conversation(self, error: str) -> Dialect | None:
        """Return the dialect for what a server requires of the conversation and of thinking; gateways also have such
        models."""
        if not self.preset.reply_after_results and re.search(_USER_AFTER_RESULT, error):
            return self._with(reply_after_results=True)
        if not self.preset.keeps_thinking and re.search(_THOUGHTS_WANTED, error):
            return self._with(keeps_thinking=True)
        if self.returns_thinking and re.search(_THOUGHTS_UNWANTED, error) and re.search(_UNKNOWN, error):
            return replace(self._with(keeps_thinking=False), returns_thinking=False)
        if self._sets_thinking and re.search(_OTHER_EFFORT, error):
            return self._with(reasoning="none", thinking=())
        return None

    def reasoning_fields(self, spec: ModelSpec, *, with_tools: bool) -> JsonObject:
        """Return the fields that set the reasoning effort."""
        level, model_id = spec.thinking, spec.model_id
        match self.preset.reasoning:
            case "openai":
                # From 5.2 on, OpenAI's models support tools in this API only without reasoning.
                without = with_tools and gpt_version(model_id) >= (5, 2)
                effort = effort_for(model_id, "off" if without else level)
                return {"reasoning_effort": effort} if effort else {}
            case "openrouter":
                return {"reasoning": {"effort": effort_name(level)}} if level != "off" else {}
            case "none":
                rule = next((rule for rule in self.preset.thinking if rule.applies_to(model_id)), None)
                return rule.fields(level) if rule else {}

    def supports_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        """Return True if the thinking level of `spec` changes a request."""
        off = self.reasoning_fields(replace(spec, thinking="off"), with_tools=with_tools)
        return self.reasoning_fields(spec, with_tools=with_tools) != off

    def supports_temperature(self, model_id: str) -> bool:
        """Return True if the model accepts a temperature."""
        return self.preset.takes_temperature and (self.preset.reasoning != "openai" or not reasons(model_id))

    def tool_id(self, call_id: str) -> str:
        """Return a call id in the format of the service, deterministic for each id."""
        return nine_letters(call_id) if self.preset.tool_ids == "nine" else safe_name(call_id)


def dialect_of(endpoint: Endpoint) -> Dialect:
    """Return the dialect of the endpoint's preset, also behind a gateway.

    Only the generic preset uses the most compatible dialect for other servers. A gateway gets no session id, which is
    for the vendor's own routing.
    """
    preset = endpoint.preset
    if endpoint.is_vendors_own:
        return Dialect(preset)
    if preset.name == GENERIC:
        return Dialect(replace(COMMON, tool_call_content="empty"))
    return Dialect(replace(preset, cache=replace(preset.cache, key="", header="")))
