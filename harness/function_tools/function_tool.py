"""Tools defined by programs: functions with type hints and a docstring, and tools with a JSON Schema."""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeAlias, TypedDict, TypeVar, Unpack, overload

from msgspec.structs import replace

from harness.concurrency import in_thread
from harness.errors import ConfigError
from harness.function_tools.coerce_output import output_of
from harness.function_tools.schema import Checker
from harness.function_tools.signature import Values, signature_of
from harness.messages import JsonObject
from harness.ports.tool import Tool, ToolContext, ToolOutput
from harness.risk import Access, Risk, RiskLevel
from harness.views import TextView, View

P = ParamSpec("P")
R = TypeVar("R")

Work: TypeAlias = Callable[[JsonObject, ToolContext], Awaitable[object]]
"""Function that runs a tool with validated arguments; `output_of` defines what it may return."""

MAX_SUMMARY_CHARS = 80


class About(TypedDict, total=False):
    """Options of a tool."""

    label: str
    """Name for users; by default derived from the tool's name."""
    risk: RiskLevel
    """Risk level of all calls; by default "execute", so that each call needs approval."""
    mutates: bool
    """True if the tool can change something, so that plan mode hides it; by default derived from `risk`."""
    cacheable: bool
    """True if equal arguments give equal results until something changes."""
    deferred: bool
    """True if the tool is rarely used: if there are several, the model searches for them; see `is_deferred`."""
    concurrent: bool
    """False if a call must run alone; by default, calls of one reply run at the same time."""
    paths: Sequence[str]
    """Parameters that contain file paths; a call waits for others that change the same files."""


class OwnTool:
    """Base of tools defined by programs, independent of the source of their schema."""

    def __init__(self, name: str, description: str, parameters: JsonObject, about: About) -> None:
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
            raise ConfigError(f"invalid tool name {name!r}: use letters, digits, _ and -, at most 64 characters")
        self._paths = tuple(about.get("paths", ()))
        self._risk = Risk(
            about.get("risk", "execute"), cacheable=about.get("cacheable", False), access=_access(self._paths, about)
        )
        if unknown := [each for each in self._paths if each not in _properties(parameters)]:
            raise ConfigError(f"{name}: paths names {unknown[0]!r}, which is not a parameter")
        if self._risk.changes and self._risk.cacheable:
            raise ConfigError(f"{name}: a tool that changes something cannot be cacheable")
        self.name = name
        self.label = about.get("label") or words_of(name)
        self.description = description
        self.parameters = parameters
        self.mutates = about.get("mutates", self._risk.changes)
        self.deferred = about.get("deferred", False)

    def summary(self, arguments: JsonObject) -> str:
        """Return the first text among the arguments, else all of them."""
        texts = (value for value in arguments.values() if isinstance(value, str) and value)
        line = next(texts, json.dumps(arguments, ensure_ascii=False) if arguments else "")
        return " ".join(line[: MAX_SUMMARY_CHARS * 2].split())[:MAX_SUMMARY_CHARS]

    def risk(self, arguments: JsonObject) -> Risk:
        return replace(self._risk, paths=_texts(arguments, self._paths)) if self._paths else self._risk

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        del context
        return TextView(json.dumps(arguments, ensure_ascii=False, indent=2), "json")


class SchemaTool(OwnTool):
    """Tool described by a JSON Schema, such as one of another program, a server or an API."""

    def __init__(self, name: str, description: str, parameters: JsonObject, work: Work, **about: Unpack[About]) -> None:
        """Create a tool.

        Args:
            name: Name the model calls it by: letters, digits, _ and -, at most 64 characters.
            description: Description for the model.
            parameters: JSON Schema of type object.
            work: Async function that runs a call.
            about: Further options.

        Raises:
            ConfigError: The name, the schema or an option is invalid.
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
    if not about.get("concurrent", True):
        return "exclusive"
    return "by_level" if paths else "shared"


def _properties(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _texts(arguments: JsonObject, names: Sequence[str]) -> tuple[str, ...]:
    """Return the texts that these arguments contain, directly or as list items."""
    values = [arguments.get(name) for name in names]
    listed = [each for value in values for each in (value if isinstance(value, list) else [value])]
    return tuple(each for each in listed if isinstance(each, str))


def words_of(name: str) -> str:
    """Return a name as words for users: `get_weather` → "Get weather"."""
    return name.replace("_", " ").replace("-", " ").strip().capitalize() or name


class AboutFunction(About, total=False):
    """Options of a function tool, which override what the function declares."""

    name: str
    """Name the model calls it by."""
    description: str
    """Description for the model."""


class FunctionTool(OwnTool, Generic[P, R]):
    """A function as a tool; it can still be called as a function."""

    def __init__(self, function: Callable[P, R], about: AboutFunction) -> None:
        signature = signature_of(function)
        name = about.get("name") or signature.name
        super().__init__(name, about.get("description") or signature.description, signature.schema, about)
        self._signature = signature
        self._function = function
        # Validated arguments fit the hints, which type checkers cannot see.
        self._untyped: Callable[..., object] = function
        self._is_async = inspect.iscoroutinefunction(function)
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def validate(self, arguments: JsonObject) -> JsonObject:
        """Return checked arguments; defaults are filled in when the function is called."""
        given = self._signature.unwrapped(arguments)
        self._signature.values(self.name, given)
        return given

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        values = self._signature.values(self.name, arguments)
        if self._signature.context:
            values[self._signature.context] = context
        returned = self._call(values) if self._is_async else await in_thread(partial(self._call, values))
        return output_of(await returned if inspect.isawaitable(returned) else returned)

    def _call(self, values: Values) -> object:
        try:
            return self._untyped(**values)
        except StopIteration as error:
            # A future cannot hold this exception, so the waiting task would never end.
            raise RuntimeError("the function raised StopIteration") from error


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(**about: Unpack[AboutFunction]) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None, /, **about: Unpack[AboutFunction]
) -> FunctionTool[P, R] | Callable[[Callable[P, R]], FunctionTool[P, R]]:
    """Make a tool of a function: `@tool`, or `@tool(risk="read", label="Weather")`.

    The first paragraph of the docstring is the description; its argument section, or `Annotated[int, "text"]`,
    describes the parameters; the type hints are the schema. A parameter of type `ToolContext` is filled in. An
    exception becomes the error that the model receives. Every call needs approval unless `risk` is "none" or "read".

    A function that is not async runs in a thread. It should call `context.raise_if_cancelled()` regularly, because
    nothing else stops it; after a cancellation its result is discarded. Calls run concurrently, unless the
    tool is declared with `concurrent=False`, or `paths` names parameters that contain paths and two calls use the same
    file.

    Args:
        function: Function or coroutine function with type hints.
        about: Keyword arguments of `AboutFunction`, such as `name`, `label`, `risk` and `paths`.

    Raises:
        ConfigError: The function cannot be a tool; the text says why.
    """
    if function is not None:
        return FunctionTool(function, about)
    return lambda given: FunctionTool(given, about)


if TYPE_CHECKING:
    _: tuple[type[Tool], ...] = (SchemaTool, FunctionTool[..., object])
