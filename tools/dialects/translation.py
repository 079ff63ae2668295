"""Dialect that renames tools and their arguments in requests, and back in the calls of replies."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Set
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from harness.codec import parsed_arguments
from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta, Done
from harness.instructions.loading import INSTRUCTION_FILE
from harness.messages import (
    AssistantContent,
    AssistantMessage,
    JsonObject,
    JsonValue,
    ModelMessage,
    ToolCall,
    ToolResult,
)
from harness.ports.dialect import Dialect
from harness.ports.provider import Provider, Request, ToolSpec
from tools.dialects.own import OwnNames

_NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b|(?<=`)[a-z]+(?=`)")
"""Name of a tool or an argument in a text: without an underscore, such as `grep`, it may be an ordinary word."""


class ToolNames(Struct, frozen=True):
    """A tool of cinch in a dialect."""

    name: str
    """Its name."""
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    """Arguments with another name in cinch: that name by the one of the dialect."""
    milliseconds: frozenset[str] = frozenset()
    """Arguments of the dialect in milliseconds that are seconds in cinch."""
    absent: frozenset[str] = frozenset()
    """Parameters of cinch that the dialect does not have."""
    unused: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """Parameters, by name, that only the dialect has; their values have no effect."""
    unused_in: Mapping[str, Mapping[str, JsonObject]] = field(default_factory=dict[str, Mapping[str, JsonObject]])
    """The same in the objects of a list, by the name of the list."""

    @property
    def sent(self) -> dict[str, str]:
        """Arguments with another name in the dialect: that name by the one of cinch."""
        return {own: name for name, own in self.arguments.items()}


class RenamedTools(OwnNames):
    """A dialect with tools under other names."""

    def __init__(
        self,
        name: str,
        tools: Mapping[str, ToolNames],
        mentions: Mapping[str, str] = {},
        replaced: Mapping[str, Set[str]] = {},
    ) -> None:
        """Create a dialect.

        Args:
            name: Its name.
            tools: Names in the dialect by the names of the tools.
            mentions: Names in texts for the model of tools that replace others, by the names of those.
            replaced: Names of tools that are not offered with another one, by the name of that one.
        """
        super().__init__(name, replaced)
        self._tools = tools
        self._own = {each.name: own for own, each in tools.items()}
        self._mentions = {own: each.name for own, each in tools.items()} | dict(mentions)

    def name_of(self, tool: str) -> str:
        return self._mentions.get(tool, tool)

    def stream(self, provider: Provider, request: Request) -> AsyncIterator[Delta]:
        return self._among({each.name for each in request.tools}).translated(provider, request)

    def _among(self, offered: Set[str]) -> RenamedTools:
        """Return the dialect for these tools.

        A tool whose name in the dialect another one has keeps the name of cinch, and so does one that nothing replaces.
        """
        taken = self._own.keys() & offered
        kept = {own for own in self._mentions.keys() & offered if own not in self._tools}
        if not (taken or kept):
            return self
        tools = {own: each for own, each in self._tools.items() if each.name not in taken}
        mentions = {own: name for own, name in self._mentions.items() if name not in taken and own not in kept}
        return RenamedTools(self._name, tools, mentions)

    async def translated(self, provider: Provider, request: Request) -> AsyncIterator[Delta]:
        """Stream the reply to a request whose tools have none of the names of the dialect."""
        deltas = provider.stream(self._sent(request))
        arguments: dict[int, _Arguments] = {}
        try:
            async for delta in deltas:
                for each in self._received(delta, arguments):
                    yield each
        finally:
            if isinstance(deltas, AsyncGenerator):
                await deltas.aclose()

    def _received(self, delta: Delta, arguments: dict[int, _Arguments]) -> list[Delta]:
        match delta:
            case BlockStart(index, "tool_call", name=name) if name in self._own:
                arguments[index] = _Arguments(self._tools[self._own[name]])
                return [replace(delta, name=self._own[name])]
            case BlockDelta(index, text) if index in arguments:
                arguments[index].text += text
                return []
            case BlockEnd(index) if index in arguments:
                return [*arguments.pop(index).deltas(index), delta]
            case Done():
                # A reply that was cut off leaves calls without an end.
                return [*(each for index, held in arguments.items() for each in held.deltas(index)), delta]
            case _:
                return [delta]

    def _sent(self, request: Request) -> Request:
        own, start, files = request.system.partition(INSTRUCTION_FILE)
        return replace(
            request,
            system=f"{self._renamed_text(own)}{start}{files}",
            messages=tuple(self._sent_message(each) for each in request.messages),
            tools=tuple(self._sent_spec(each) for each in request.tools),
        )

    def _renamed_text(self, text: str, arguments: Mapping[str, str] = {}) -> str:
        """Return a text with the names of tools, and of these arguments, in the dialect."""
        return _NAME.sub(lambda match: self._mentions.get(match[0]) or arguments.get(match[0], match[0]), text)

    def _sent_spec(self, spec: ToolSpec) -> ToolSpec:
        names = self._tools.get(spec.name)
        description = self._renamed_text(spec.description, names.sent if names else {})
        # The service knows its own tool by the name that the provider gives it.
        if names is None or spec.hosting:
            return replace(spec, description=description)
        return replace(spec, name=names.name, description=description, parameters=_sent_schema(spec.parameters, names))

    def _sent_message(self, message: ModelMessage) -> ModelMessage:
        match message:
            case ToolResult(tool_name=name) if name in self._tools:
                return replace(message, tool_name=self._tools[name].name)
            case AssistantMessage() if any(call.name in self._tools for call in message.tool_calls):
                return replace(message, content=tuple(self._sent_block(block) for block in message.content))
            case _:
                return message

    def _sent_block(self, block: AssistantContent) -> AssistantContent:
        if not isinstance(block, ToolCall) or block.name not in self._tools:
            return block
        names = self._tools[block.name]
        return replace(block, name=names.name, arguments=_sent_arguments(block.arguments, names))


class _Arguments:
    """Arguments of a call while they are received."""

    def __init__(self, names: ToolNames) -> None:
        self.text = ""
        self._names = names

    def deltas(self, index: int) -> list[Delta]:
        try:
            given = parsed_arguments(self.text)
        except ValueError:
            # As the model wrote it, so that the error names what it wrote.
            return [BlockDelta(index, self.text)]
        return [BlockDelta(index, json.dumps(_own_arguments(given, self._names), ensure_ascii=False))]


def _own_arguments(given: JsonObject, names: ToolNames) -> JsonObject:
    """Return the arguments of a call as cinch names them."""
    own: JsonObject = {}
    for key, value in given.items():
        if key in names.unused:
            continue
        own[names.arguments.get(key, key)] = _own_value(key, value, names)
    return own


def _own_value(key: str, value: JsonValue, names: ToolNames) -> JsonValue:
    if key in names.milliseconds and isinstance(value, int | float):
        return value / 1000
    if key in names.unused_in and isinstance(value, list):
        unused = names.unused_in[key]
        return [
            {k: v for k, v in each.items() if k not in unused} if isinstance(each, dict) else each for each in value
        ]
    return value


def _sent_arguments(own: JsonObject, names: ToolNames) -> JsonObject:
    """Return the arguments of a call as the dialect names them."""
    theirs = names.sent
    sent: JsonObject = {}
    for own_name, value in own.items():
        key = theirs.get(own_name, own_name)
        is_time = key in names.milliseconds and isinstance(value, int | float)
        sent[key] = round(value * 1000) if is_time and isinstance(value, int | float) else value
    return sent


def _sent_schema(schema: JsonObject, names: ToolNames) -> JsonObject:
    """Return the schema of a tool with the parameters of the dialect."""
    theirs = names.sent
    properties, required = schema.get("properties"), schema.get("required")
    own = properties if isinstance(properties, dict) else {}
    shown: JsonObject = {
        theirs.get(name, name): _sent_property(theirs.get(name, name), each, names)
        for name, each in own.items()
        if name not in names.absent
    }
    needed = [theirs.get(str(name), name) for name in required] if isinstance(required, list) else []
    sent: JsonObject = {**schema, "properties": {**shown, **names.unused}}
    return {**sent, "required": needed} if needed else sent


def _sent_property(name: str, schema: JsonValue, names: ToolNames) -> JsonValue:
    if not isinstance(schema, dict):
        return schema
    if name in names.milliseconds:
        default = schema.get("default")
        times: JsonObject = {"default": round(default * 1000)} if isinstance(default, int | float) else {}
        return {"type": "number", "description": "In milliseconds; at most 600000.", **times}
    items = schema.get("items")
    if name in names.unused_in and isinstance(items, dict) and isinstance(inner := items.get("properties"), dict):
        return {**schema, "items": {**items, "properties": {**inner, **names.unused_in[name]}}}
    return schema


if TYPE_CHECKING:
    _: type[Dialect] = RenamedTools
