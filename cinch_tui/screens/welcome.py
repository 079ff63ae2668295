"""Welcome screen for users without a model: enter a key, use a local server, or take the tour."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct
from textual import on, work
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from cinch_tui import __version__
from cinch_tui.keybindings.keymap import bindings
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.screens.dialog import GRACE, Dialog, stylesheets
from cinch_tui.screens.key_entry import KeyField
from cinch_tui.screens.picker import Item, Picker
from harness.structs import Redacted

if TYPE_CHECKING:
    from cinch_tui.api_keys.provider_key import KeyCheck
    from providers.model_catalog.local_servers import LocalServer


class UseKey(Redacted, frozen=True):
    """Connect to a service with this key."""

    _hidden = ("secret",)

    preset: str
    secret: str
    base_url: str = ""
    """Set for a service without a fixed URL."""
    verdict: KeyCheck | None = None
    """Result of the key check."""


class UseLocal(Struct, frozen=True):
    """Use a model of a server on this machine."""

    preset: str
    base_url: str
    model: str


class TakeTour(Struct, frozen=True):
    """Play the scripted tour."""


class Leave(Struct, frozen=True):
    """Quit."""


WelcomeChoice: TypeAlias = UseKey | UseLocal | TakeTour | Leave
Step: TypeAlias = Literal["start", "service", "address", "key", "local"]
FindServers: TypeAlias = Callable[[], Awaitable[Sequence["LocalServer"]]]

CheckChoice: TypeAlias = Callable[[UseKey], Awaitable["KeyCheck"]]

NO_MODEL = "No model is set up yet. You can change the choice at any time with /model and #key."
OTHER = "another provider"
SERVICES = (
    ("anthropic", "Anthropic", "a key from console.anthropic.com"),
    ("openai", "OpenAI", "a key from platform.openai.com"),
    ("gemini", "Gemini", "a key from aistudio.google.com"),
    ("openrouter", "OpenRouter", "a key from openrouter.ai: many models, one bill"),
    (OTHER, "Another provider", "search all of them"),
    ("openai-chat", "OpenAI-compatible", "any service with /chat/completions: URL and key"),
)
_STARTS: tuple[tuple[Step | TakeTour | Leave, str, str], ...] = (
    ("service", "Paste an API key", "Anthropic, OpenAI, Gemini, OpenRouter and others"),
    ("local", "Use a model on this machine", "Ollama, LM Studio, llama.cpp, vLLM"),
    (TakeTour(), "Take the tour", "a scripted model shows every part on a scratch copy; nothing to set up"),
    (Leave(), "Quit", ""),
)
_ASKS: dict[Step, str] = {
    "start": "How do you want to start?",
    "service": "Which service is the key for?",
    "address": "API base URL, for example https://example.org/v1:",
    "key": "API key (never displayed; checked, then stored in the system keyring if available):",
    "local": "Which model?",
}


class WelcomeScreen(Dialog[WelcomeChoice]):
    """Multi-step dialog; Esc goes one step back, and quits from the first."""

    CSS_PATH = stylesheets("welcome")
    BINDINGS = bindings("welcome")
    KEY_HINTS = ("↑ ↓ and Enter, or a digit", "welcome.back goes back")

    step: var[Step] = var("start", init=False)

    def __init__(
        self, find_servers: FindServers, check: CheckChoice, *, why: str = NO_MODEL, grace: float = GRACE
    ) -> None:
        super().__init__(grace=grace, frame_title=f"Welcome to cinch {__version__}")
        self._find_servers = find_servers
        self._check_choice = check
        self._why = why
        self._preset = ""
        self._address = ""
        self._models: list[UseLocal] = []

    def compose_content(self) -> ComposeResult:
        with VerticalScroll(id="why", can_focus=False):
            yield Static(Content(" ".join(self._why.split())), markup=False)
        yield Static("", id="ask", markup=False)
        yield OptionList(id="options", markup=False, compact=True)
        yield Input(id="address", placeholder="https://…/v1", compact=True)
        yield KeyField(id="key")
        yield Static("", id="note", markup=False)

    def opened(self) -> None:
        self.watch_step("start")

    def focus_first(self) -> None:
        fields = {"address": "#address", "key": "#key Input"}
        self.query_one(fields.get(self.step, "#options")).focus()

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
            case "address":
                self.query_one("#address", Input).value = ""
                self.query_one("#address", Input).focus()
            case "key":
                self.query_one(KeyField).begin(lambda secret: self._check_choice(self._key_choice(secret)))

    def action_back(self) -> None:
        match self.step:
            case "start":
                self.answer(Leave())
            case "service" | "local":
                self.step = "start"
            case "address":
                self.step = "service"
            case "key":
                self.query_one(KeyField).stop()
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
            self._note("The URL must start with https:// or http://.")
            return
        self._address = address
        self.step = "key"

    @on(KeyField.Entered)
    def take_key(self, event: KeyField.Entered) -> None:
        self.answer(self._key_choice(event.secret, event.verdict))

    def _key_choice(self, secret: str, verdict: KeyCheck | None = None) -> UseKey:
        return UseKey(self._preset, secret, self._address, verdict)

    def _choose(self, place: int) -> None:
        match self.step:
            case "start":
                start = _STARTS[place][0]
                if isinstance(start, str):
                    self.step = start
                else:
                    self.answer(start)
            case "service":
                if SERVICES[place][0] == OTHER:
                    self._search_services()
                else:
                    self._take_service(SERVICES[place][0], wants_address=SERVICES[place][0] == "openai-chat")
            case "local" if place < len(self._models):
                self.answer(self._models[place])
            case _:
                self._look_for_servers()

    def _take_service(self, preset: str, *, wants_address: bool) -> None:
        self._preset = preset
        self._address = ""
        self.step = "address" if wants_address else "key"

    @work(exclusive=True, group="services")
    async def _search_services(self) -> None:
        from providers.installed import each_preset  # rarely needed

        offered = {each.name: each for each in each_preset() if each.key_variables and not each.is_local}
        items = [Item(each.label, each.name, each.name) for each in offered.values()]
        # Textual does not type the return value of its App.
        name = await self._owner.push_screen_wait(Picker("Which provider is the key for?", items))
        if name:
            base_url = offered[name].base_url
            self._take_service(name, wants_address=not base_url or "RESOURCE" in base_url)

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
        self._offer([*found, ("Search again", "")])

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
        return f"{names} is running but has no models. Load a model, then search again."
    return "No server found on the default ports. Start Ollama, LM Studio, llama.cpp or vLLM, then search again."
