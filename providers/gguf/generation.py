"""Text generation with a loaded model: the prompt from its chat template, the reply token by token.

Runs in the thread that owns the model.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Sequence
from typing import Any

from jinja2 import TemplateError
from llama_cpp.llama_chat_format import Jinja2ChatFormatter
from llama_cpp.llama_grammar import json_schema_to_gbnf

from harness.deltas import Delta, Done
from harness.errors import ContextWindowOverflow, RequestRejected
from harness.messages import Usage
from harness.ports.provider import Request
from providers.gguf.abort_flag import Flag
from providers.gguf.encode import TEMPLATE_VARIANTS, TemplateVariant, encode
from providers.gguf.engine import Aborted, Engine
from providers.gguf.header import Header
from providers.gguf.token_escaping import TokenEscaper
from providers.wire.blocks import BlockWriter
from providers.wire.encoding import function_tool
from providers.wire.text_tool_calls import THINK, TextToolCalls, dialects_in
from providers.wire.usage_reports import UsageReports

DEFAULT_TEMPERATURE = 0.8
# Least tokens that a prompt must leave for the reply.
LEAST_ROOM = 256


class Generator:
    """A model with its template; handles one request at a time."""

    def __init__(self, engine: Engine, header: Header) -> None:
        self._engine = engine
        self._header = header
        self._formatter = Jinja2ChatFormatter(header.template, engine.end, engine.begin)
        self._spelling = TokenEscaper(engine.controls())
        self._variant = TEMPLATE_VARIANTS[0]

    def close(self) -> None:
        self._engine.close()

    def answer(self, request: Request, flag: Flag, emit: Callable[[Sequence[Delta]], None]) -> None:
        """Pass the deltas of a reply to `emit` as they are generated; ends without `Done` when the flag is set.

        Raises:
            ContextWindowOverflow: The prompt is too long.
            RequestRejected: The template or llama.cpp does not accept the request.
            StreamError: llama.cpp failed.
        """
        prompt = self._prompt(request)
        tokens = self._engine.tokens_of(prompt)
        room = self._room(request, len(tokens))
        grammar = _grammar(request)
        in_thought = prompt.rstrip().endswith(THINK) and not grammar
        parser = TextToolCalls(request.tools, dialects_in(self._header.template), in_thought=in_thought)
        blocks, reports = BlockWriter(), UsageReports()
        utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._engine.set_abort_flag(flag)
        written = 0
        try:
            kept = self._engine.reuse_prefix(tokens)
            self._engine.read(tokens[kept:])
            for piece in self._engine.generate(self._temperature(request), grammar, room):
                written += 1
                if reports.is_due(written):
                    emit([reports.report(Usage(len(tokens) - kept, written, cache_read=kept))])
                if text := utf8.decode(piece):
                    emit([*blocks.write(parser.feed(text))])
        except Aborted:
            return
        usage = Usage(len(tokens) - kept, written, cache_read=kept)
        rest = [*parser.feed(utf8.decode(b"", final=True)), *parser.finish()]
        emit([*blocks.write(rest), *blocks.close()])
        stop = "length" if written == room else "tool_use" if blocks.has_calls else "stop"
        emit([Done(stop, usage)])

    def _prompt(self, request: Request) -> str:
        """Return the prompt in the first variant that the template accepts."""
        errors: list[Exception] = []
        # The last accepted variant first.
        for variant in sorted(TEMPLATE_VARIANTS, key=lambda variant: variant != self._variant):
            try:
                prompt = self._written(request, variant)
            except (TemplateError, ValueError, TypeError) as error:
                errors.append(error)
            else:
                self._variant = variant
                return prompt
        raise RequestRejected(
            f"the chat template of {request.spec.name} does not accept this request: {errors[0]}"
        ) from errors[0]

    def _written(self, request: Request, variant: TemplateVariant) -> str:
        # The bindings' message types are stricter than templates.
        messages: Any = self._spelling.escaped(encode(request, variant))
        tools: Any = self._spelling.escaped([function_tool(tool) for tool in request.tools]) or None
        thinks = request.spec.thinking != "off" and (request.output_schema is None or bool(request.tools))
        return self._formatter(messages=messages, tools=tools, enable_thinking=thinks).prompt

    def _room(self, request: Request, prompt: int) -> int:
        """Return the largest number of tokens for the reply."""
        window = self._engine.window
        if window - prompt < min(LEAST_ROOM, window // 8):
            raise ContextWindowOverflow(
                f"the prompt has {prompt:,} tokens, more than the context window of {request.spec.name} ({window:,}); "
                "to enlarge it: export CINCH_LOCAL_CONTEXT=65536"
            )
        return min(request.max_tokens or window, window - prompt)

    def _temperature(self, request: Request) -> float:
        # The vendor's recommendation, if the file contains one.
        advised = self._header.fields.get("general.sampling.temp")
        default = advised if isinstance(advised, float) else DEFAULT_TEMPERATURE
        return default if request.temperature is None else request.temperature


def _grammar(request: Request) -> str:
    """Return the output schema as a grammar; empty if a grammar cannot express it."""
    if request.output_schema is None or request.tools:
        return ""
    try:
        return json_schema_to_gbnf(json.dumps(request.output_schema.schema))
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError):
        return ""
