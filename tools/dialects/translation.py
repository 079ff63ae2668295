"""Dialect that renames tools and their arguments in requests, and back in the calls of replies."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Set
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from harness.agent.tool_search import CALL_TOOL
from harness.context.overlay import CLEARED
from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta, Done
from harness.instructions.loading import INSTRUCTION_FILE
from harness.messages import (
    AssistantContent,
    AssistantMessage,
    JsonObject,
    JsonValue,
    ModelMessage,
    Text,
    ToolCall,
    ToolResult,
)
from harness.ports.dialect import Dialect
from harness.ports.provider import Provider, Request, ToolSpec
from tools.dialects.own import OwnNames
from tools.dialects.streamed_arguments import Handling, StreamedArguments

_NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b|(?<=`)[a-z]+(?=`)")
"""Name of a tool or an argument in a text: without an underscore, such as `grep`, it may be an ordinary word."""


_ARGUMENTS = re.compile(r"(?m)(?<=^- )\w+|(?<=missing: )[\w, ]+$")
"""Names of arguments in the text of `harness.function_tools.schema.validation_message`."""


class ToolNames(Struct, frozen=True):
    """A tool of cinch in a dialect."""

    name: str
    """Its name."""
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    """Arguments with another name in cinch, also in the objects of a list: that name by the one of the dialect."""
    milliseconds: frozenset[str] = frozenset()
    """Arguments of the dialect in milliseconds that are seconds in cinch."""
    absent: frozenset[str] = frozenset()
    """Parameters of cinch that the dialect does not have."""
    unused: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """Parameters, by name, that only the dialect has; their values have no effect."""
    unused_in: Mapping[str, Mapping[str, JsonObject]] = field(default_factory=dict[str, Mapping[str, JsonObject]])
    """The same in the objects of a list, by the name of the list."""
    ignored: frozenset[str] = frozenset()
    """Arguments that are accepted without effect although no parameter has their name."""
    optional: frozenset[str] = frozenset()
    """Arguments without effect if the tool does not have them in this agent."""
    tool_lists: frozenset[str] = frozenset()
    """Arguments that are lists of names of tools."""

    def own(self, argument: str) -> str:
        """Return the name in cinch of an argument."""
        return self.arguments.get(argument, argument)

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
        former: Mapping[str, tuple[str, ToolNames]] = {},
    ) -> None:
        """Create a dialect.

        Args:
            name: Its name.
            tools: Names in the dialect by the names of the tools.
            mentions: Names in texts for the model of tools that replace others, by the names of those.
            replaced: Names of tools that are not offered with another one, by the name of that one.
            former: Tools, with their names here, by names that are not offered: models call them that have them from
                their training or from earlier in a session.
        """
        super().__init__(name, replaced)
        self._tools = tools
        self._former = former
        self._called = {**former, **{each.name: (own, each) for own, each in tools.items()}}
        self._mentions = {own: each.name for own, each in tools.items()} | dict(mentions)

    def name_of(self, tool: str) -> str:
        return self._mentions.get(tool, tool)

    def call_error(self, text: str, tool: str) -> str:
        names = self._tools.get(tool)
        if names is None:
            return text
        text = re.sub(rf"\b{re.escape(tool)}\b", names.name, text)
        sent = names.sent
        return _ARGUMENTS.sub(lambda part: re.sub(r"\w+", lambda name: sent.get(name[0], name[0]), part[0]), text)

    def stream(self, provider: Provider, request: Request) -> AsyncIterator[Delta]:
        declared = {each.name: each.parameters for each in request.tools}
        return self._among(declared.keys()).translated(provider, request, declared)

    def _among(self, offered: Set[str]) -> RenamedTools:
        """Return the dialect for these tools.

        A tool whose name in the dialect another one has keeps the name of cinch, and so does one that nothing replaces.
        """
        taken = self._called.keys() & offered
        kept = {own for own in self._mentions.keys() & offered if own not in self._tools}
        if not (taken or kept):
            return self
        tools = {own: each for own, each in self._tools.items() if each.name not in taken}
        mentions = {own: name for own, name in self._mentions.items() if name not in taken and own not in kept}
        former = {name: each for name, each in self._former.items() if name not in taken}
        return RenamedTools(self._name, tools, mentions, former=former)

    async def translated(
        self, provider: Provider, request: Request, declared: Mapping[str, JsonObject]
    ) -> AsyncIterator[Delta]:
        """Stream the reply to a request whose tools have none of the names of the dialect.

        Args:
            provider: The provider.
            request: The request.
            declared: Schemas of its tools by their names.
        """
        deltas = provider.stream(self._sent(request))
        arguments: dict[int, StreamedArguments] = {}
        try:
            async for delta in deltas:
                for each in self._received(delta, arguments, declared):
                    yield each
        finally:
            if isinstance(deltas, AsyncGenerator):
                await deltas.aclose()

    def _received(
        self, delta: Delta, arguments: dict[int, StreamedArguments], declared: Mapping[str, JsonObject]
    ) -> list[Delta]:
        match delta:
            case BlockStart(index, "tool_call", name=name) if name in self._called:
                own, names = self._called[name]
                properties = declared.get(own, {}).get("properties")
                arguments[index] = self._arguments(names, properties if isinstance(properties, dict) else {})
                return [replace(delta, name=own)]
            case BlockStart(index, "tool_call", name=name) if name == CALL_TOOL:
                arguments[index] = StreamedArguments(str, lambda _: "hold", self._named_call())
                return [delta]
            case BlockDelta(index, text) if index in arguments:
                return _deltas(index, arguments[index].feed(text))
            case BlockEnd(index) if index in arguments:
                return [*_deltas(index, arguments.pop(index).end()), delta]
            case Done():
                # A reply that was cut off leaves calls without an end.
                return [*(each for index, held in arguments.items() for each in _deltas(index, held.end())), delta]
            case _:
                return [delta]

    def _arguments(self, names: ToolNames, properties: JsonObject) -> StreamedArguments:
        """Return the translation of the arguments of a call; `properties` are those of the tool in this agent."""
        missing = {key for key in names.optional if names.own(key) not in properties}
        dropped = {*names.unused, *names.ignored, *missing}
        held = {*names.milliseconds, *names.unused_in, *names.tool_lists}

        def handling(key: str) -> Handling:
            return "drop" if key in dropped else "hold" if key in held else "pass"

        return StreamedArguments(names.own, handling, lambda key, value: self._own_value(key, value, names))

    def _named_call(self) -> Callable[[str, JsonValue], JsonValue]:
        """Return a function that translates the arguments of `call_tool`: a name, and arguments of that tool."""
        named: list[ToolNames] = []

        def converted(key: str, value: JsonValue) -> JsonValue:
            if key == "name" and isinstance(value, str) and value in self._called:
                own, names = self._called[value]
                named.append(names)
                return own
            if key == "arguments" and isinstance(value, dict) and named:
                return self._own_arguments(value, named[0])
            return value

        return converted

    def _own_arguments(self, given: JsonObject, names: ToolNames) -> JsonObject:
        return {
            names.own(key): self._own_value(key, value, names)
            for key, value in given.items()
            if key not in names.unused and key not in names.ignored
        }

    def _own_value(self, key: str, value: JsonValue, names: ToolNames) -> JsonValue:
        if key in names.milliseconds and isinstance(value, int | float):
            return value / 1000
        if key in names.tool_lists and isinstance(value, list):
            return [self._called[each][0] if isinstance(each, str) and each in self._called else each for each in value]
        if key in names.unused_in and isinstance(value, list):
            unused = names.unused_in[key]
            return [
                {k: v for k, v in each.items() if k not in unused} if isinstance(each, dict) else each for each in value
            ]
        return value

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
            case ToolResult(content=content, tool_name=name) if name in self._tools:
                shown = tuple(self._sent_stub(part, name) if isinstance(part, Text) else part for part in content)
                return replace(message, tool_name=self._tools[name].name, content=shown)
            case AssistantMessage() if any(
                call.name in self._tools or call.name == CALL_TOOL for call in message.tool_calls
            ):
                return replace(message, content=tuple(self._sent_block(block) for block in message.content))
            case _:
                return message

    def _sent_stub(self, part: Text, tool: str) -> Text:
        """Return a text; the stub of an evicted result names the tool of the call."""
        head = f"{CLEARED}{tool}"
        if not part.text.startswith(head):
            return part
        return Text(f"{CLEARED}{self._tools[tool].name}{part.text.removeprefix(head)}")

    def _sent_block(self, block: AssistantContent) -> AssistantContent:
        if not isinstance(block, ToolCall):
            return block
        if block.name == CALL_TOOL:
            return replace(block, arguments=self._sent_named_call(block.arguments))
        names = self._tools.get(block.name)
        if names is None:
            return block
        return replace(block, name=names.name, arguments=self._sent_arguments(block.arguments, names))

    def _sent_named_call(self, arguments: JsonObject) -> JsonObject:
        name, inner = arguments.get("name"), arguments.get("arguments")
        names = self._tools.get(name) if isinstance(name, str) else None
        if names is None or not isinstance(inner, dict):
            return arguments
        return {**arguments, "name": names.name, "arguments": self._sent_arguments(inner, names)}

    def _sent_arguments(self, own: JsonObject, names: ToolNames) -> JsonObject:
        """Return the arguments of a call as the dialect names them."""
        theirs = names.sent
        return {
            theirs.get(name, name): self._sent_value(theirs.get(name, name), value, names)
            for name, value in own.items()
        }

    def _sent_value(self, key: str, value: JsonValue, names: ToolNames) -> JsonValue:
        if key in names.milliseconds and isinstance(value, int | float):
            return round(value * 1000)
        if key in names.tool_lists and isinstance(value, list):
            return [self._mentions.get(each, each) if isinstance(each, str) else each for each in value]
        return value


def _deltas(index: int, text: str) -> list[Delta]:
    return [BlockDelta(index, text)] if text else []


def _sent_schema(schema: JsonObject, names: ToolNames) -> JsonObject:
    """Return the schema of a tool with the parameters of the dialect."""
    properties = schema.get("properties")
    own = properties if isinstance(properties, dict) else {}
    known: JsonObject = {name: each for name, each in own.items() if name not in names.absent}
    sent = _sent_object({**schema, "properties": known}, names)
    renamed = sent["properties"]
    assert isinstance(renamed, dict)
    shown: JsonObject = {name: _sent_property(name, each, names) for name, each in renamed.items()}
    return {**sent, "properties": {**shown, **names.unused}}


def _sent_object(schema: JsonObject, names: ToolNames) -> JsonObject:
    """Return the schema of an object with the names of the dialect."""
    theirs = names.sent
    sent = dict(schema)
    if isinstance(properties := schema.get("properties"), dict):
        sent["properties"] = {theirs.get(name, name): each for name, each in properties.items()}
    if isinstance(required := schema.get("required"), list):
        sent["required"] = [theirs.get(str(name), name) for name in required]
    return sent


def _sent_property(name: str, schema: JsonValue, names: ToolNames) -> JsonValue:
    if not isinstance(schema, dict):
        return schema
    if name in names.milliseconds:
        default = schema.get("default")
        times: JsonObject = {"default": round(default * 1000)} if isinstance(default, int | float) else {}
        return {"type": "number", "description": "In milliseconds; at most 600000.", **times}
    items = schema.get("items")
    if not isinstance(items, dict) or "properties" not in items:
        return schema
    sent = _sent_object(items, names)
    if name in names.unused_in and isinstance(inner := sent["properties"], dict):
        sent["properties"] = {**inner, **names.unused_in[name]}
    return {**schema, "items": sent}


if TYPE_CHECKING:
    _: type[Dialect] = RenamedTools
