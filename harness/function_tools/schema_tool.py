"""A tool whose schema comes from elsewhere, and what every tool of a program's own has in common."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, TypedDict, Unpack

from harness.errors import ConfigError
from harness.function_tools.coerce_output import output_of
from harness.function_tools.schema import Checker
from harness.messages import JsonObject
from harness.ports.tool import Tool, ToolContext, ToolOutput
from harness.risk import Access, Risk, RiskLevel
from harness.views import TextView, View

Work: TypeAlias = Callable[[JsonObject, ToolContext], Awaitable[object]]
"""Runs a tool with arguments that fit its schema; see `harness.function_tools.coerce_output` for what it may return."""

LONGEST_SUMMARY = 80


class About(TypedDict, total=False):
    """What may be said of a tool.

    `label` is its name for people. `risk` is "execute" unless said otherwise: a person is asked about each call.
    `mutates`: it can change something, and plan mode hides it; by default so is all that does more than read.
    `cacheable`: the same arguments give the same result as long as nothing was changed.

    Calls of one reply run concurrently, unless they declare a conflict: `paths` names the parameters that hold paths of
    files, so that a call waits for those that change the same files; `exclusive` makes each call run alone.
    """

    label: str
    risk: RiskLevel
    mutates: bool
    cacheable: bool
    exclusive: bool
    paths: Sequence[str]


class OwnTool:
    """All of a tool that does not depend on where its schema comes from."""

    def __init__(self, name: str, description: str, parameters: JsonObject, about: About) -> None:
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
            raise ConfigError(f"no tool can be named {name!r}: a name has letters, digits, _ and -, and at most 64")
        self._paths = tuple(about.get("paths", ()))
        self._risk = Risk(
            about.get("risk", "execute"), cacheable=about.get("cacheable", False), access=_access(self._paths, about)
        )
        if unknown := [each for each in self._paths if each not in _properties(parameters)]:
            raise ConfigError(f"{name}: there is no parameter {unknown[0]!r} that could hold paths")
        if self._risk.changes and self._risk.cacheable:
            raise ConfigError(f"{name}: what changes something must be done each time, so it cannot be cacheable")
        self.name = name
        self.label = about.get("label") or words_of(name)
        self.description = description
        self.parameters = parameters
        self.mutates = about.get("mutates", self._risk.changes)

    def summary(self, arguments: JsonObject) -> str:
        """The first text among the arguments, else all of them."""
        texts = (value for value in arguments.values() if isinstance(value, str) and value)
        line = next(texts, json.dumps(arguments, ensure_ascii=False) if arguments else "")
        return " ".join(line[: LONGEST_SUMMARY * 2].split())[:LONGEST_SUMMARY]

    def risk(self, arguments: JsonObject) -> Risk:
        return replace(self._risk, paths=_texts(arguments, self._paths)) if self._paths else self._risk

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        del context
        return TextView(json.dumps(arguments, ensure_ascii=False, indent=2), "json")


class SchemaTool(OwnTool):
    """A tool described by a JSON Schema: of another program, a server, an API."""

    def __init__(self, name: str, description: str, parameters: JsonObject, work: Work, **about: Unpack[About]) -> None:
        """Raises:
        ConfigError: the name, the schema or the description of the tool is not valid.
        """
        super().__init__(name, description, parameters, about)
        self._checker = Checker(name, parameters)
        self._checker.compile()
        if parameters.get("type", "object") != "object":
            raise ConfigError(f"the schema of {name} must be of type object: the arguments of a call are named")
        self._work = work

    def validate(self, arguments: JsonObject) -> JsonObject:
        return self._checker.check(arguments)

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        return output_of(await self._work(arguments, context))


def _access(paths: Sequence[str], about: About) -> Access:
    if about.get("exclusive", False):
        return "exclusive"
    return "by_level" if paths else "shared"


def _properties(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _texts(arguments: JsonObject, names: Sequence[str]) -> tuple[str, ...]:
    """The texts that these arguments are or list."""
    values = [arguments.get(name) for name in names]
    listed = [each for value in values for each in (value if isinstance(value, list) else [value])]
    return tuple(each for each in listed if isinstance(each, str))


def words_of(name: str) -> str:
    """A name in words, for people: `get_weather` → "Get weather"."""
    return name.replace("_", " ").replace("-", " ").strip().capitalize() or name


if TYPE_CHECKING:
    _: type[Tool] = SchemaTool
