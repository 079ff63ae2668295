"""What commands ask of the agent and its session, whatever front a person sits at."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from harness.errors import CinchError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cinch_tui.api_keys.check import KeyCheck
    from cinch_tui.assembly import Assembly
    from cinch_tui.commands.host import ApprovalMode, NoticeLevel, TranscriptPart
    from cinch_tui.commands.registry import Choice
    from cinch_tui.commands.session_choices import SessionChoices
    from cinch_tui.config.options import Options
    from harness.agent.agent import Agent
    from harness.thinking_level import ThinkingLevel

DISCARD_KEY, KEEP_KEY = "Do not store it", "Store it anyway"


class Place(Protocol):
    """Where the agent is; the first two raise `CinchError` as long as there is none."""

    @property
    def assembly(self) -> Assembly: ...

    @property
    def agent(self) -> Agent: ...

    @property
    def options(self) -> Options: ...


class AgentCommandHost:
    def __init__(self, place: Place) -> None:
        self._place = place
        self._sessions: SessionChoices | None = None

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        raise NotImplementedError

    async def until_ready(self) -> bool:
        return False

    async def pick(self, title: str, choices: Sequence[tuple[str, str]], current: str = "") -> str | None:
        raise NotImplementedError

    # The session

    def transcript_source(self, part: TranscriptPart, back: int = 1) -> str:
        from cinch_tui.reports import summaries as reports

        return reports.source(self._place.agent.history.messages, part, back)

    @property
    def is_planning(self) -> bool:
        from harness.approval.modes import PLAN

        return self._place.agent.state.mode is PLAN

    def toggle_plan(self) -> None:
        from harness.approval.modes import EXECUTE, PLAN

        self._place.agent.set_mode(EXECUTE if self.is_planning else PLAN)

    def accept_plan(self) -> None:
        from harness.approval.modes import EXECUTE

        agent = self._place.agent
        if not self.is_planning:
            raise CinchError("plan mode is off: there is no plan to accept")
        if agent.is_running:
            raise CinchError("not available while the agent is running")
        plan = self.transcript_source("reply").strip()
        if not plan:
            raise CinchError("there is no reply to accept as a plan")
        agent.set_mode(EXECUTE)
        agent.follow_up(f"I accept this plan. Carry it out now, step by step:\n\n{plan}")
        self.ask_again()

    def ask_again(self) -> None:
        raise NotImplementedError

    async def save_session(self) -> str:
        store = self._place.assembly.store
        if store is None:
            return "This conversation is not saved (--no-session)."
        await asyncio.to_thread(store.flush)
        return f"Saved in {store.path}"

    def session_choices(self) -> Sequence[Choice]:
        from cinch_tui.commands.session_choices import SessionChoices

        if self._sessions is None:
            self._sessions = SessionChoices(self._place.options.paths.data, self._place.options.cwd)
        return self._sessions.newest_first(self._place.agent.session_id)

    def session_summary(self) -> str:
        from cinch_tui.reports import summaries as reports

        return reports.session_summary(self._place.assembly)

    def usage_report(self) -> str:
        from cinch_tui.reports import summaries as reports

        return reports.usage_report(self._place.agent)

    # The model

    @property
    def thinking(self) -> ThinkingLevel:
        from cinch_tui.reports import summaries as reports

        return reports.thinking_in_effect(self._place.agent)

    def set_thinking(self, level: ThinkingLevel) -> bool:
        agent = self._place.agent
        if not agent.state.model.heeds_thinking(level, with_tools=bool(agent.state.tools)):
            return False
        agent.set_thinking(level)
        return True

    @property
    def system_prompt(self) -> str:
        return self._place.agent.state.system_prompt

    def set_system(self, text: str) -> None:
        self._place.agent.set_system_prompt(text)

    # Approval

    @property
    def approval(self) -> ApprovalMode:
        return self._place.agent.state.approval

    def approval_summary(self) -> str:
        from cinch_tui.reports import summaries as reports

        return reports.approval_summary(self._place.agent)

    def session_grants(self) -> Sequence[str]:
        return self._place.agent.state.grants.session_grants

    def grant(self, tool: str) -> bool:
        agent = self._place.agent
        if tool not in (each.name for each in agent.state.tools):
            return False
        agent.state.grants.trust(tool)
        return True

    def revoke(self, grant: str | None) -> Sequence[str]:
        return self._place.agent.state.grants.revoke(grant)

    # Jobs

    def running_jobs(self) -> Sequence[tuple[str, str]]:
        return [(job.id, job.errand.title) for job in self._place.agent.jobs.running]

    def kill_job(self, job_id: str) -> None:
        if not self._place.agent.jobs.kill(job_id):
            running = ", ".join(each for each, _ in self.running_jobs())
            raise CinchError(f"no job {job_id!r} is running; {f'these are: {running}' if running else 'none is'}")

    # Keys

    def provider_names(self) -> Sequence[str]:
        from cinch_tui.reports import summaries as reports

        return reports.provider_names()

    async def key_summary(self) -> str:
        from cinch_tui.reports import summaries as reports

        return await asyncio.to_thread(reports.key_summary, self._place.assembly.keys)

    async def ask_key(
        self, title: str, note: str, check: Callable[[str], Awaitable[KeyCheck]]
    ) -> tuple[str, KeyCheck] | None:
        """Ask for a key without showing it; the key with the result of its check, or None."""
        raise NotImplementedError

    async def enter_key(self, provider: str) -> None:
        from cinch_tui.api_keys.keeper import KeyKeeper, keyed_preset

        keeper = KeyKeeper(self._place.assembly, keyed_preset(provider))
        entered = await self.ask_key(f"API key for {keeper.preset.label}", keeper.note, keeper.check)
        if entered is not None:
            self.notice(await keeper.keep(*entered))

    async def store_key(self, provider: str, secret: str) -> None:
        from cinch_tui.api_keys.check import KeyRefused, KeyUnchecked
        from cinch_tui.api_keys.keeper import KeyKeeper, keyed_preset

        keeper = KeyKeeper(self._place.assembly, keyed_preset(provider))
        match verdict := await keeper.check(secret):
            case KeyRefused(reason):
                raise ConfigError(f"the key is not stored: {reason}")
            case KeyUnchecked(reason):
                choices = [(DISCARD_KEY, ""), (KEEP_KEY, "without a check")]
                title = f"The key could not be checked: {reason}"
                if await self.pick(title, choices) != KEEP_KEY:
                    self.notice("The key is not stored.")
                    return
            case _:
                pass
        self.notice(await keeper.keep(secret, verdict))

    async def keep_key(self, provider: str, secret: str) -> None:
        """As `store_key`, but reports errors instead of raising them."""
        try:
            await self.store_key(provider, secret)
        except CinchError as error:
            self.notice(str(error), "error")
