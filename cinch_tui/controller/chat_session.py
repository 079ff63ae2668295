"""The agent as the chat screen shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from cinch_tui.agent_session import NOT_READY, AgentSession
from cinch_tui.notifications.presence import Presence
from harness.errors import CinchError

if TYPE_CHECKING:
    from textual.app import App

    from cinch_tui.app.start_banner import StartBanner
    from cinch_tui.config.options import Options
    from cinch_tui.config.settings import Settings
    from cinch_tui.controller.bridge import Bridge
    from cinch_tui.reports.notices import NoticeLevel
    from cinch_tui.transcript.block import TranscriptBlock
    from cinch_tui.user_input import UserInputLike
    from cinch_tui.widgets.chat_widgets import ChatWidgets
    from cinch_tui.widgets.prompt.history import PromptHistory
    from cinch_tui.widgets.prompt.prompt import Prompt
    from harness.messages import Message


class ChatView(Protocol):
    """The chat screen, as the session controller uses it."""

    prompt: Prompt

    @property
    def widgets(self) -> ChatWidgets: ...

    async def agent_ready(self) -> None:
        """Called once the agent exists, before the first prompt is sent."""

    def replace_conversation(self, blocks: list[TranscriptBlock]) -> None:
        """Show these blocks instead of the current conversation."""

    def send(self, user_input: UserInputLike) -> None:
        """Send a prompt, or a steering message during a run."""

    def continue_run(self) -> None:
        """Ask the model again without a new message."""

    async def pick_session(self) -> None:
        """Let the user choose an earlier session and open it."""

    def keep_picture(self) -> object:
        """Save the empty screen as the first frame of the next start."""


class ChatSession(AgentSession):
    """The agent and its conversation, shown through a `ChatView`."""

    def __init__(self, app: App[object], options: Options, settings: Settings, history: PromptHistory) -> None:
        super().__init__(options, settings)
        self.app = app
        self.presence = Presence()
        self._prompt_history = history
        self._view: ChatView | None = None
        self._bridge: Bridge | None = None

    @property
    def view(self) -> ChatView:
        """Raises `CinchError` before the first paint."""
        if self._view is None:
            raise CinchError(NOT_READY)
        return self._view

    def add_to_history(self, user_input: UserInputLike) -> None:
        """Add a discarded prompt to the prompt history, where Up finds it."""
        self._prompt_history.add(user_input)

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        self.view.widgets.notice(text, level)

    def grace(self) -> float:
        """Return the seconds for which keys still go to the prompt when a dialog opens unasked."""
        from cinch_tui.user_dialogs.interaction import grace

        return grace(is_typing=bool(self.view.prompt.text.strip()) and self.presence.is_composing)

    async def show_branch(self) -> None:
        """Show the current git branch, which anyone may have changed."""
        from harness.session.paths import git_branch

        branch = await asyncio.to_thread(git_branch, self.assembly.workspace.root)
        self.view.widgets.set_status(branch=branch)

    def show_usage(self) -> None:
        """Show the tokens and cost of the conversation, and how full the context window is."""
        agent = self.agent
        self.view.widgets.show_usage(agent.state.usage, self.context_tokens, self.context_window)

    @property
    def context_tokens(self) -> int:
        """Tokens of the context: those reported for the last reply, with the changes since."""
        agent = self.agent
        # Not before the first paint.
        from harness.context.breakdown import breakdown, context_inputs
        from harness.context.pipeline import context_tokens, last_id

        overlay, history = agent.state.context.overlay, agent.history
        is_read = history.stored is None
        if agent.state.context.report is not None and is_read:
            return context_tokens(agent.state, history, agent.state.offered_tools)
        # The last reply has reported nothing of what came after it.
        if len(history) and (is_read or last_id(history) in overlay.changed_after):
            inputs = context_inputs(agent.state, agent.options.window)
            return breakdown(overlay.apply(history.outline), inputs).used
        return history.context

    @property
    def context_window(self) -> int:
        """Size of the context window in tokens, as the settings and the model limit it."""
        from harness.context.pipeline import limits_for  # not before the first paint

        return limits_for(self.agent.options.window, self.agent.state, self.agent.state.model).window

    def show_permissions(self) -> None:
        """Show the approval mode, what this session allows, skipped files, and if the session takes no prompts."""
        self.view.prompt.is_read_only = self.assembly.is_read_only
        state = self.agent.state
        allowed = tuple(str(rule) for rule in state.permissions.store.session_rules if rule.effect == "allow")
        self.view.widgets.set_status(approval=state.approval, allowed=allowed, skipped=self.assembly.folder.ignored)

    def show_activity(self, text: str) -> None:
        self.view.prompt.activity = text
        # The frame of the prompt shows it only while the prompt is empty.
        self.view.widgets.set_status(note=f"{text[0].lower()}{text[1:]}" if text else "")
        self.view.widgets.queue.can_send_now = not text

    @property
    def banner(self) -> StartBanner:
        """Start banner of an empty conversation."""
        from cinch_tui.app.start_banner import StartBanner

        return StartBanner(str(self.assembly.workspace.root), self.agent.state.model.spec.name)

    def _show_history(self, messages: Sequence[Message]) -> None:
        from cinch_tui.transcript.history_blocks import blocks_of

        self._show(blocks_of(messages, self.agent.state.known_tools, self.assembly.loaded), messages)

    async def _show_resumed(self, messages: Sequence[Message]) -> None:
        from cinch_tui.transcript.history_blocks import blocks_of, last_turn
        from harness.context.history import outline_of

        build = partial(blocks_of, messages, self.agent.state.known_tools, self.assembly.loaded)
        start = last_turn(outline_of(messages))
        # Without awaiting anything before, so that the next prompt is below.
        self._show(build(slice(start, None)), messages)
        await self.view.widgets.transcript.prepend_built(partial(build, slice(start)))
        self._show_target()

    def _show_target(self) -> None:
        """Select the message that the session was resumed at and scroll to it."""
        target, transcript = self.assembly.target, self.view.widgets.transcript
        if not target:
            return
        message = next((each for each in self.agent.history.outline if each.id == target), None)
        # A result is a part of the block of its call.
        call_id = getattr(message, "call_id", "")
        if not (transcript.choose_call(call_id) if call_id else transcript.choose_message(target)):
            self.notice(f"Message {target} is empty, so that there is nothing to show.", "warning")

    def _show(self, blocks: list[TranscriptBlock], messages: Sequence[Message]) -> None:
        """Show these blocks, the last ones of a conversation, and its state."""
        from cinch_tui.transcript.history_blocks import last_todo

        self.view.widgets.transcript.banner = self.banner
        if self._bridge:
            self._bridge.forget()
        self.view.replace_conversation(blocks)
        self.view.widgets.todo_panel.todo = last_todo(messages)
        self.show_usage()
        self.show_permissions()
        # The state of the previous conversation does not apply to this one.
        self.view.widgets.set_status(state="idle", note="")
