"""Answers in a form: the model answers through a tool made for it, or by a schema of the provider's own.

Either way a wrong answer is told to the model with what is wrong, and it may try again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, overload

from harness.agent.core import AgentCore
from harness.agent.prompt import Prompt, messages_of
from harness.agent.run import RunRequest
from harness.errors import AgentError, ConfigError, InvalidArguments, StructuredOutputFailed
from harness.events import Event, ToolExecutionEnd, ToolExecutionStart
from harness.messages import AssistantMessage, JsonObject, JsonValue, Text, ToolCall, UserMessage
from harness.ports.provider import OutputSchema
from harness.ports.tool import Risk, Tool, ToolContext, ToolOutput
from harness.views import View

if TYPE_CHECKING:
    from harness.function_tools.output_type import OutputType

T = TypeVar("T")

ANSWER = "__structured_output"
DESCRIPTION = (
    "Gives your final answer, in the form that the program which asked can read. Always end by calling it, once, when "
    "all other work is done; an answer in plain text is not heard."
)
ACCEPTED = "The answer is accepted."
IGNORED = f"the reply was no call of {ANSWER}"


@overload
async def prompt_structured(self: AgentCore, prompt: Prompt, schema: type[T], *, max_attempts: int = 3) -> T: ...
@overload
async def prompt_structured(
    self: AgentCore, prompt: Prompt, schema: JsonObject, *, max_attempts: int = 3
) -> JsonValue: ...
@overload
async def prompt_structured(self: AgentCore, prompt: Prompt, schema: object, *, max_attempts: int = 3) -> object: ...
async def prompt_structured(self: AgentCore, prompt: Prompt, schema: object, *, max_attempts: int = 3) -> object:
    """Say something, and get the answer as a value: of a pydantic model, of any type that `pydantic.TypeAdapter` takes,
    or, by a JSON Schema, as JSON. The model may use its other tools first; the conversation can go on afterwards.

    Raises:
        StructuredOutputFailed: `max_attempts` answers did not fit; the run has ended.
        ConfigError: `schema` is no such thing, and nothing was sent; or the first answer showed that it refers to what
            is not in it.
        AlreadyRunning: a run is on.
        ProviderError, Rejected, Aborted, LimitExceeded, AgentError: as `AgentResult.raise_for_failure`.
    """
    # Pydantic takes a while to import; an agent that answers in words does without.
    from harness.function_tools.output_type import output_type

    if max_attempts < 1:
        raise ConfigError("max_attempts must be at least 1")
    form = output_type(schema)
    answer = _StructuredOutput(form, max_attempts)
    unsubscribe = self.subscribe(answer.hear)
    try:
        result = await self.run(_entry(self, answer, RunRequest(messages_of(prompt), trigger=self.identity.origin)))
    finally:
        unsubscribe()
    if answer.unusable is not None:
        raise answer.unusable
    if answer.is_exhausted:
        raise StructuredOutputFailed(max_attempts, answer.last_error)
    # What a limit ended after the answer was given has done what was asked.
    if not answer.is_given or result.stop_reason in ("aborted", "error"):
        result.raise_for_failure()
    return answer.value


@overload
def prompt_structured_sync(self: AgentCore, prompt: Prompt, schema: type[T], *, max_attempts: int = 3) -> T: ...
@overload
def prompt_structured_sync(
    self: AgentCore, prompt: Prompt, schema: JsonObject, *, max_attempts: int = 3
) -> JsonValue: ...
@overload
def prompt_structured_sync(self: AgentCore, prompt: Prompt, schema: object, *, max_attempts: int = 3) -> object: ...
def prompt_structured_sync(self: AgentCore, prompt: Prompt, schema: object, *, max_attempts: int = 3) -> object:
    """`prompt_structured`, waiting as `prompt_sync` does."""
    return self.blocking(lambda: prompt_structured(self, prompt, schema, max_attempts=max_attempts))


class _StructuredOutput:
    """What has come of the asking so far: the value, or how often and how it was wrong."""

    def __init__(self, form: OutputType, max_attempts: int) -> None:
        self.form = form
        self.last_error = ""
        self.unusable: ConfigError | None = None
        self._left = max_attempts
        self._values: list[object] = []
        self._broken: set[str] = set()

    @property
    def is_given(self) -> bool:
        return bool(self._values)

    @property
    def is_exhausted(self) -> bool:
        return not self._left and not self.is_given

    @property
    def value(self) -> object:
        """Raises:
        AgentError: there is none, though the run ended well.
        """
        if not self._values:
            raise AgentError("the run ended before the model gave its answer")
        return self._values[0]

    def wrong(self, error: str) -> str:
        """Count an answer that does not fit; what to tell the model."""
        self._left = max(0, self._left - 1)
        self.last_error = error
        return f"Validation failed:\n{error}"

    def _give_up(self, error: ConfigError) -> str:
        """No answer can be judged, so none is asked for any more."""
        self.unusable, self._left = error, 0
        return str(error)

    def take(self, arguments: JsonObject) -> ToolOutput:
        """The answer as a call of the tool. The first that fits is the answer."""
        if self.is_given or self.is_exhausted:
            return ToolOutput.failure("No more answers are taken.")
        try:
            self._values.append(self.form.read(arguments))
        except ConfigError as error:
            return ToolOutput.failure(self._give_up(error))
        except InvalidArguments as error:
            return ToolOutput.failure(f"{self.wrong(str(error))}\nCall {ANSWER} again, corrected.")
        return ToolOutput((Text(ACCEPTED),), terminate=True)

    def hear(self, event: Event) -> None:
        """Count calls that are no JSON: they never reach the tool."""
        match event:
            case ToolExecutionStart(call=ToolCall(name=name, partial_json=written)) if name == ANSWER and written:
                self._broken.add(event.call.id)
            case ToolExecutionEnd(result=result) if result.call_id in self._broken and not self.is_given:
                self.wrong(result.text)
            case _:
                pass

    def ask_for_call(self, reply: AssistantMessage) -> UserMessage | None:
        """What is said to a model that would end without a call."""
        del reply
        if self.is_given or not self._left:
            return None
        self.wrong(IGNORED)
        return None if self.is_exhausted else _told(f"Your answer was not heard. Give it by calling {ANSWER}.")

    def read_reply(self, reply: AssistantMessage) -> UserMessage | None:
        """Take a reply that is the answer itself; what is said to the model where it does not fit."""
        if self.is_given or not self._left:
            return None
        try:
            self._values.append(self.form.read_text(reply.text))
        except ConfigError as error:
            self._give_up(error)
        except InvalidArguments as error:
            told = self.wrong(str(error))
            return None if self.is_exhausted else _told(f"{told}\nSend the whole answer again, as JSON alone.")
        return None


class OutputTool:
    """The tool through which a model answers, in one run only."""

    name = ANSWER
    label = "Answer"
    description = DESCRIPTION
    mutates = False

    def __init__(self, answer: _StructuredOutput) -> None:
        self.parameters = answer.form.schema
        self._answer = answer

    def validate(self, arguments: JsonObject) -> JsonObject:
        """As they are: what is wrong with them is told by `run`, which can end the run."""
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


def _entry(agent: AgentCore, answer: _StructuredOutput, entry: RunRequest) -> RunRequest:
    entry = replace(entry, should_stop=lambda: answer.is_exhausted)
    if _is_native(agent):
        schema = OutputSchema(answer.form.name, answer.form.schema)
        return replace(entry, output_schema=schema, on_idle=answer.read_reply)
    return replace(entry, tools=(OutputTool(answer),), on_idle=answer.ask_for_call)


def _is_native(agent: AgentCore) -> bool:
    """Whether every model that may be asked can be held to a schema; which ones a routing picks is not known."""
    options = agent.options
    return options.routing is None and all(each.native_schema for each in (agent.state.model, *options.fallback))


def _told(text: str) -> UserMessage:
    return UserMessage((Text(text),), synthetic=True)


if TYPE_CHECKING:
    _: type[Tool] = OutputTool
