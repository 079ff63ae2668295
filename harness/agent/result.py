"""Result of a run."""

from __future__ import annotations

from msgspec import Struct

from harness.errors import Aborted, AgentError, CinchError, LimitExceeded, ProviderError, Rejected
from harness.messages import Message, StopReason, Usage


class AgentResult(Struct, frozen=True):
    """Result of a run."""

    messages: tuple[Message, ...]
    """Messages that the run added."""
    text: str
    """Text of the last reply."""
    stop_reason: StopReason
    """Reason the run ended."""
    usage: Usage
    """Tokens and cost of the run."""
    error: str | None = None
    """Description of the error if `stop_reason` is `error` or `aborted`; None otherwise."""
    limit: str = ""
    """Limit that ended the run: `turns`, `tokens`, `seconds`, `cost`, or `policy` for a hook or policy; empty if none.
    """
    rejection: str = ""
    """Reason a guardrail, or a hook before the run, kept the run from starting."""
    failure: ProviderError | None = None
    """Exception of the failed model call, if any."""
    stop_message: str = ""
    """Explanation of the limit."""

    def raise_for_failure(self) -> None:
        """Raise an exception if the run did not succeed.

        Raises:
            ProviderError: The model call failed; the subclass says why (`ContextWindowOverflow`, …).
            Rejected: A guardrail or hook kept the run from starting.
            Aborted: The run was aborted.
            LimitExceeded: A limit ended the run.
            AgentError: The run failed for another reason.
        """
        problem = self._problem()
        if problem is not None:
            raise problem

    def _problem(self) -> CinchError | None:
        text = self.error or "the run failed"
        if self.failure is not None:
            return self.failure
        if self.rejection:
            return Rejected(self.rejection)
        if self.limit:
            return LimitExceeded(self.stop_message or text)
        if self.stop_reason == "aborted":
            return Aborted(text)
        return AgentError(text) if self.stop_reason == "error" else None
