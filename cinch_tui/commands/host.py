"""Port: what commands may do to the app. The chat screen fulfils it; tests fulfil it with a recorder.

A method that asks, reads or writes is awaited: commands run in a worker, so it may open a screen and wait.
A method that cannot do what it was asked raises a `CinchError`; the registry shows its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from harness.thinking_level import ThinkingLevel

if TYPE_CHECKING:
    from cinch_tui.commands.registry import Choice

ApprovalMode: TypeAlias = Literal["on", "smart", "off"]
DiffBase: TypeAlias = Literal["session", "git"]
NoticeLevel: TypeAlias = Literal["info", "warning", "error"]
TranscriptPart: TypeAlias = Literal["reply", "all", "code"]


class ViewCommands(Protocol):
    """The screen itself."""

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        """One or two lines that the person should see now."""
        ...

    def show(self, title: str, text: str) -> None:
        """A block in the conversation, in Markdown, which never reaches a model."""
        ...

    def show_help(self) -> None: ...

    def toggle_help(self) -> None:
        """The help beside the conversation, or no more; over it where there is no room."""
        ...

    async def pick(self, title: str, choices: Sequence[tuple[str, str]], current: str = "") -> str | None:
        """Let the person choose one of these (name, detail); None when they do not."""
        ...

    async def show_settings(self) -> None:
        """Every setting, to look at and to change."""
        ...

    async def show_context(self) -> None:
        """What fills the model's window, message by message."""
        ...

    @property
    def shows_thinking(self) -> bool: ...

    def show_thinking(self, *, shown: bool) -> None:
        """Whether what the model thinks is shown."""
        ...

    def clear_view(self) -> None:
        """Empty the screen's conversation; the agent's history and the session stay."""
        ...

    def toggle_times(self) -> None:
        """Show when things were said, or no longer."""
        ...

    def transcript_source(self, part: TranscriptPart, back: int = 1) -> str:
        """A reply, the last or one so far `back`, or the whole conversation, or the last reply's fenced code, as
        written; may be empty."""
        ...

    def copy(self, text: str) -> None: ...

    def theme_names(self) -> Sequence[str]: ...

    async def choose_theme(self, name: str) -> None:
        """Wear that theme from now on; without a name, ask which."""
        ...

    async def toggle_vim(self) -> None:
        """Edit the prompt with the keys of vi from now on, or with those of a shell again."""
        ...

    async def paste(self) -> None:
        """Put what the system's clipboard holds into the prompt, pictures too."""
        ...

    async def open_editor(self) -> None:
        """Compose in `$EDITOR`; what is saved there returns to the prompt, or is sent with `ui.editor_sends`."""
        ...

    def quit(self) -> None: ...


class SessionCommands(Protocol):
    """The conversation and its file."""

    @property
    def stop_key(self) -> str:
        """What a person presses to stop the agent; empty for nothing."""
        ...

    async def until_ready(self) -> bool:
        """Wait until there is an agent; whether there was none."""
        ...

    @property
    def is_running(self) -> bool: ...

    @property
    def is_planning(self) -> bool: ...

    def toggle_plan(self) -> None: ...

    def accept_plan(self) -> None:
        """Leave plan mode and send the last reply as the plan to carry out.

        Raises:
            CinchError: plan mode is off, the agent is running, or there is no reply.
        """
        ...

    def reset(self) -> None:
        """Empty history, usage and modes of the agent; the session goes on in the same file."""
        ...

    async def new_session(self) -> None: ...

    async def pick_session(self) -> None: ...

    async def load_session(self, session_id: str) -> None: ...

    async def save_session(self) -> str:
        """Make sure that everything is on disk; where it is, in words."""
        ...

    def session_choices(self) -> Sequence[Choice]:
        """The sessions of this folder, newest first; answers at once."""
        ...

    def session_summary(self) -> str: ...

    def usage_report(self) -> str: ...

    async def show_changes(self, base: DiffBase) -> None:
        """What changed in the files since the session began, or since the last commit."""
        ...


class ModelCommands(Protocol):
    """The model in use."""

    def model_names(self) -> Sequence[str]: ...

    async def choose_model(self) -> None: ...

    async def set_model(self, name: str) -> None: ...

    def ask_again(self) -> None:
        """At once, where the model is waited for; else once more after a reply that failed or was stopped."""
        ...

    @property
    def thinking(self) -> ThinkingLevel: ...

    def set_thinking(self, level: ThinkingLevel) -> bool:
        """Set the thinking level; false, and nothing is set, if the model takes none."""
        ...

    @property
    def system_prompt(self) -> str: ...

    def set_system(self, text: str) -> None: ...


class DoctorCommands(Protocol):
    """Whether all that is set up works."""

    async def examine(self, names: Sequence[str]) -> str:
        """What is found on this machine and of the services that are set up, or of those named, in Markdown."""
        ...


class ApprovalCommands(Protocol):
    """What may run without a question."""

    @property
    def approval(self) -> ApprovalMode: ...

    def set_approval(self, mode: ApprovalMode) -> None: ...

    def approval_summary(self) -> str: ...

    def session_grants(self) -> Sequence[str]:
        """Short forms of what this session allows, such as `edit_file` and `bash(git push …)`."""
        ...

    def grant(self, tool: str) -> bool:
        """Allow all calls of a tool in this session; False if there is no such tool."""
        ...

    def revoke(self, grant: str | None) -> Sequence[str]:
        """Revoke one session grant, those of one tool, or all; the short forms of those revoked."""
        ...


class KeyCommands(Protocol):
    """API keys. No method gives one back."""

    def provider_names(self) -> Sequence[str]: ...

    async def key_summary(self) -> str: ...

    async def enter_key(self, provider: str) -> None:
        """Ask for the key in a masked field, check it, store it and use it at once."""
        ...

    async def store_key(self, provider: str, secret: str) -> None:
        """Check this key, store it and use it at once."""
        ...


class ParallelCommands(Protocol):
    """Several models at once."""

    async def ask_several(self, models: Sequence[str], prompt: str) -> None:
        """Ask them `prompt`; an empty one: the next prompt goes to them. It takes two or more."""
        ...

    def ask_one(self) -> None:
        """The next prompt goes to the session's model."""
        ...

    def pick_answer(self) -> None:
        """Ask once more which answer goes on."""
        ...


class SideQuestionCommands(Protocol):
    """Questions beside the work."""

    async def ask_aside(self, question: str) -> None:
        """Ask the model, with the conversation as it is, show its answer as it comes, and wait for its end; the one
        that is being answered is stopped."""
        ...

    def stop_aside(self) -> bool:
        """Stop the answer; whether there was one."""
        ...


class PanelCommands(Protocol):
    """What stands around the conversation."""

    def panels(self) -> Sequence[tuple[str, str, bool]]:
        """Each by its name, with what it shows, and whether it is shown now."""
        ...

    def toggle_panel(self, name: str) -> None: ...

    def open_panel(self, name: str) -> None:
        """Show it, and give it the keys."""
        ...

    def running_jobs(self) -> Sequence[tuple[str, str]]:
        """Those that run in the background: the id of each, and what it is."""
        ...

    def kill_job(self, job_id: str) -> None:
        """Raises:
        CinchError: no job of that id runs.
        """
        ...


class CommandHost(
    ViewCommands,
    SessionCommands,
    ModelCommands,
    DoctorCommands,
    ParallelCommands,
    SideQuestionCommands,
    ApprovalCommands,
    KeyCommands,
    PanelCommands,
    Protocol,
):
    """All of it."""


class ScreenHost(CommandHost, Protocol):
    """Command host of the full-screen app."""

    async def keep_key(self, provider: str, secret: str) -> None: ...

    def next_colours(self) -> None:
        """Switch to the next of the user's theme, white and black."""
        ...

    async def next_model(self) -> None:
        """Switch to the next model that settings name or that this conversation used."""
        ...
