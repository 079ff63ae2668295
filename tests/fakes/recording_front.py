"""A front without a screen: it keeps what commands asked of it, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cinch_tui.commands.host import ApprovalMode, CommandHost, DiffBase, NoticeLevel, TranscriptPart
from cinch_tui.commands.registry import Choice
from harness.errors import ConfigError, SessionMissing
from harness.thinking_level import ThinkingLevel


@dataclass
class RecordingFront:
    calls: list[tuple[str, ...]] = field(default_factory=list)
    notices: list[tuple[NoticeLevel, str]] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)
    transcript: dict[str, str] = field(default_factory=dict)
    granted: list[str] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    is_running: bool = False
    stop_key: str = "Esc"
    is_planning: bool = False
    shows_thinking: bool = True
    picked: str | None = None
    thinking: ThinkingLevel = "off"
    takes_levels: bool = True
    approval: ApprovalMode = "smart"
    model: str = "demo/tour"
    system_prompt: str = "You are cinch."

    async def until_ready(self) -> bool:
        return False

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        self.notices.append((level, text))

    def show(self, title: str, text: str) -> None:
        self.calls.append(("show", title, text))

    def show_help(self) -> None:
        self.calls.append(("show_help",))

    def toggle_help(self) -> None:
        self.calls.append(("toggle_help",))

    async def pick(self, title: str, choices: Sequence[tuple[str, str]], current: str = "") -> str | None:
        self.calls.append(("pick", title, current, *(name for name, _ in choices)))
        return self.picked

    async def show_settings(self) -> None:
        self.calls.append(("show_settings",))

    async def show_context(self) -> None:
        self.calls.append(("show_context",))

    def show_thinking(self, *, shown: bool) -> None:
        self.shows_thinking = shown

    async def toggle_vim(self) -> None:
        self.calls.append(("toggle_vim",))

    async def paste(self) -> None:
        self.calls.append(("paste",))

    def clear_view(self) -> None:
        self.calls.append(("clear_view",))

    def toggle_times(self) -> None:
        self.calls.append(("toggle_times",))

    def transcript_source(self, part: TranscriptPart, back: int = 1) -> str:
        return self.transcript.get(part if back == 1 else f"{part} {back}", "")

    def copy(self, text: str) -> None:
        self.copied.append(text)

    def theme_names(self) -> Sequence[str]:
        return ("auto", "cinch-dark")

    async def choose_theme(self, name: str) -> None:
        self.calls.append(("choose_theme", name))

    async def open_editor(self) -> None:
        self.calls.append(("open_editor",))

    def quit(self) -> None:
        self.calls.append(("quit",))

    def toggle_plan(self) -> None:
        self.is_planning = not self.is_planning
        self.calls.append(("toggle_plan",))

    def accept_plan(self) -> None:
        self.calls.append(("accept_plan",))

    def reset(self) -> None:
        self.calls.append(("reset",))

    async def show_changes(self, base: DiffBase) -> None:
        self.calls.append(("show_changes", base))

    async def new_session(self) -> None:
        self.calls.append(("new_session",))

    async def pick_session(self) -> None:
        self.calls.append(("pick_session",))

    async def load_session(self, session_id: str) -> None:
        if session_id not in [choice.value for choice in self.session_choices()]:
            raise SessionMissing(f"there is no session {session_id}")
        self.calls.append(("load_session", session_id))

    async def save_session(self) -> str:
        return "saved to sessions/first.jsonl"

    def session_choices(self) -> Sequence[Choice]:
        return (Choice("first"), Choice("second"))

    def session_summary(self) -> str:
        return "3 messages"

    def usage_report(self) -> str:
        return "120 tokens"

    def model_names(self) -> Sequence[str]:
        return ("anthropic/claude-opus-4-5", "demo/tour", "openai-chat/local")

    async def choose_model(self) -> None:
        self.calls.append(("choose_model",))

    def ask_again(self) -> None:
        self.calls.append(("ask_again",))

    async def set_model(self, name: str) -> None:
        if name not in self.model_names():
            raise ConfigError(f"there is no model {name}")
        self.model = name

    def set_thinking(self, level: ThinkingLevel) -> bool:
        if self.takes_levels:
            self.thinking = level
        return self.takes_levels

    def set_system(self, text: str) -> None:
        self.system_prompt = text

    async def examine(self, names: Sequence[str]) -> str:
        return f"looked at {', '.join(names) or 'all'}"

    async def ask_several(self, models: Sequence[str], prompt: str) -> None:
        self.calls.append(("ask_several", *models, prompt))

    def ask_one(self) -> None:
        self.calls.append(("ask_one",))

    def pick_answer(self) -> None:
        self.calls.append(("pick_answer",))

    async def ask_aside(self, question: str) -> None:
        self.calls.append(("ask_aside", question))

    def stop_aside(self) -> bool:
        self.calls.append(("stop_aside",))
        return len(self.calls) > 1

    def panels(self) -> Sequence[tuple[str, str, bool]]:
        return (("changes", "the files this session changed", False), ("jobs", "commands in the background", True))

    def toggle_panel(self, name: str) -> None:
        self.calls.append(("toggle_panel", name))

    def open_panel(self, name: str) -> None:
        self.calls.append(("open_panel", name))

    def running_jobs(self) -> Sequence[tuple[str, str]]:
        return (("job-1", "make"),)

    def kill_job(self, job_id: str) -> None:
        self.calls.append(("kill_job", job_id))

    def set_approval(self, mode: ApprovalMode) -> None:
        self.approval = mode

    def approval_summary(self) -> str:
        return self.approval

    def session_grants(self) -> Sequence[str]:
        return tuple(self.granted)

    def grant(self, tool: str) -> bool:
        if tool == "bash":
            self.granted.append(tool)
        return tool == "bash"

    def revoke(self, grant: str | None) -> Sequence[str]:
        revoked = [name for name in self.granted if grant in {None, name}]
        self.granted = [name for name in self.granted if name not in revoked]
        return revoked

    def provider_names(self) -> Sequence[str]:
        return ("anthropic", "openai-chat")

    async def key_summary(self) -> str:
        return ", ".join(self.keys)

    async def enter_key(self, provider: str) -> None:
        self.calls.append(("enter_key", provider))

    async def store_key(self, provider: str, secret: str) -> None:
        self.keys[provider] = secret


if TYPE_CHECKING:
    _: type[CommandHost] = RecordingFront
