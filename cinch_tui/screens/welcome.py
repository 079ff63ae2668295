"""The first screen of a person without a model: paste a key, use a server on this machine, or take the tour."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from cinch_tui.keys.keymap import bindings, hint, label_of
from cinch_tui.screens.dialog import GRACE, Dialog, stylesheets
from cinch_tui.transcript.plain import one_line
from harness.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from providers.offers.local import LocalServer


@dataclass(frozen=True, slots=True)
class UseKey:
    """Connect to a service with this key. `base_url` is given for a service that only an address tells."""

    preset: str
    secret: str = field(repr=False)
    base_url: str = ""


@dataclass(frozen=True, slots=True)
class UseLocal:
    """Use a model of a server on this machine."""

    preset: str
    base_url: str
    model: str


@dataclass(frozen=True, slots=True)
class TakeTour:
    """Play the scripted tour."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Quit."""


WelcomeChoice: TypeAlias = UseKey | UseLocal | TakeTour | Leave
Step: TypeAlias = Literal["start", "service", "address", "key", "local"]
FindServers: TypeAlias = Callable[[], Awaitable[Sequence["LocalServer"]]]

WHY = "cinch needs a model to talk to, and found no key for one."
SERVICES = (
    ("anthropic", "Anthropic", "a key from console.anthropic.com"),
    ("openrouter", "OpenRouter", "a key from openrouter.ai: many models, one bill"),
    ("openai-chat", "OpenAI-compatible", "any service with /chat/completions: its address and a key"),
)
_STARTS = (
    ("service", "Paste an API key", "Anthropic, OpenRouter or any OpenAI-compatible service"),
    ("local", "Use a model on this machine", "Ollama, LM Studio, llama.cpp, vLLM"),
    ("tour", "Take the tour", "a scripted model shows every part on a scratch copy; nothing to set up"),
    ("leave", "Leave", ""),
)
_ASKS: dict[Step, str] = {
    "start": "How do you want to start?",
    "service": "Which service is the key for?",
    "address": "The address of the service, such as https://example.org/v1:",
    "key": "The key (kept in the system's keyring where there is one, never shown):",
    "local": "Which model?",
}


class WelcomeScreen(Dialog[WelcomeChoice]):
    """Goes step by step; Esc goes one back, and leaves from the first."""

    CSS_PATH = stylesheets("welcome")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("welcome")]

    step: var[Step] = var("start", init=False)

    def __init__(self, find_servers: FindServers, *, why: str = WHY, grace: float = GRACE) -> None:
        super().__init__(grace=grace)
        self._find_servers = find_servers
        self._why = why
        self._preset = ""
        self._address = ""
        self._models: list[UseLocal] = []

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog") as dialog:
            dialog.border_title = "Welcome to cinch"
            dialog.border_subtitle = hint("↑ ↓ and Enter, or a digit", "welcome.back goes back")
            with VerticalScroll(id="why", can_focus=False):
                yield Static(Content(" ".join(self._why.split())), markup=False)
            yield Static("", id="ask", markup=False)
            yield OptionList(id="options", markup=False, compact=True)
            yield Input(id="address", placeholder="https://…/v1", compact=True)
            yield Input(id="key", placeholder="paste it here", password=True, compact=True)
            yield Static("", id="note", markup=False)

    def opened(self) -> None:
        self.watch_step("start")

    def focus_first(self) -> None:
        self.query_one(f"#{self.step}" if self.step in ("address", "key") else "#options").focus()

    def watch_step(self, step: Step) -> None:
        self._note("")
        self.query_one("#ask", Static).update(_ASKS[step])
        self.set_class(step == "address", "-address")
        self.set_class(step == "key", "-key")
        match step:
            case "start":
                self._offer([(label, detail) for _, label, detail in _STARTS])
            case "service":
                self._offer([(label, detail) for _, label, detail in SERVICES])
            case "local":
                self._look_for_servers()
            case "address" | "key":
                self.query_one(f"#{step}", Input).value = ""
                self.query_one(f"#{step}", Input).focus()

    def action_back(self) -> None:
        match self.step:
            case "start":
                self.answer(Leave())
            case "service" | "local":
                self.step = "start"
            case "address":
                self.step = "service"
            case "key":
                self.step = "address" if self._address else "service"

    def action_pick(self, place: int) -> None:
        if place < self.query_one("#options", OptionList).option_count:
            self._choose(place)

    @on(OptionList.OptionSelected, "#options")
    def take_option(self, event: OptionList.OptionSelected) -> None:
        if not self.waiting:
            self._choose(event.option_index)

    @on(Input.Submitted, "#address")
    def take_address(self, event: Input.Submitted) -> None:
        address = event.value.strip()
        if not address.startswith(("http://", "https://")):
            self._note("An address begins with https:// or http://.")
            return
        self._address = address
        self.step = "key"

    @on(Input.Submitted, "#key")
    def take_key(self, event: Input.Submitted) -> None:
        secret = event.value.strip()
        if not secret:
            self._note(f"Paste the key, or press {label_of('welcome.back')} to go back.")
        elif any(character.isspace() for character in secret):
            self._note("A key has no spaces in it; is this the whole key and nothing else?")
        else:
            self.answer(UseKey(self._preset, secret, self._address))

    def _choose(self, place: int) -> None:
        match self.step:
            case "start":
                self._begin(_STARTS[place][0])
            case "service":
                self._preset = SERVICES[place][0]
                self._address = ""
                self.step = "address" if self._preset == "openai-chat" else "key"
            case "local" if place < len(self._models):
                self.answer(self._models[place])
            case _:
                self._look_for_servers()

    def _begin(self, start: str) -> None:
        match start:
            case "tour":
                self.answer(TakeTour())
            case "leave":
                self.answer(Leave())
            case "local":
                self.step = "local"
            case _:
                self.step = "service"

    @work(exclusive=True, group="servers")
    async def _look_for_servers(self) -> None:
        self._models = []
        self._offer([])
        self._note("looking for local servers…")
        servers = await self._find_servers()
        if self.step != "local":
            return
        self._models = [
            UseLocal(server.preset, server.base_url, model) for server in servers for model in server.models
        ]
        self._note("" if self._models else _nothing_found(servers))
        found = [(model.model, f"{model.preset} at {model.base_url}") for model in self._models]
        self._offer([*found, ("Look again", "")])

    def _offer(self, options: Sequence[tuple[str, str]]) -> None:
        choices = self.query_one("#options", OptionList)
        choices.clear_options()
        choices.add_options([Option(_described(*option)) for option in enumerate(options, 1)])
        choices.highlighted = 0 if options else None
        if not self.waiting:
            choices.focus()

    def _note(self, text: str) -> None:
        self.query_one("#note", Static).update(text)


def _described(number: int, option: tuple[str, str]) -> Content:
    label, detail = option
    key = str(number) if number < 10 else " "
    content = Content.assemble((key, "bold"), f"  {one_line(label)}")
    return content.append_text(f"  {one_line(detail)}", "dim") if detail else content


def _nothing_found(servers: Sequence[LocalServer]) -> str:
    if servers:
        names = ", ".join(one_line(server.preset) for server in servers)
        return f"{names} answers, but serves no model yet. Load one there, then look again."
    return "No server answers on the usual ports. Start Ollama, LM Studio, llama.cpp or vLLM, then look again."
