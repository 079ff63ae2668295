"""State of an agent's context: its overlay, its token counts, and the progress of its stages."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from harness.context.normalize import Normalizer
from harness.context.overlay import Compaction, ContextOverlay, Eviction
from harness.context.tokens import Calibration, Report, estimate_message
from harness.messages import Message


class ContextView:
    """The messages that models see, with their estimated tokens; follows a growing history."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        """The history with the overlay applied."""
        self.tokens = 0
        """Estimated tokens of the messages."""
        self._estimates: list[int] = []
        self._source: tuple[Message, ...] = ()
        self._overlay: ContextOverlay = ContextOverlay()

    def update(self, history: tuple[Message, ...], overlay: ContextOverlay) -> None:
        """Show another history, or the same one with more messages."""
        known = len(self._source)
        # Comparing identical objects is cheap.
        if overlay is self._overlay and history[:known] == self._source:
            added = history[known:]
            estimates = [*map(estimate_message, added)]
            self.messages.extend(added)
            self._estimates.extend(estimates)
            self.tokens += sum(estimates)
        else:
            # Most messages are the same objects as before.
            earlier = {id(message): tokens for message, tokens in zip(self.messages, self._estimates, strict=True)}
            shown = list(overlay.shown(history))
            self._estimates = [earlier.get(id(each)) or estimate_message(each) for each in shown]
            # The former messages live until here, so that no other object has the id of one.
            self.messages, self.tokens = shown, sum(self._estimates)
        self._source, self._overlay = history, overlay


class ContextState(Struct):
    """State of an agent's context, which its session stores as far as it changes what models see."""

    overlay: ContextOverlay = ContextOverlay()
    """Summaries, stubs, pins and removals."""
    calibration: Calibration = field(default_factory=Calibration)
    """Ratio of reported to estimated tokens, per model."""
    report: Report | None = None
    """Tokens of the last reply's context; None until the first reply."""
    budget: int = 0
    """Maximum length of a request in tokens, learned from an overflow; 0 = unknown."""
    advised: int = 0
    """Number of the highest advisory that the model has received; 0 = none."""
    warned: float = 0.0
    """Share of the window that the last reply reached and that the user was warned of; 0 = none."""
    failures: int = 0
    """Summaries in a row that failed."""
    cooldown: int = 0
    """Turns until the next automatic compaction."""
    has_failed_handoff: bool = False
    """True if a handoff failed and the context has not shrunk below `handoff_at` since."""
    reminder_id: str = ""
    """Id of the reminder of the current mode, which is never left out; empty before the first one."""
    view: ContextView = field(default_factory=ContextView)
    """History as models see it."""
    normalizer: Normalizer = field(default_factory=Normalizer)
    """Normalization of the view."""

    def fork(self) -> ContextState:
        """Return the state for another agent that continues from here."""
        fork = ContextState(budget=self.budget, advised=self.advised)
        fork.adopt(self)
        return fork

    def adopt(self, other: ContextState) -> None:
        """Continue from the state of an agent whose messages were appended."""
        self.overlay, self.calibration, self.report = other.overlay, other.calibration, other.report
        self.failures, self.cooldown = other.failures, other.cooldown

    def restart(self, messages: Sequence[Message]) -> None:
        """Begin another conversation, which may have the same beginning."""
        self.restore(self.overlay.within(messages))

    def restore(self, overlay: ContextOverlay) -> None:
        """Begin another conversation with an overlay; what was learned about models stays."""
        fresh = ContextState(overlay, self.calibration)
        for name in self.__struct_fields__:
            setattr(self, name, getattr(fresh, name))

    def observe(self, report: Report) -> None:
        """Take over what a service reported for a reply and the context before it."""
        self.calibration.add(report)
        self.report = report

    def end_turn(self) -> None:
        """Count a turn since the last compaction."""
        self.cooldown = max(0, self.cooldown - 1)

    def count(self, estimate: int, model: str) -> int:
        """Return the tokens of a context with this estimate."""
        return self.calibration.count(estimate, model, self.report)

    def add_compaction(self, compaction: Compaction, cooldown: int) -> None:
        """Let models see a summary instead of messages; the next automatic one comes `cooldown` turns later.

        Messages that were trimmed are shown again, as far as the summary does not replace them.
        """
        self.overlay = replace(self.overlay, compactions=(*self.overlay.compactions, compaction), trim=None)
        self.cooldown = cooldown

    def undo_compaction(self, cooldown: int) -> Compaction | None:
        """Remove the last summary; models see its messages again. Return None if no summary exists."""
        if not self.overlay.compactions:
            return None
        *others, last = self.overlay.compactions
        self.overlay = replace(self.overlay, compactions=tuple(others))
        self.cooldown = cooldown
        return last

    def pin(self, *ids: str) -> None:
        """Show messages unchanged from now on, also evicted and removed ones, and never evict or summarize them."""
        overlay = self.overlay
        self.overlay = replace(overlay, pinned=overlay.pinned | set(ids), dropped=overlay.dropped - set(ids))

    def unpin(self, *ids: str) -> None:
        """Let the stages change messages again."""
        self.overlay = replace(self.overlay, pinned=self.overlay.pinned - set(ids))

    def drop(self, *ids: str) -> None:
        """Remove messages from the context; pins of them end."""
        overlay = self.overlay
        self.overlay = replace(overlay, pinned=overlay.pinned - set(ids), dropped=overlay.dropped | set(ids))

    def undrop(self, *ids: str) -> None:
        """Show removed messages again."""
        self.overlay = replace(self.overlay, dropped=self.overlay.dropped - set(ids))

    def add_eviction(self, eviction: Eviction) -> None:
        """Replace the content of messages by stubs."""
        self.overlay = replace(self.overlay, evictions=(*self.overlay.evictions, eviction))
