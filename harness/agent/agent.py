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
from harness.errors import InvalidContinue, NoMessages
from harness.events import Continuation
from harness.messages import JsonObject
from harness.ports.provider import Model
from harness.ports.tool import Tool


class Agent(AgentConversation):
    """A conversation with a model that can use tools.

    Creating an `Agent` performs no I/O. An agent holds one conversation and executes one run at a time; a second
    `prompt` during a run raises `AlreadyRunning`. By default it works in the current directory and denies every call
    that would need approval.

    Args:
        model: A model, or its name, such as `anthropic/claude-sonnet-5-5`.
        tools: Tools, or functions with type hints.
        system_prompt: System prompt of every model call.
        options: Everything else: limits, approvals, hooks, retries and so on.

    Raises:
        ConfigError: Two tools have the same name, an item of `tools` is not a tool, or the model does not exist.
    """

    async def prompt(self, prompt: Prompt, *, metadata: JsonObject | None = None) -> AgentResult:
        """Send a prompt and wait until the run ends. A failed or aborted run is a result, not an exception.

        Args:
            prompt: Text, content blocks, or messages.
            metadata: Data to publish with `AgentStart` and to pass to the provider with each request of the run.

        Raises:
            AlreadyRunning: A run is active; use `steer` or `follow_up` instead.
            NoMessages: The prompt is an empty list.
        """
        return await self.run(RunRequest(messages_of(prompt), trigger=self.identity.origin, metadata=metadata or {}))

    async def continue_run(
        self, continuation: Continuation = Continuation(), *, metadata: JsonObject | None = None
    ) -> AgentResult:
        """Continue from the current history and the queued messages, without a prompt.

        A reply that failed or was aborted is requested again.

        Args:
            continuation: Kind of continuation, recorded with the run.
            metadata: Values of the program, recorded with the run and passed to the provider.

        Raises:
            AlreadyRunning: A run is active.
            NoMessages: The history is empty.
            InvalidContinue: The last message is a complete reply and nothing is queued.
        """
        self.ensure_idle()
        if not len(self.history):
            raise NoMessages("there is no conversation to continue")
        if self.history.at_rest and not self.has_pending:
            raise InvalidContinue("the last message is a reply: send a prompt instead")
        return await self.run(RunRequest(continuation=continuation.tagged(), metadata=metadata or {}))

    def stream(self, prompt: Prompt | Continuation, *, metadata: JsonObject | None = None) -> RunStream:
        """Send a prompt, or continue, and iterate over the events of the run, up to and including `AgentEnd`.

        Leaving the iteration early aborts the run. `AlreadyRunning` is raised at the first event, not here.

        Args:
            prompt: Text, content or messages to send; or a `Continuation`, as in `continue_run`.
            metadata: Values of the program, recorded with the run and passed to the provider.
        """

        def start() -> Awaitable[AgentResult]:
            if isinstance(prompt, Continuation):
                return self.continue_run(prompt, metadata=metadata)
            return self.prompt(prompt, metadata=metadata)

        return RunStream(self, start)

    def prompt_sync(self, prompt: Prompt, *, metadata: JsonObject | None = None) -> AgentResult:
        """Send a prompt and wait, with or without a running event loop.

        Ctrl+C aborts and raises KeyboardInterrupt. `metadata` is that of `prompt`.
        """
        return self.blocking(lambda: self.prompt(prompt, metadata=metadata))

    def continue_sync(self, continuation: Continuation = Continuation()) -> AgentResult:
        """Continue and wait, like `continue_run` without an event loop."""
        return self.blocking(lambda: self.continue_run(continuation))

    prompt_structured = prompt_structured
    prompt_structured_sync = prompt_structured_sync
    ask_side_question = ask_side_question

    async def __aenter__(self) -> Agent:
        """Return the agent; it is closed at the end of the block."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def _make_subagent(
        self, model: Model, tools: Sequence[Tool], system_prompt: str, options: AgentOptions
    ) -> Subagent:
        return Agent(model, tools, system_prompt, options)
