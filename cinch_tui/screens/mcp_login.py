"""Login at an MCP server: the address for the browser, and a field for the address it was redirected to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.app import App, ComposeResult
from textual.widgets import Input, Static

from cinch_tui.keybindings.keymap import bindings
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.screens.dialog import Dialog, stylesheets
from cinch_tui.user_dialogs.interaction import answer_to
from harness.errors import CinchError

if TYPE_CHECKING:
    from tools.mcp.auth.browser_login import LoginRequest

NO_BROWSER = "There is no browser on this machine; open the page on another one."
REMOTE = "If the browser runs on another machine, paste the address here to which it is redirected:"


async def show_login(app: App[object], request: LoginRequest) -> None:
    """Show a login until it has ended; Esc cancels it."""
    await answer_to(app, lambda: McpLoginScreen(request))
    request.cancel()


class McpLoginScreen(Dialog[bool]):
    """Enter opens the address in the browser; a pasted address completes the login. Answers when cancelled."""

    CSS_PATH = stylesheets("mcp_login")
    FIRST_FOCUS = "#redirected"
    BINDINGS = bindings("mcp_login")
    KEY_HINTS = ("Enter opens it in your browser", "mcp_login.copy copies it", "mcp_login.cancel cancels")

    def __init__(self, request: LoginRequest) -> None:
        super().__init__(grace=0, frame_title=f"Log in to {one_line(request.server)}")
        self._request = request

    def compose_content(self) -> ComposeResult:
        yield Static(f"Log in at {one_line(self._request.host)}:", id="host", markup=False)
        yield Static(one_line(self._request.url), id="address", markup=False)
        if not self._request.is_encrypted:
            yield Static("The connection to this page is not encrypted.", classes="warning", markup=False)
        yield Static(REMOTE, id="remote", markup=False)
        yield Input(id="redirected", compact=True, select_on_focus=False)
        yield Static("", id="note", markup=False)

    @on(Input.Submitted, "#redirected")
    def submit(self, event: Input.Submitted) -> None:
        """Open the browser, or complete the login with a pasted address."""
        from cinch_tui.terminal.desktop import open_in_browser

        if not event.value.strip():
            self._note("Waiting for the login in your browser…" if open_in_browser(self._request.url) else NO_BROWSER)
            return
        try:
            self._request.paste(event.value)
        except CinchError as error:
            self._note(f"{error}.")

    def action_copy(self) -> None:
        self._owner.copy_to_clipboard(self._request.url)
        self._note("Copied the address.")

    def action_cancel(self) -> None:
        # None would show the dialog again.
        self.answer(True)  # noqa: FBT003  the answer has no other meaning

    def _note(self, text: str) -> None:
        self.query_one("#note", Static).update(one_line(text))
