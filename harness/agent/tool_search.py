"""Deferred tools: rarely used tools whose schemas are not declared to the model until it searches for them.

The declared tools never change within a session, so that services can cache the beginning of a request. Instead of the
deferred tools two others are declared: `find_tools` shows descriptions and schemas, and `call_tool` calls a tool by its
name. In the history, and so for approval, hooks, results and front ends, such a call is one of the real tool; only
requests contain the form that the model sent.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.agent.late_tools import LateTools
from harness.agent.tool_filter import WORD_PATTERN
from harness.approval.assessment import DEPENDS_ON
from harness.context.tokens import estimate_overhead
from harness.errors import InvalidArguments
from harness.function_tools.names import UNAVAILABLE, is_remote_name
from harness.function_tools.schema import validation_message
from harness.messages import (
    AssistantContent,
    AssistantMessage,
    JsonObject,
    JsonValue,
    ModelMessage,
    ToolCall,
    ToolResult,
)
from harness.ports.tool import Tool, ToolContext, ToolOutput, is_deferred, specs_of
from harness.risk import Risk
from harness.views import ListingView, View

FIND_TOOLS = "find_tools"
CALL_TOOL = "call_tool"
LEAST_TOKENS = 500
"""Deferred tools that take fewer tokens together are declared as others: a search costs a model call."""
MOST_FOUND = 5
MOST_NAMED = 60


def declared_tools(tools: Sequence[Tool], late: LateTools | None = None) -> tuple[Tool, ...]:
    """Return the tools to declare: all, or the search tools in place of the deferred ones.

    Args:
        tools: Tools of the agent.
        late: Tools of sources.
    """
    deferred = deferred_tools(tools)
    own = (tool for tool in tools if not (deferred and is_deferred(tool)))
    return (*own, *(late.declared if late else ()), *_search_tools(deferred, late))


def search_tools_of(tools: Sequence[Tool], late: LateTools | None = None) -> tuple[Tool, ...]:
    """Return the tools that are declared in place of others; none if all are declared."""
    return _search_tools(deferred_tools(tools), late)


def _search_tools(deferred: tuple[Tool, ...], late: LateTools | None) -> tuple[Tool, ...]:
    if late is not None and late.is_searchable:
        found = (*deferred, *late.searched)
        return FindTools(found, deferred, late), CallTool(found)
    return (FindTools(deferred, deferred), CallTool(deferred)) if deferred else ()


def deferred_tools(tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """Return the tools that are not declared."""
    deferred = tuple(tool for tool in tools if is_deferred(tool))
    totals = accumulate(estimate_overhead("", specs_of((tool,))) for tool in deferred)
    return deferred if any(total >= LEAST_TOKENS for total in totals) else ()


def with_real_calls(reply: AssistantMessage, tools: Sequence[Tool]) -> AssistantMessage:
    """Return a reply with calls of `call_tool` replaced by calls of the tools they name."""
    if all(call.name != CALL_TOOL for call in reply.tool_calls):
        return reply
    names = {tool.name for tool in tools}
    content = [_real_call(block, names) if isinstance(block, ToolCall) else block for block in reply.content]
    return replace(reply, content=tuple(content))


def called_names(reply: AssistantMessage) -> list[str]:
    """Return the names of the tools that a reply calls, directly or with `call_tool`."""
    names = (call.arguments.get("name") if call.name == CALL_TOOL else call.name for call in reply.tool_calls)
    return [name for name in names if isinstance(name, str)]


def with_sent_calls(
    messages: tuple[ModelMessage, ...], tools: Sequence[Tool], late: LateTools
) -> tuple[ModelMessage, ...]:
    """Return the messages of a request with the calls of undeclared tools, and their results, under `call_tool`."""
    names = {tool.name for tool in deferred_tools(tools)}
    if not (names or late.is_searchable):
        return messages

    @cache
    def is_sent(name: str) -> bool:
        return name in names or late.is_undeclared(name)

    # Every call has a result, and few sessions have such a call.
    if not any(type(message) is ToolResult and is_sent(message.tool_name) for message in messages):
        return messages
    return tuple(_sent(message, is_sent) for message in messages)


def _sent(message: ModelMessage, is_sent: Callable[[str], bool]) -> ModelMessage:
    match message:
        case ToolResult(tool_name=name) if is_sent(name):
            return replace(message, tool_name=CALL_TOOL)
        case AssistantMessage() if any(is_sent(call.name) for call in message.tool_calls):
            return replace(message, content=tuple(_sent_call(block, is_sent) for block in message.content))
        case _:
            return message


def _sent_call(block: AssistantContent, is_sent: Callable[[str], bool]) -> AssistantContent:
    if not isinstance(block, ToolCall) or not is_sent(block.name):
        return block
    arguments: JsonObject = {"name": block.name, "arguments": block.arguments}
    return replace(block, name=CALL_TOOL, arguments=arguments, partial_json="")


def _real_call(call: ToolCall, names: set[str]) -> ToolCall:
    """Return the call of a named tool; one that cannot be read stays, and its result is an error."""
    name, arguments = call.arguments.get("name"), call.arguments.get("arguments", {})
    if isinstance(arguments, str):
        arguments = _parsed(arguments)
    is_readable = call.name == CALL_TOOL and isinstance(name, str) and isinstance(arguments, dict)
    if isinstance(arguments, dict) and DEPENDS_ON in call.arguments:
        arguments = {DEPENDS_ON: call.arguments[DEPENDS_ON], **arguments}
    return replace(call, name=name, arguments=arguments) if is_readable and name in names else call


def _parsed(text: str) -> JsonValue:
    try:
        return json.loads(text) if text.strip() else {}
    except ValueError:
        return text


class _SearchTool:
    """Tool that the agent provides; it has no effect."""

    mutates = False

    def __init__(self, deferred: Sequence[Tool]) -> None:
        self._deferred = {tool.name: tool for tool in deferred}

    def risk(self, arguments: JsonObject) -> Risk:
        return Risk("none")

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        return None


class FindTools(_SearchTool):
    """Search in the deferred tools."""

    name = FIND_TOOLS
    label = "Find tools"

    @property
    def parameters(self) -> JsonObject:
        query: JsonObject = {"type": "string", "description": "Names of tools, or words for what is needed."}
        return {"type": "object", "properties": {"query": query}, "required": ["query"]}

    def __init__(self, found: Sequence[Tool], own: Sequence[Tool], late: LateTools | None = None) -> None:
        """Search in tools.

        Args:
            found: All tools that can be found.
            own: Those to name in the description, which stays the same for a session.
            late: Tools of sources; the description names the sources instead, because their tools may change.
        """
        super().__init__(found)
        self._own = own
        self._sources = late.source_names if late else ()
        self._declared = late.declared if late else ()

    @property
    def description(self) -> str:
        text = "Finds further tools and shows their descriptions and parameters; then call them with call_tool."
        own = f" {_named([tool.name for tool in self._own])}" if self._own else ""
        sources = f" It also finds the tools of {', '.join(self._sources)}." if self._sources else ""
        return f"{text}{own}{sources}"

    def validate(self, arguments: JsonObject) -> JsonObject:
        query = arguments.get("query")
        if not isinstance(query, str):
            raise InvalidArguments(validation_message(self.name, ["query: must be string"]))
        return {"query": query}

    def summary(self, arguments: JsonObject) -> str:
        query = arguments.get("query")
        return query if isinstance(query, str) else ""

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        query = self.summary(arguments)
        found = search_tools(query, tuple(self._deferred.values()))
        view = ListingView(query, tuple(tool.name for tool in found), len(found))
        if not found and (declared := search_tools(query, self._declared)):
            names = ", ".join(tool.name for tool in declared)
            return ToolOutput.text(f"Call it directly, without call_tool: {names}.", view=view)
        if not found:
            return ToolOutput.text(f"No tool fits {query!r}. {_named(list(self._deferred))}", view=view)
        shown = [f"{tool.name}: {tool.description}\nParameters: {json.dumps(tool.parameters)}" for tool in found]
        return ToolOutput.text("\n\n".join([*shown, "[Call one with call_tool(name, arguments).]"]), view=view)


class CallTool(_SearchTool):
    """Call of a deferred tool. It never runs: `with_real_calls` replaces every call that names a tool."""

    name = CALL_TOOL
    label = "Call tool"
    description = "Calls a tool that find_tools has shown."

    @property
    def parameters(self) -> JsonObject:
        name: JsonObject = {"type": "string", "description": "Name of the tool."}
        arguments: JsonObject = {"type": "object", "description": "Its arguments, as its parameters require."}
        properties: JsonObject = {"name": name, "arguments": arguments}
        return {"type": "object", "properties": properties, "required": ["name", "arguments"]}

    def validate(self, arguments: JsonObject) -> JsonObject:
        name = arguments.get("name")
        if not isinstance(name, str):
            raise InvalidArguments(validation_message(self.name, ["name: must be the name of a tool"]))
        if name in self._deferred:
            problem = f"arguments: must be an object with the arguments of {name}"
            raise InvalidArguments(validation_message(self.name, [problem]))
        near = difflib.get_close_matches(name, self._deferred, n=2)
        if not near and is_remote_name(name):
            raise InvalidArguments(UNAVAILABLE.format(name=name))
        hint = f"Did you mean {' or '.join(near)}?" if near else "find_tools shows which tools there are."
        raise InvalidArguments(f"Error: unknown tool '{name}'. {hint}")

    def summary(self, arguments: JsonObject) -> str:
        name = arguments.get("name")
        return name if isinstance(name, str) else ""

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        # A valid call is replaced by one of the tool it names, and `validate` rejects every other.
        raise NotImplementedError


def search_tools(query: str, tools: Sequence[Tool]) -> Sequence[Tool]:
    """Return the tools that fit a query best: those it names, or else those with most of its words."""
    named = [tool for tool in tools if tool.name in set(query.replace(",", " ").replace(":", " ").split())]
    if named:
        return named
    wanted = _words(query)
    points = {
        tool.name: _points(wanted, _words(tool.name)) * 3 + _points(wanted, _words(tool.description)) for tool in tools
    }
    fitting = sorted((tool for tool in tools if points[tool.name]), key=lambda tool: -points[tool.name])
    return fitting[:MOST_FOUND]


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"There are: {', '.join(names[:MOST_NAMED])}{more}." if names else "There are no others now."


def _words(text: str) -> set[str]:
    return {word for word in WORD_PATTERN.findall(text.lower()) if len(word) > 2}


def _points(wanted: set[str], words: set[str]) -> int:
    return sum(any(_is_form(word, each) for each in words) for word in wanted)


def _is_form(one: str, other: str) -> bool:
    """Return True if two words are probably forms of one: `change` and `changing`."""
    stem = max(3, min(len(one), len(other)) - 1)
    return one[:stem] == other[:stem]


if TYPE_CHECKING:
    _: tuple[type[Tool], ...] = (FindTools, CallTool)
