"""ContextControl: changes of an agent's context by the user or a program."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from msgspec.structs import replace

from harness.agent.agent_base import AgentBase
from harness.agent.run_state import Run, RunRequest
from harness.concurrency import call_in, cancel_tasks
from harness.context.overlay import Compaction
from harness.context.overlay_events import compaction_end
from harness.context.pipeline import context_tokens, limits_for
from harness.errors import Aborted, ConfigError, ProviderError, SummaryFailed
from harness.events import CompactionUndone, ContextEdited
from harness.messages import new_id

T = TypeVar("T")


class ContextControl(AgentBase):
    """Part of `Agent` that changes what models see of the history, which itself stays as it is; use `Agent`.

    Changes apply from the next model call on and are part of the session.
    """

    _work: asyncio.Task[Any] | None = None  # Any: compactions and handoffs have different results

    async def compact(self, focus: str = "") -> Compaction | None:
        """Let a model summarize older messages now; later model calls see the summary instead of them.

        Args:
            focus: Topic that the summary focuses on.

        Returns:
            The summary; None if there is nothing to summarize, or a hook prevents it.

        Raises:
            AlreadyRunning: A run is active.
            Aborted: `abort` was called; nothing was changed.
            SummaryFailed: No reply was usable; nothing was changed.
            ProviderError: The model call failed; nothing was changed.
        """
        from harness.agent.compaction import compact_context  # most conversations need none

        return await self._outside_run(lambda run: compact_context(run, "manual", focus))

    @property
    def is_handoff_due(self) -> bool:
        """True if the last run succeeded, no message is queued, and the context exceeds the share `handoff_at`.

        After a handoff that failed, the next one is due once the context was smaller. The agent starts none itself:
        call `handoff` and send the brief to another agent, or in a new session.
        """
        policy, state = self.options.window, self.state
        share = policy.handoff_at
        if not share or self.is_running or self.has_pending or not self.history.at_rest:
            return False
        tokens = context_tokens(state, self.history, state.offered_tools)
        usable = limits_for(policy, state, state.model).usable
        return tokens > share * usable and not state.context.has_failed_handoff

    async def handoff(self, focus: str = "") -> str:
        """Return a brief with which a new session can continue the work, written by a model; changes nothing.

        Its first line is a title of at most 50 characters. Goal, state, decisions, files and next steps follow, and the
        same facts as in a summary. Send it as the first prompt of another agent.

        Args:
            focus: Task of the new session; empty: to finish the current work.

        Raises:
            AlreadyRunning: A run is active.
            Aborted: `abort` was called.
            SummaryFailed: There is no conversation, or no reply was usable.
            ProviderError: The model call failed.
        """
        from harness.agent.handoff import handoff_brief  # most conversations need none

        try:
            return await self._outside_run(lambda run: handoff_brief(run, focus))
        except (Aborted, ProviderError, SummaryFailed):
            self.state.context.has_failed_handoff = True
            raise

    async def _outside_run(self, work: Callable[[Run], Coroutine[Any, Any, T]]) -> T:
        """Do work that needs the model and must not overlap with a run; `abort` aborts it."""
        self.ensure_idle()
        self._idle.drop()
        try:
            await self.history.load()
            self._work = task = asyncio.create_task(work(self._new_run(RunRequest())))
            try:
                await asyncio.wait([task])
            finally:
                await cancel_tasks([task])
        finally:
            self._work = None
            self._idle.lift()
        if task.cancelled():
            raise Aborted("the request was aborted")
        return task.result()

    def abort(self) -> None:
        """Abort the active run, compaction or handoff, if any. Messages and changes made so far remain."""
        super().abort()
        if task := self._work:
            call_in(task.get_loop(), task.cancel)

    def undo_compaction(self) -> bool:
        """Withdraw the last summary: later model calls see its messages again.

        Returns:
            False if no summary exists.
        """
        undone = self.state.context.undo_compaction(self.options.window.compact_cooldown)
        if undone is not None:
            self.publish(CompactionUndone(summary_id=undone.summary.id))
        return undone is not None

    def replace_summary(self, prose: str) -> Compaction:
        """Replace the prose of the last summary, which a model wrote; the facts in it stay.

        Raises:
            ConfigError: No summary exists.
        """
        context = self.state.context
        old = context.undo_compaction(context.cooldown)
        if old is None:
            raise ConfigError("the context has no summary")
        from harness.context.summary_text import replace_prose  # most conversations have no summary

        new = replace(old, summary=replace(replace_prose(old.summary, prose), id=new_id()))
        earlier = context.overlay.compactions
        context.add_compaction(new, context.cooldown)
        self.publish(CompactionUndone(summary_id=old.summary.id))
        self.publish(compaction_end(new, earlier, self.history.outline, "edit"))
        return new

    def pin(self, message_id: str) -> None:
        """Keep a message in the context: it is never evicted, summarized or left out by a compaction.

        A message that was evicted, summarized or removed is shown again.

        Raises:
            ConfigError: The history has no such message.
        """
        self._require(message_id)
        self.state.context.pin(message_id)
        self._publish_edits()

    def unpin(self, message_id: str) -> None:
        """Let a pinned message be evicted or summarized again; does nothing for others."""
        self.state.context.unpin(message_id)
        self._publish_edits()

    def drop(self, message_id: str) -> None:
        """Remove a message from the context: a reply with its calls and their results, of others the content.

        Raises:
            ConfigError: The history has no such message.
        """
        self._require(message_id)
        self.state.context.drop(message_id)
        self._publish_edits()

    def restore(self, message_id: str) -> None:
        """Show a removed or evicted message again; an evicted one is pinned.

        Raises:
            ConfigError: The history has no such message.
        """
        self._require(message_id)
        context = self.state.context
        if message_id in context.overlay.evicted:
            context.pin(message_id)
        context.undrop(message_id)
        self._publish_edits()

    def _require(self, message_id: str) -> None:
        if not any(message.id == message_id for message in self.history.outline):
            raise ConfigError(f"the history has no message {message_id!r}")

    def _publish_edits(self) -> None:
        overlay = self.state.context.overlay
        self.publish(ContextEdited(pinned=tuple(sorted(overlay.pinned)), dropped=tuple(sorted(overlay.dropped))))
