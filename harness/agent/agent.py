"""Agent: a conversation with a model, for Python programs, as an object and as functions over plain data."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from harness.agent.arguments import Prompt, ToolLike, messages_of, tool_list
from harness.agent.context_control import ContextControl
from harness.agent.options import AgentOptions
from harness.agent.run_state import AgentResult, Run, RunRequest
from harness.agent.session_control import SessionControl
from harness.agent.side_question import ask_side_question
from harness.agent.stream import RunStream
from harness.agent.structured import prompt_structured, prompt_structured_sync
from harness.agent.subagents.spawn import with_delegate
from harness.errors import InvalidContinue, NoMessages
from harness.events import Continuation
from harness.messages import JsonObject, Message
from harness.ports.provider import Model
from harness.ports.tool import Tool
from harness.thinking_level import ThinkingLevel


class Agent(ContextControl, SessionControl):
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
        return await self.run(RunRequest(messages_of(prompt), metadata=metadata or {}))

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

    def set_thinking(self, level: ThinkingLevel) -> None:
        """Set the thinking level of the model from the next turn on."""
        model = self.state.model
        self.set_model(replace(model, spec=replace(model.spec, thinking=level)))

    def set_system_prompt(self, text: str) -> None:
        """Replace the system prompt from the next turn on."""
        self.state.system_prompt = text

    def set_tools(self, tools: Sequence[ToolLike]) -> None:
        """Offer these tools from the next turn on; calls that are running are not affected.

        Raises:
            ConfigError: Two tools have the same name, or an item is not a tool.
        """
        self.state.tools = tool_list(tools)

    def add_tool(self, tool: ToolLike) -> None:
        """Offer one more tool from the next turn on.

        Raises:
            ConfigError: The agent already has a tool of that name, or the value is not a tool.
        """
        self.set_tools((*self.state.tools, tool))

    def remove_tool(self, name: str) -> None:
        """Stop offering a tool from the next turn on; does nothing if no tool has that name."""
        self.set_tools([tool for tool in self.state.tools if tool.name != name])

    def set_source_tools(self, source: str, tools: Sequence[Tool]) -> None:
        """Offer the tools of a source that may change while a session runs, such as an MCP server.

        Small sources that are known before the first request of a session are declared. The tools of others are found
        with `find_tools`, and a reminder announces them; the declared tools never change.

        Args:
            source: Name of the source for the model: "the MCP server github". Name it before the first request.
            tools: Its tools now, which replace those before; none while it is not connected.
        """
        self.state.late.sources.set(source, tools)

    def _new_run(self, request: RunRequest) -> Run:
        return with_delegate(super()._new_run(request), self.spawn_context, Agent)

    async def __aenter__(self) -> Agent:
        """Return the agent; it is closed at the end of the block."""
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AgentContext(Struct, frozen=True):
    """Initial state of a run, which the run never changes."""

    system_prompt: str = ""
    """System prompt."""
    messages: Sequence[Message] = ()
    """History."""
    tools: Sequence[Tool] = ()
    """Tools to offer."""


def agent_loop(
    prompt: Prompt, context: AgentContext, model: Model, options: AgentOptions = AgentOptions()
) -> RunStream:
    """Add the prompt to the context and run the loop.

    Args:
        prompt: One or more messages that start the first turn.
        context: The conversation so far; its messages take the place of `options.messages`.
        model: The model to call. The caller closes its provider.
        options: Configuration of the loop: callbacks, retry strategy, limits, hooks and so on.

    Returns:
        An async iterator of events that ends with `AgentEnd`, which contains the new messages, as does its `result`.

    Raises:
        ConfigError: Two tools have the same name.
        NoMessages: At the first event, if the prompt is empty.
    """
    return _agent_of(context, model, options).stream(prompt)


def agent_loop_continue(context: AgentContext, model: Model, options: AgentOptions = AgentOptions()) -> RunStream:
    """Run the loop on the context without a new prompt: to retry, or to continue after tool results.

    `context`, `model`, `options` and the return value are those of `agent_loop`.

    Raises:
        ConfigError: Two tools have the same name.
        NoMessages: At the first event, if the context has no messages.
        InvalidContinue: At the first event, if the last message is a reply.
    """
    return _agent_of(context, model, options).stream(Continuation())


def _agent_of(context: AgentContext, model: Model, options: AgentOptions) -> Agent:
    return Agent(model, context.tools, context.system_prompt, replace(options, messages=context.messages))
