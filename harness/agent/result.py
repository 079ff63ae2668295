"""What a run came to."""

from __future__ import annotations

from harness.errors import Aborted, AgentError, CinchError, LimitExceeded, ProviderError, Rejected
from harness.lazy_dataclass import dataclass
from harness.messages import Message, StopReason, Usage


@dataclass(frozen=True, slots=True)
class AgentResult:
    """Result of a run.

    `text` is that of the last reply, `messages` are all that the run added.
    `error` describes a failure or an abort: it is set if `stop_reason` is `error` or `aborted`, and None otherwise;
    `failure` is the exception, if there was one.
    `limit` names the limit that ended the run: `turns`, `tokens`, `seconds`, `cost`, or `policy` for a hook or policy;
    `stop_message` is then the reason in words.
    `rejection` is why an input filter, or a hook before the run, kept it from starting.
    """

    messages: tuple[Message, ...]
    text: str
    stop_reason: StopReason
    usage: Usage
    error: str | None = None
    limit: str = ""
    rejection: str = ""
    failure: ProviderError | None = None
    stop_message: str = ""

    def raise_for_failure(self) -> None:
        """For programs that would rather have an exception.

        Raises:
            ProviderError: the model did not answer; the exact class says why (`ContextWindowOverflow`, …).
            Rejected: a filter or hook did not let the run begin.
            Aborted: it was stopped.
            LimitExceeded: a limit ended it.
            AgentError: it ended badly for another reason.
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
