"""Functions with type hints and a docstring as tools."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar, Unpack, overload

from harness.concurrency import in_thread
from harness.function_tools.coerce_output import output_of
from harness.function_tools.schema_tool import About, OwnTool
from harness.function_tools.signature import Values, signature_of
from harness.messages import JsonObject
from harness.ports.tool import Tool, ToolContext, ToolOutput

P = ParamSpec("P")
R = TypeVar("R")


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
    nothing else stops it; after a cancellation its result is discarded. Calls run concurrently unless they are
    `exclusive`, or `paths` names parameters that contain paths and two calls use the same file.

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
    _: type[Tool] = FunctionTool[..., object]
