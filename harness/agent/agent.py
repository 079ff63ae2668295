"""Agent: a conversation with a model, for Python programs."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from types import TracebackType

from harness.agent.conversation import AgentConversation
from harness.agent.options import AgentOptions
from harness.agent.prompt import Prompt, messages_of
from harness.agent.result import AgentResult
from harness.agent.run import RunRequest
from harness.agent.side_question import ask_side_question
from harness.agent.stream import RunStream
from harness.agent.structured import prompt_structured, prompt_structured_sync
from harness.agent.subagents.spawn import Subagent
from harness.continuation import Continuation
from harness.errors import InvalidContinue, NoMessages
from harness.messages import JsonObject
from harness.ports.provider import Model
from harness.ports.tool import Tool


class Agent(AgentConversation):
    """A conversation with a model that can use tools. One run at a time; constructing one does no I/O.

    A model may be given by its name, and a tool as a function with type hints.

    Raises:
        ConfigError: two tools have the same name, something in `tools` is no tool, or there is no such model.
    """

    async def prompt(self, prompt: Prompt, *, metadata: JsonObject | None = None) -> AgentResult:
        """Send a prompt and wait for the run to end. A failed or aborted run is a result, not an exception.

        `metadata` is published with `AgentStart` and given to the provider with each request of the run.

        Raises:
            AlreadyRunning: a run is on; `steer` or `follow_up` instead.
            NoMessages: the prompt is an empty list.
        """
        return await self.run(RunRequest(messages_of(prompt), trigger=self.identity.origin, metadata=metadata or {}))

    async def continue_run(
        self, continuation: Continuation = Continuation(), *, metadata: JsonObject | None = None
    ) -> AgentResult:
        """Let the model go on from where the history stands, with what is queued. A reply that failed or was aborted
        is no last word: the model is asked again.

        Raises:
            AlreadyRunning: a run is on.
            NoMessages: there is nothing to go on from.
            InvalidContinue: the last word is the assistant's and nothing is queued.
        """
        self.ensure_idle()
        if not len(self.history):
            raise NoMessages("there is no conversation to continue")
        if self.history.at_rest and not self.has_pending:
            raise InvalidContinue("the last message is the assistant's: prompt instead")
        return await self.run(RunRequest(continuation=continuation.tagged(), metadata=metadata or {}))

    def stream(self, prompt: Prompt | Continuation, *, metadata: JsonObject | None = None) -> RunStream:
        """Say something, or go on, and read what happens, up to and including `AgentEnd`; speak to the run meanwhile.

        Leaving early aborts the run. That another run is on is told when the first event is asked for.
        """

        def start() -> Awaitable[AgentResult]:
            if isinstance(prompt, Continuation):
                return self.continue_run(prompt, metadata=metadata)
            return self.prompt(prompt, metadata=metadata)

        return RunStream(self, start)

    def prompt_sync(self, prompt: Prompt, *, metadata: JsonObject | None = None) -> AgentResult:
        """Say something and wait; needs no event loop, and works beside one that is running in this thread.

        Interrupted (Ctrl+C), it aborts the run and lets the interruption pass.
        """
        return self.blocking(lambda: self.prompt(prompt, metadata=metadata))

    def continue_sync(self, continuation: Continuation = Continuation()) -> AgentResult:
        """`continue_run`, waiting as `prompt_sync` does."""
        return self.blocking(lambda: self.continue_run(continuation))

    prompt_structured = prompt_structured
    prompt_structured_sync = prompt_structured_sync
    ask_side_question = ask_side_question

    async def __aenter__(self) -> Agent:
        """Closed at the end of the block."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def _make_subagent(
        self, model: Model, tools: Sequence[Tool], system_prompt: str, options: AgentOptions
    ) -> Subagent:
        return Agent(model, tools, system_prompt, options)
