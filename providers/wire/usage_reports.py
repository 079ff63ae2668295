"""Usage reports of a reply that has not ended."""

from __future__ import annotations

from harness.deltas import UsageReport
from harness.messages import Usage

STEP_TOKENS = 100
"""Output tokens between two reports: some services repeat their counts with every token."""


class UsageReports:
    """Selects the counts to report among those that a service sends with its chunks."""

    def __init__(self) -> None:
        self._reported = Usage()

    def take(self, usage: Usage) -> tuple[UsageReport, ...]:
        """Return a report if the counts differ enough from the last one, otherwise nothing."""
        before = self._reported
        if usage.output < before.output + STEP_TOKENS and usage.input == before.input:
            return ()
        self._reported = usage
        return (UsageReport(usage),)
