"""Agent: a conversation with a model, for Python programs, as an object and as functions over plain data."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from harness.agent.arguments import Prompt, ToolLike, messages_of, model_of, tool_list
from harness.agent.context_control import ContextControl
from harness.agent.limits import Ledger
from harness.agent.options import AgentOptions
from harness.agent.run_state import AgentResult, Run, RunRequest
from harness.agent.side_question import ask_side_question
from harness.agent.stream import RunStream
from harness.agent.structured import prompt_structured, prompt_structured_sync
from harness.agent.subagents.spawn import with_delegate
from harness.approval.modes import EXECUTE, MODES, Mode
from harness.codec import dump_messages, load_messages
from harness.context.history import outline_of, usage_of
from harness.context.overlay import ContextOverlay
from harness.errors import ConfigError, InvalidContinue, NoMessages
from harness.events import Continuation, HistoryReplaced, ModeChanged, ModelChanged
from harness.jobs import lost_jobs, lost_jobs_notice
from harness.messages import AssistantMessage, JsonObject, Message
from harness.ports.provider import Model
from harness.ports.tool import Tool
from harness.publishing import publish_message
from harness.thinking_level import ThinkingLevel

if TYPE_CHECKING:
    from harness.agent.stored_session import StoredSession
    from harness.ports.session_store import SessionStore
    from harness.session.resume import LoadedSession


class Agent(ContextControl):
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

    _stored_session: StoredSession | None = None

    prompt_structured = prompt_structured
    prompt_structured_sync = prompt_structured_sync
    ask_side_question = ask_side_question

    def set_model(self, model: Model | str) -> None:
        """Use another model from the next turn on; at once, if the run is waiting to retry a request.

        Raises:
            ConfigError: The model does not exist.
        """
        model = model_of(model)
        self.state.former_models.append(self.state.model)
        self.state.model = model
        self.retry_now()
        self.publish(ModelChanged(spec=model.spec))

    def set_thinking(self, level: ThinkingLevel) -> None:
        """Set the thinking level of the model from the next turn on."""
        model = self.state.model
        self.set_model(replace(model, spec=replace(model.spec, thinking=level)))

    def set_mode(self, mode: Mode) -> None:
        """Switch between planning and executing; only on behalf of the user, never of the model."""
        self.state.mode = mode
        self.publish(ModeChanged(mode=mode.name))

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

    def replace_messages(self, messages: Sequence[Message]) -> None:
        """Replace the history, in the same session, which records it; published as `HistoryReplaced`.

        Raises:
            AlreadyRunning: A run is active.
        """
        self.ensure_idle()
        self.history.replace(messages)
        self.state.context.restart(self.history.outline)
        self.publish(HistoryReplaced(messages=self.history.messages))

    def append_messages(self, messages: Sequence[Message]) -> None:
        """Append messages to the history without a model call; each is published as `MessageStart` and `MessageEnd`.

        Raises:
            AlreadyRunning: A run is active.
            ConfigError: A tool call has no result after it, or a result no call before it; nothing is appended.
        """
        self.ensure_idle()
        try:
            self.history.extend(messages)
        except ValueError as error:
            raise ConfigError(f"these messages cannot be appended: {error}") from error
        for message in messages:
            publish_message(self.publish, message)

    def clear_messages(self) -> None:
        """Remove all messages, in the same session, as `replace_messages` does."""
        self.replace_messages(())

    def save_messages(self) -> str:
        """Return the history as JSON."""
        return dump_messages(self.history.messages)

    def restore_messages(self, text: str) -> None:
        """Replace the history by what `save_messages` returned.

        Raises:
            AlreadyRunning: A run is active.
            ConfigError: The text is not a saved history; the history is unchanged.
        """
        self.replace_messages(load_messages(text))

    def reset(self) -> None:
        """Return to the initial state, in a new session.

        System prompt, tools, model with its thinking level, and messages are those that the agent was created with;
        mode, approval, queue modes and `max_tokens` are those of its options. Queued messages, `last_error`, usage and
        session approvals are discarded. Background jobs and subscriptions remain.

        Raises:
            AlreadyRunning: A run is active.
        """
        options, initial, state = self.options, self._initial, self.state
        self.new_session(messages=options.messages)
        state.context.restore(ContextOverlay())
        self.inbox.clear()
        self.inbox.steering.mode, self.inbox.follow_up.mode = options.steering, options.follow_up
        state.system_prompt, state.tools = initial.system_prompt, initial.tools
        state.max_tokens, state.approval, state.last_error = initial.max_tokens, options.approval, None
        if state.model != initial.model:
            self.set_model(initial.model)
        if state.mode != options.mode:
            self.set_mode(options.mode)

    def new_session(self, session_id: str = "", messages: Sequence[Message] = ()) -> str:
        """Start another conversation and return its id. Session approvals end.

        Args:
            session_id: Id of the new session; empty creates one.
            messages: Initial history.

        Raises:
            AlreadyRunning: A run is active.
        """
        self.ensure_idle()
        self.state.cache_key = self._cache_key_for(messages)
        self.history.replace(messages)
        self.state.context.restart(self.history.outline)
        self.state.ledger = Ledger()
        for model, usage in usage_of(messages):
            self.state.ledger.add(model, usage)
        self.state.permissions.store.end_session()
        self._cache.clear()
        self._bus.session_id = self.identity.rotate(session_id)
        self._bus.turn = 0
        return self.session_id

    async def open_session(self, store: SessionStore, session_id: str = "") -> bool:
        """Continue a session of a store, or start it there, and store the conversation from now on.

        A message is stored before it is sent to the model, and the start of a tool call before the call runs. A store
        that fails is reported as a notice and does not stop a run. `new_session` and `reset` end the storing.

        Args:
            store: The store.
            session_id: Id of the session; empty: the current one.

        Returns:
            True if the store has the session: its messages replace the current ones. Otherwise the current messages
            are its first ones.

        Raises:
            AlreadyRunning: A run is active.
            SessionTooNew: A later version wrote the session in an unknown format.
            SessionError: The session opened before cannot be stored now.
        """
        # Imported late: the app writes files.
        from harness.agent.stored_session import StoredSession, find_session

        self.ensure_idle()
        if self._stored_session is not None:
            await self._stored_session.flush()
        session_id = session_id or self.session_id
        loaded, messages = await find_session(store, session_id)
        if self._stored_session is not None:
            # Only now: if the store fails, the session opened before is still stored.
            await self._stored_session.close()
            self._stored_session = None
        mode = self.state.mode
        if loaded is not None:
            self.restore_session(loaded, messages)
            mode = next((each for each in MODES.values() if each.name == loaded.mode), mode)
        elif session_id != self.session_id:
            self.new_session(session_id, self.history.messages)
        self._stored_session = StoredSession(self, store, loaded)
        if mode is not (self.state.mode if loaded else EXECUTE):
            self.set_mode(mode)
        await self._bus.flush()
        return loaded is not None

    def restore_session(self, loaded: LoadedSession, messages: Sequence[Message] | None = None) -> None:
        """Continue a loaded session: messages, summaries for models, order of tools, usage and numbers of its runs.

        Args:
            loaded: The session.
            messages: Its messages, repaired if a program that ended left them incomplete; None: they are read now.

        Raises:
            AlreadyRunning: A run is active.
        """
        if messages is None:
            from harness.session.repaired import repaired_messages

            messages = repaired_messages(loaded)
        self.new_session(loaded.session_id, messages)
        self.state.context.restore(loaded.overlay)
        self._restore_identity(loaded, outline_of(messages))
        for model, usage in loaded.other_usage:
            self.state.ledger.add(model, usage)
        # Empty replies, such as those aborted at their start, are in the session only.
        for each in loaded.messages.without({message.id for message in outline_of(messages)}):
            if isinstance(each, AssistantMessage):
                self.state.ledger.add(f"{each.provider}/{each.model}", each.usage)
        if gone := lost_jobs(outline_of(messages), self.jobs):
            self.add_reminder(lost_jobs_notice(gone))

    def rotate_session_if_idle(self, idle_seconds: float) -> str | None:
        """Start another session with the same conversation if no run started within `idle_seconds`.

        Returns:
            The id of the new session, or None if the agent was not idle for long enough.

        Raises:
            AlreadyRunning: A run is active.
        """
        if (idle := self.identity.idle_for()) is None or idle <= idle_seconds:
            return None
        return self.new_session(messages=self.history.messages)

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
