"""The question about a folder, asked in the app."""

from __future__ import annotations

from textual.app import App

from cinch_tui.screens.trust import TrustScreen
from cinch_tui.trust.prompt import TrustQuestion
from cinch_tui.trust.store import TrustAnswer


async def ask_for_trust(app: App[object], question: TrustQuestion, grace: float = 0) -> TrustAnswer:
    """Return the user's answer; Esc is "later".

    Args:
        app: The app.
        question: The question.
        grace: Seconds during which keys go to the prompt.
    """
    return await app.push_screen_wait(TrustScreen(question, grace=grace)) or "later"
