"""Structured output: the model answers by calling a tool made for it, or by the provider's native schema support.

Either way an invalid answer is returned to the model with its validation errors, and the model may try again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, overload

from msgspec.structs import replace

from harness.agent.agent_base import AgentBase
from harness.agent.arguments import Prompt, messages_of
from harness.agent.run_state import RunRequest
from harness.errors import AgentError, ConfigError, InvalidArguments, StructuredOutputFailed
from harness.events import Event, ToolExecutionEnd, ToolExecutionStart
from harness.messages import AssistantMessage, JsonObject, JsonValue, Text, ToolCall, UserMessage, synthetic
from harness.ports.provider import OutputSchema
from harness.ports.tool import Tool, ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import View

if TYPE_CHECKING:
    from harness.function_tools.output_type import OutputType

T = TypeVar("T")

ANSWER = "__structured_output"
DESCRIPTION = (
    "Give your final answer in a form that the calling program can read. Always end by calling this tool, once, when "
    "all other work is done; an answer in plain text is ignored."
)
ACCEPTED = "The answer is accepted."
IGNORED = f"the reply did not call {ANSWER}"


@overload
async def prompt_structured(self: AgentBase, prompt: Prompt, schema: type[T], *, max_attempts: int = 3) -> T: ...
@overload
async def prompt_structured(
    self: AgentBase, prompt: Prompt, schema: JsonObject, *, max_attempts: int = 3
) -> JsonValue: ...
@overload
async def prompt_structured(self: AgentBase, prompt: Prompt, schema: object, *, max_attempts: int = 3) -> object: ...
async def prompt_structured(self: AgentBase, prompt: Prompt, schema: object, *, max_attempts: int = 3) -> object:
    """Send a prompt and return the answer as a value.

    The model may use its other tools first; the conversation can continue afterwards.

    Args:
        prompt: Text, content blocks, or messages.
        schema: A pydantic model, any type that `pydantic.TypeAdapter` accepts, or a JSON Schema.
        max_attempts: Maximum number of answers to validate, at least 1.

    Raises:
        StructuredOutputFailed: No answer was valid; the run has ended.
        ConfigError: `schema` is invalid and nothing was sent, or it refers to definitions that it does not contain.
        AlreadyRunning: A run is active.
        ProviderError, Rejected, Aborted, LimitExceeded, AgentError: As in `AgentResult.raise_for_failure`.
    """
    # Imported late: pydantic is slow to import, and only structured output needs it.
    from harness.function_tools.output_type import output_type

    if max_attempts < 1:
        raise ConfigError("max_attempts must be at least 1")
    output = output_type(schema)
    answer = _StructuredOutput(output, max_attempts)
    unsubscribe = self.subscribe(answer.on_event)
    try:
        result = await self.run(_run_request(self, answer, RunRequest(messages_of(prompt))))
    finally:
        unsubscribe()
    if answer.unusable is not None:
        raise answer.unusable
    if answer.is_exhausted:
        raise StructuredOutputFailed(max_attempts, answer.last_error)
    # A limit reached after a valid answer does not matter.
    if not answer.has_value or result.stop_reason in ("aborted", "error"):
        result.raise_for_failure()
    return answer.value


@overload
def prompt_structured_sync(self: AgentBase, prompt: Prompt, schema: type[T], *, max_attempts: int = 3) -> T: ...
@overload
def prompt_structured_sync(
    self: AgentBase, prompt: Prompt, schema: JsonObject, *, max_attempts: int = 3
) -> JsonValue: ...
@overload
def prompt_structured_sync(self: AgentBase, prompt: Prompt, schema: object, *, max_attempts: int = 3) -> object: ...
def prompt_structured_sync(self: AgentBase, prompt: Prompt, schema: object, *, max_attempts: int = 3) -> object:
    """Send a prompt and wait, like `prompt_structured` without an event loop.

    `schema` and `max_attempts` are those of `prompt_structured`.
    """
    return self.blocking(lambda: prompt_structured(self, prompt, schema, max_attempts=max_attempts))


class _StructuredOutput:
    """State of a structured prompt: the value, or the number of attempts left and the latest error."""

    def __init__(self, output: OutputType, max_attempts: int) -> None:
        self.output = output
        self.last_error = ""
        self.unusable: ConfigError | None = None
        self._left = max_attempts
        self._values: list[object] = []
        self._broken: set[str] = set()

    @property
    def has_value(self) -> bool:
        return bool(self._values)

    @property
    def is_exhausted(self) -> bool:
        return not self._left and not self.has_value

    @property
    def value(self) -> object:
        """The accepted value.

        Raises:
            AgentError: The run ended successfully without an answer.
        """
        if not self._values:
            raise AgentError("the run ended before the model gave its answer")
        return self._values[0]

    def count_invalid(self, error: str) -> str:
        """Count an invalid answer and return the error text for the model."""
        self._left = max(0, self._left - 1)
        self.last_error = error
        return f"Validation failed:\n{error}"

    def _give_up(self, error: ConfigError) -> str:
        """Stop the attempts, because no answer can be validated."""
        self.unusable, self._left = error, 0
        return str(error)

    def take(self, arguments: JsonObject) -> ToolOutput:
        """Validate an answer sent as a call of the tool. The first valid one is the result."""
        if self.has_value or self.is_exhausted:
            return ToolOutput.failure("No more answers are accepted.")
        try:
            self._values.append(self.output.read(arguments))
        except ConfigError as error:
            return ToolOutput.failure(self._give_up(error))
        except InvalidArguments as error:
            return ToolOutput.failure(f"{self.count_invalid(str(error))}\nCall {ANSWER} again, corrected.")
        return ToolOutput((Text(ACCEPTED),), terminate=True)

    def on_event(self, event: Event) -> None:
        """Count calls whose arguments are not JSON; they never reach the tool."""
        match event:
            case ToolExecutionStart(call=ToolCall(name=name, partial_json=written)) if name == ANSWER and written:
                self._broken.add(event.call.id)
            case ToolExecutionEnd(result=result) if result.call_id in self._broken and not self.has_value:
                self.count_invalid(result.text)
            case _:
                pass

    def ask_for_call(self, reply: AssistantMessage) -> UserMessage | None:
        """Return a message for a model that would end without calling the tool."""
        del reply
        if self.has_value or not self._left:
            return None
        self.count_invalid(IGNORED)
        return None if self.is_exhausted else synthetic(f"Your answer was ignored. Give it by calling {ANSWER}.")

    def read_reply(self, reply: AssistantMessage) -> UserMessage | None:
        """Validate a reply as the answer; return a message for the model if it is invalid."""
        if self.has_value or not self._left:
            return None
        try:
            self._values.append(self.output.read_text(reply.text))
        except ConfigError as error:
            self._give_up(error)
        except InvalidArguments as error:
            problem = self.count_invalid(str(error))
            return None if self.is_exhausted else synthetic(f"{problem}\nSend the whole answer again, as JSON alone.")
        return None


class OutputTool:
    """Tool through which the model answers, in one run only."""

    name = ANSWER
    label = "Answer"
    description = DESCRIPTION
    mutates = False

    def __init__(self, answer: _StructuredOutput) -> None:
        self.parameters = answer.output.schema
        self._answer = answer

    def validate(self, arguments: JsonObject) -> JsonObject:
        """Return the arguments unchanged; `run` validates them, because it can end the run."""
        return arguments

    def summary(self, arguments: JsonObject) -> str:
        return ", ".join(arguments)

    def risk(self, arguments: JsonObject) -> Risk:
        del arguments
        return Risk("none")

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        del arguments, context
        return None

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        del context
        return self._answer.take(arguments)


def _run_request(agent: AgentBase, answer: _StructuredOutput, entry: RunRequest) -> RunRequest:
    entry = replace(entry, should_stop=lambda: answer.is_exhausted)
    if _is_native(agent):
        schema = OutputSchema(answer.output.name, answer.output.schema)
        return replace(entry, output_schema=schema, on_idle=answer.read_reply)
    return replace(entry, tools=(OutputTool(answer),), on_idle=answer.ask_for_call)


def _is_native(agent: AgentBase) -> bool:
    """Return True if all models that may be used support a schema; those that a routing selects are unknown."""
    options = agent.options
    return options.routing is None and all(each.native_schema for each in (agent.state.model, *options.fallback))


if TYPE_CHECKING:
    _: type[Tool] = OutputTool
