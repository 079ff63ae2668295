"""Port: what commands use of a front end. The full-screen app and plain mode implement it.

Commands act on the agent themselves, through `CommandHost.session`; a front end only asks, shows and draws. A method
that waits for the user, reads or writes is asynchronous. One that cannot do what it was asked raises a `CinchError`,
whose text the registry shows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from harness.errors import CinchError

if TYPE_CHECKING:
    from cinch_tui.agent_session import AgentSession
    from cinch_tui.api_keys.provider_key import KeyCheck
    from cinch_tui.changes import SessionChanges
    from cinch_tui.commands.side_questions import SideQuestions
    from cinch_tui.mcp_control import McpControl
    from cinch_tui.reports.notices import NoticeLevel
    from cinch_tui.saved_sessions import SessionChoice
    from cinch_tui.trust.prompt import TrustQuestion
    from cinch_tui.trust.store import TrustAnswer
    from cinch_tui.user_input import UserInput
    from harness.job_spec import JobInput
    from harness.jobs import Job
    from tools.mcp.auth.browser_login import LoginRequest

DiffBase: TypeAlias = Literal["session", "git"]


class FullScreenCommands(Protocol):
    """Abilities of the full-screen app that plain mode lacks."""

    def clear_view(self) -> None:
        """Empty the screen; the history and the session stay."""

    def toggle_timestamps(self) -> None: ...

    def theme_names(self) -> Sequence[str]: ...

    async def choose_theme(self, name: str) -> None:
        """Use this theme from now on; without a name, let the user choose."""

    async def toggle_vim(self) -> None:
        """Switch the keys of the prompt between vi and a shell."""

    async def open_editor(self) -> None:
        """Edit the prompt in `$EDITOR`; what is saved returns to the prompt, or is sent with `ui.editor_sends`."""

    def panels(self) -> Sequence[tuple[str, str, bool]]:
        """Return the name and content of each panel, and True if it is shown."""
        ...

    def toggle_panel(self, name: str) -> None: ...

    async def ask_several(self, models: Sequence[str], prompt: str) -> None:
        """Send a prompt to two models or more; an empty one means the next prompt."""

    def ask_one(self) -> None:
        """Send the next prompt to the session's model after all."""

    def pick_answer(self) -> None:
        """Reopen the list of answers of a parallel run."""


class CommandHost(Protocol):
    """A front end, as commands use it."""

    @property
    def session(self) -> AgentSession: ...

    @property
    def side_questions(self) -> SideQuestions: ...

    @property
    def full_screen(self) -> FullScreenCommands | None:
        """None in plain mode."""

    @property
    def stop_key(self) -> str:
        """Key that stops the agent; empty for none."""
        ...

    @property
    def shows_thinking(self) -> bool: ...

    def show_thinking(self, *, shown: bool) -> None: ...

    async def type_into(self, job: Job, terminal: JobInput) -> None:
        """Let the user type into a program that runs in a terminal; what they type goes nowhere else."""

    def send(self, user_input: UserInput) -> None:
        """Send a prompt, or a steering message during a run, once the command has ended."""

    def continue_run(self) -> None:
        """Ask the model again without a new message, once the command has ended."""

    # Output

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        """Show one or two lines to the user."""

    def show(self, title: str, text: str) -> None:
        """Show Markdown in the conversation; it never reaches a model."""

    def show_progress(self, text: str) -> None:
        """Show what is going on; empty when it has ended."""

    def show_activity(self, text: str) -> None:
        """Show which model call outside of replies keeps the agent busy, and that it can be stopped; empty for none."""

    def show_permissions(self) -> None:
        """Update the display of the approval mode and of session grants, if there is one."""

    def show_help(self) -> None: ...

    async def show_settings(self) -> None: ...

    async def show_context(self) -> None:
        """Show what fills the context window, message by message."""

    async def show_mcp(self, control: McpControl) -> None:
        """Show the MCP servers."""

    async def show_login(self, request: LoginRequest) -> None:
        """Show a login at an MCP server until this is cancelled; the user may cancel the login."""

    async def show_changes(self, changes: SessionChanges, base: DiffBase) -> None:
        """Show what changed in files since the session began, or since the last commit."""

    def open_panel(self, name: str) -> None:
        """Show a panel and focus it."""

    async def answer_side_question(self, question: str) -> None:
        """Ask a side question and show the answer as it arrives."""

    def copy(self, text: str) -> None: ...

    # Input

    def restore_prompt(self, user_input: UserInput) -> None:
        """Put a prompt into the input, where the user can edit and send it."""

    async def edit_text(self, text: str, name: str) -> str:
        """Return a text as the user changed it in `$EDITOR`; empty if it was not changed.

        Raises:
            CinchError: The editor failed.
        """
        ...

    async def pick(self, title: str, choices: Sequence[tuple[str, str]], current: str = "") -> str | None:
        """Let the user choose one of these (name, detail); return its name, or None."""

    async def ask_for_trust(self, question: TrustQuestion) -> TrustAnswer:
        """Show the files of a folder and let the user choose an answer; "later" on Esc."""
        ...

    async def review_brief(self, brief: str) -> str:
        """Show the brief of a new session; return it as the user accepts it, empty if they do not."""
        ...

    async def pick_session(self, query: str = "") -> SessionChoice | None:
        """Let the user choose a saved session; `query` narrows the list."""

    async def pick_model(self) -> str | None:
        """Let the user choose a model; return its name, or None."""

    def listed_models(self) -> Sequence[str]:
        """Return the names of the models that providers have listed so far."""
        ...

    async def ask_key(
        self, title: str, note: str, check: Callable[[str], Awaitable[KeyCheck]]
    ) -> tuple[str, KeyCheck] | None:
        """Ask for an API key in a masked field; return the key and the result of its check, or None."""

    async def paste(self) -> None:
        """Paste the system's clipboard, images included."""


class FullScreenHost(CommandHost, FullScreenCommands, Protocol):
    """Command host of the full-screen app, with what only keys do."""

    def next_colours(self) -> None:
        """Switch to the next of the user's theme, white and black."""

    async def next_model(self) -> None:
        """Switch to the next model that settings name or that this conversation used."""


def full_screen(host: CommandHost, reason: str) -> FullScreenCommands:
    """Return the abilities of the full-screen app.

    Raises:
        CinchError: The host is plain mode; `reason` is the text.
    """
    if host.full_screen is None:
        raise CinchError(reason)
    return host.full_screen
