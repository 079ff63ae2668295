"""Automatic titles: after the first exchange, a cheap model writes the title of the session."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from harness.errors import CinchError, ConfigError

if TYPE_CHECKING:
    from cinch_tui.assembly.assembly import Assembly
    from cinch_tui.config.settings import Settings
    from cinch_tui.reports.notices import NoticeLevel
    from harness.context.history import History
    from harness.events import Event
    from harness.session.recorder import SessionRecorder

logger = logging.getLogger(__name__)


class TitledSession(Protocol):
    """The session of a front end."""

    settings: Settings

    @property
    def assembly(self) -> Assembly: ...

    def notice(self, text: str, level: NoticeLevel = "info") -> None: ...


class AutomaticTitles:
    """Writes titles in the background; an error is logged, and the session keeps its first prompt as title.

    Args:
        session: The session that is open.
    """

    def __init__(self, session: TitledSession) -> None:
        self._session = session
        self._asked: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def receive(self, event: Event) -> None:
        """Start after the end of a run; subscribed to the agent's bus."""
        from harness.events import AgentEnd

        if isinstance(event, AgentEnd) and (self._task is None or self._task.done()):
            assembly = self._session.assembly
            store, session_id = assembly.store, assembly.agent.session_id
            if store is not None and session_id not in self._asked and self._is_wanted(store):
                self._task = asyncio.create_task(self._write(assembly, store))

    async def stop(self) -> None:
        """Abort the model call, if there is one."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _is_wanted(self, store: SessionRecorder) -> bool:
        return self._session.settings.sessions.titles and not any(
            line.get("type") in ("custom-title", "ai-title") for line in store.labels
        )

    async def _write(self, assembly: Assembly, store: SessionRecorder) -> None:
        try:
            await self._ask(assembly, store)
        except ConfigError as error:
            self._session.notice(f"No automatic title: {error}", "warning")
        except CinchError as error:
            logger.warning("no automatic title: %s", error)

    async def _ask(self, assembly: Assembly, store: SessionRecorder) -> None:
        # Imported late: they are needed once in a session.
        from harness.agent.title import write_title
        from harness.events import UsageAdded
        from harness.messages import Usage

        agent = assembly.agent
        prompt, reply = await asyncio.to_thread(_first_exchange, assembly.agent.history)
        if not prompt or not reply:
            return
        self._asked.add(agent.session_id)
        model = await assembly.connect_cheap(self._session.settings.sessions.title_model)
        if model is None:
            return
        try:
            title = await write_title(model, prompt, reply)
        finally:
            await model.provider.close()
        if assembly.store is not store:
            # Another session was opened meanwhile.
            return
        if title.usage != Usage():
            agent.state.ledger.add(model.spec.name, title.usage)
            agent.publish(UsageAdded(model=model.spec.name, usage=title.usage, source="title"))
        if title.text and self._is_wanted(store):
            store.suggest_title(title.text)


def _first_exchange(history: History) -> tuple[str, str]:
    """Return the first prompt and the first reply with a text, or empty strings."""
    from harness.context.history import is_prompt
    from harness.messages import AssistantMessage

    outline = list(enumerate(history.outline))
    prompts = (index for index, each in outline if is_prompt(each))
    replies = (index for index, each in outline if isinstance(each, AssistantMessage) and each.text.strip())
    return _text_at(history, next(prompts, None)), _text_at(history, next(replies, None))


def _text_at(history: History, index: int | None) -> str:
    from harness.messages import CustomMessage

    message = None if index is None else history.message_at(index)
    return "" if message is None or isinstance(message, CustomMessage) else message.text
