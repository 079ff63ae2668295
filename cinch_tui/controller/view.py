"""Protocols around the session controller: its view, and what its parts share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from textual.app import App

    from cinch_tui.reports.notices import NoticeLevel
    from cinch_tui.transcript.block import Block
    from cinch_tui.user_input import UserInputLike
    from cinch_tui.widgets.chat_widgets import ChatWidgets
    from cinch_tui.widgets.prompt.prompt import Prompt
    from harness.agent.agent import Agent


class ChatView(Protocol):
    """The chat screen, as the session controller uses it."""

    prompt: Prompt

    @property
    def widgets(self) -> ChatWidgets: ...

    async def agent_ready(self) -> None:
        """Called once the agent exists, before the first prompt is sent."""
        ...

    def replace_conversation(self, blocks: list[Block]) -> None:
        """Show these blocks instead of the current conversation."""
        ...

    def send(self, said: UserInputLike) -> None:
        """Send a prompt, or a steering message during a run."""
        ...

    def continue_run(self) -> None:
        """Ask the model again without a new message."""
        ...

    async def pick_session(self) -> None:
        """Let the user choose an earlier session and open it."""
        ...

    def keep_picture(self) -> object:
        """Save the empty screen as the first frame of the next start."""
        ...


class ControllerContext(Protocol):
    """The session controller, as its own parts use it."""

    app: App[object]

    @property
    def view(self) -> ChatView: ...

    @property
    def agent(self) -> Agent: ...

    @property
    def is_running(self) -> bool: ...

    def notice(self, text: str, level: NoticeLevel = "info") -> None: ...

    def add_to_history(self, said: UserInputLike) -> None:
        """Add a discarded prompt to the prompt history."""
        ...

    async def show_branch(self) -> None: ...

    def show_usage(self) -> None: ...

    def grace(self) -> float:
        """Return the seconds for which keys still go to the prompt when a dialog opens unasked."""
        ...
