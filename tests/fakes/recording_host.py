"""A command host without a screen: it records what commands ask of it, in order, and has an agent of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from msgspec.structs import replace

from cinch_tui.agent_session import AgentSession
from cinch_tui.api_keys.provider_key import KeyCheck
from cinch_tui.changes import SessionChanges
from cinch_tui.commands.host import DiffBase, FullScreenCommands, FullScreenHost
from cinch_tui.commands.side_questions import SideQuestions
from cinch_tui.config.options import Options
from cinch_tui.reports.notices import NoticeLevel
from cinch_tui.saved_sessions import SessionChoice
from cinch_tui.trust.prompt import TrustQuestion
from cinch_tui.trust.store import TrustAnswer
from cinch_tui.user_input import UserInput
from extensions.output_styles import LoadedStyles
from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.errors import ConfigError, SessionMissing
from harness.messages import Message
from harness.ports.provider import Model, ModelSpec
from harness.thinking_level import ThinkingLevel
from harness.workspace.workspace import Workspace
from providers.demo import DemoProvider, replies, scripted
from tools import builtin_tools

MODELS = ("anthropic/claude-opus-4-5", "demo/tour", "openai-chat/local")


class FussyProvider(DemoProvider):
    """A provider whose model takes no thinking level."""

    def supports_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        del spec, with_tools
        return False


def _no_key(name: str, variables: Sequence[str]) -> None:
    del name, variables


class RecordingSession(AgentSession):
    is_running = False  # type: ignore[assignment] tests set it

    def __init__(self, calls: list[tuple[str, ...]]) -> None:
        self._calls = calls
        self.mcp = None
        self.options: Options = SimpleNamespace(  # type: ignore[assignment] what commands read
            cwd=Path("/nowhere"),
            system="",
            environ={"CINCH_KEYRING": "off"},
            paths=SimpleNamespace(data=Path("/nowhere/data"), symbol_cache=Path("/nowhere/symbols")),
            sources=SimpleNamespace(
                user_file=Path("/nowhere/config.toml"), trust_file=Path("/nowhere/trusted.json"), session_pins=None
            ),
        )
        agent = Agent(scripted(), builtin_tools(), "You are cinch.", AgentOptions(workspace=Workspace(Path.cwd())))
        self._assembly = SimpleNamespace(  # type: ignore[assignment] as above
            agent=agent,
            options=self.options,
            connect=self._connect,
            folder=SimpleNamespace(styles=LoadedStyles()),
            hooks=SimpleNamespace(loaded=None, session=None),
            instructions="",
            is_read_only=False,
            keys=SimpleNamespace(find=_no_key, environ={}),
            originals=None,
            session_file=Path("/nowhere/first.jsonl"),
            store=SimpleNamespace(path=Path("sessions/first.jsonl"), flush=lambda: None),
            workspace=SimpleNamespace(root=Path("/nowhere")),
        )

    def _connect(self, name: str, level: ThinkingLevel) -> Model:
        if name not in MODELS:
            raise ConfigError(f"there is no model {name}")
        model = self.agent.state.model
        provider, _, model_id = name.partition("/")
        return replace(model, spec=replace(model.spec, provider=provider, model_id=model_id, thinking=level))

    def use_assembly(self, assembly: Assembly, settings: Settings) -> None:
        """Act on a real agent from now on."""
        self.options, self.settings, self._assembly = assembly.options, settings, assembly

    def take_no_thinking_levels(self) -> None:
        model = self.agent.state.model
        self.agent.set_model(replace(model, provider=FussyProvider(replies())))

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        self._calls.append(("notice", text, level))

    def show_activity(self, text: str) -> None:
        self._calls.append(("show_activity", text))

    def _show_history(self, messages: Sequence[Message]) -> None:
        self._calls.append(("show_history", str(len(messages))))

    def reset(self) -> None:
        self._calls.append(("reset",))

    def new_session(self) -> None:
        self._calls.append(("new_session",))

    async def load_session(self, session_id: str, *, read_only: bool = False, keeps_model: bool = False) -> None:
        if session_id not in ("first", "second"):
            raise SessionMissing(f"there is no session {session_id}")
        self._calls.append(("load_session", session_id))

    def return_queued(self) -> None:
        self._calls.append(("return_queued",))

    def leave(self, again: str) -> None:
        self._calls.append(("leave", again))


@dataclass
class RecordingHost:
    calls: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    notices: list[tuple[NoticeLevel, str]] = field(default_factory=list[tuple[NoticeLevel, str]])
    copied: list[str] = field(default_factory=list[str])
    stop_key: str = "Esc"
    shows_thinking: bool = True
    picked: str | None = None

    def __post_init__(self) -> None:
        self.session = RecordingSession(self.calls)
        self.agent = self.session.agent
        self.side_questions = SideQuestions()

    @property
    def full_screen(self) -> FullScreenCommands:
        return self

    def send(self, user_input: UserInput) -> None:
        self.calls.append(("send", user_input.text))

    def continue_run(self) -> None:
        self.calls.append(("continue_run",))

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        self.notices.append((level, text))

    def show(self, title: str, text: str) -> None:
        self.calls.append(("show", title, text))

    def show_progress(self, text: str) -> None:
        if text:
            self.calls.append(("show_progress", text))

    def show_activity(self, text: str) -> None:
        if text:
            self.calls.append(("show_activity", text))

    def show_permissions(self) -> None: ...

    def show_help(self) -> None:
        self.calls.append(("show_help",))

    def show_thinking(self, *, shown: bool) -> None:
        self.shows_thinking = shown

    async def show_settings(self) -> None:
        self.calls.append(("show_settings",))

    async def show_context(self) -> None:
        self.calls.append(("show_context",))

    async def show_mcp(self, control: McpControl) -> None:
        self.calls.append(("show_mcp", *(each.server.name for each in control.servers.states())))

    async def show_login(self, request: LoginRequest) -> None:
        self.calls.append(("show_login", request.server))

    async def show_changes(self, changes: SessionChanges, base: DiffBase) -> None:
        assert isinstance(changes, SessionChanges)
        self.calls.append(("show_changes", base))

    def open_panel(self, name: str) -> None:
        self.calls.append(("open_panel", name))

    async def answer_side_question(self, question: str) -> None:
        self.calls.append(("answer_side_question", question))

    def copy(self, text: str) -> None:
        self.copied.append(text)

    async def pick(self, title: str, choices: Sequence[tuple[str, str]], current: str = "") -> str | None:
        self.calls.append(("pick", title, current, *(name for name, _ in choices)))
        return self.picked

    def restore_prompt(self, user_input: UserInput) -> None:
        self.calls.append(("restore_prompt", user_input.text))

    async def ask_for_trust(self, question: TrustQuestion) -> TrustAnswer:
        self.calls.append(("ask_for_trust", question.title))
        return "later"

    async def review_brief(self, brief: str) -> str:
        self.calls.append(("review_brief", brief))
        return self.picked or ""

    async def pick_session(self, query: str = "") -> SessionChoice | None:
        self.calls.append(("pick_session", query) if query else ("pick_session",))
        return SessionChoice(self.picked) if self.picked else None

    async def pick_model(self) -> str | None:
        self.calls.append(("pick_model",))
        return self.picked

    def listed_models(self) -> Sequence[str]:
        return MODELS

    async def ask_key(
        self, title: str, note: str, check: Callable[[str], Awaitable[KeyCheck]]
    ) -> tuple[str, KeyCheck] | None:
        self.calls.append(("ask_key", title))
        return None

    async def paste(self) -> None:
        self.calls.append(("paste",))

    def clear_view(self) -> None:
        self.calls.append(("clear_view",))

    def toggle_timestamps(self) -> None:
        self.calls.append(("toggle_timestamps",))

    def theme_names(self) -> Sequence[str]:
        return ("auto", "cinch-dark")

    async def choose_theme(self, name: str) -> None:
        self.calls.append(("choose_theme", name))

    async def toggle_vim(self) -> None:
        self.calls.append(("toggle_vim",))

    async def open_editor(self) -> None:
        self.calls.append(("open_editor",))

    async def edit_text(self, text: str, name: str) -> str:
        self.calls.append(("edit_text", text, name))
        return self.picked or ""

    def panels(self) -> Sequence[tuple[str, str, bool]]:
        return (("changes", "files changed in this session", False), ("jobs", "background jobs", True))

    def toggle_panel(self, name: str) -> None:
        self.calls.append(("toggle_panel", name))

    async def ask_several(self, models: Sequence[str], prompt: str) -> None:
        self.calls.append(("ask_several", *models, prompt))

    def ask_one(self) -> None:
        self.calls.append(("ask_one",))

    def pick_answer(self) -> None:
        self.calls.append(("pick_answer",))

    def next_colours(self) -> None:
        self.calls.append(("next_colours",))

    async def next_model(self) -> None:
        self.calls.append(("next_model",))


if TYPE_CHECKING:
    from cinch_tui.assembly.assembly import Assembly
    from cinch_tui.config.settings import Settings
    from cinch_tui.mcp_control import McpControl
    from tools.mcp.auth.browser_login import LoginRequest

    _: type[FullScreenHost] = RecordingHost
