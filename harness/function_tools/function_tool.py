"""A function with type hints and a docstring as a tool."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar, Unpack, overload

from harness.concurrency.threads import in_thread
from harness.function_tools.coerce_output import output_of
from harness.function_tools.schema_tool import About, OwnTool
from harness.function_tools.signature import Values, signature_of
from harness.messages import JsonObject
from harness.ports.tool import Tool, ToolContext, ToolOutput

P = ParamSpec("P")
R = TypeVar("R")


class AboutFunction(About, total=False):
    """What may be said of a tool, over what its function says: `name` is what the model calls."""

    name: str
    description: str


class FunctionTool(OwnTool, Generic[P, R]):
    """A function as a tool; called, it is still the function."""

    def __init__(self, function: Callable[P, R], about: AboutFunction) -> None:
        signature = signature_of(function)
        name = about.get("name") or signature.name
        super().__init__(name, about.get("description") or signature.description, signature.schema, about)
        self._signature = signature
        self._function = function
        # What was checked against the hints fits them, though no checker of types can see it.
        self._unseen: Callable[..., object] = function
        self._is_async = inspect.iscoroutinefunction(function)
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def validate(self, arguments: JsonObject) -> JsonObject:
        """The arguments, checked; defaults are filled in when the function is called."""
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
            return self._unseen(**values)
        except StopIteration as error:
            # The future that waits for a thread cannot hold it, and would wait for ever.
            raise RuntimeError("the function raised StopIteration") from error


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(**about: Unpack[AboutFunction]) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None, /, **about: Unpack[AboutFunction]
) -> FunctionTool[P, R] | Callable[[Callable[P, R]], FunctionTool[P, R]]:
    """Make a tool of a function: `@tool`, or `@tool(risk="read", label="Weather")`.

    The docstring's first paragraph tells the model what it does; its section of arguments, or `Annotated[int, "text"]`,
    what each parameter means; the hints are its schema. A parameter hinted `ToolContext` is filled in. A function that
    is not async runs in a thread of its own: it should call `context.raise_if_cancelled()` now and then, since nothing
    else stops it, and once it is cancelled its result is dropped. What it raises is told to the model. A person is
    asked about every call unless `risk` is "none" or "read". Calls run concurrently unless they are `exclusive`, or
    `paths` names parameters that hold paths and two calls use the same file.

    Raises:
        ConfigError: no tool can be made of it; the text says why.
    """
    if function is not None:
        return FunctionTool(function, about)
    return lambda given: FunctionTool(given, about)


if TYPE_CHECKING:
    _: type[Tool] = FunctionTool[..., object]
