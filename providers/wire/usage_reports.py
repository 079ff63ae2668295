"""Usage reports of a reply that has not ended."""

from __future__ import annotations

from harness.deltas import UsageReport
from harness.messages import Usage

STEP_TOKENS = 100
"""Output tokens between two reports: some services repeat their counts with every token."""


class UsageReports:
    """Selects the counts to report among those that a service sends with its chunks."""

    def __init__(self) -> None:
        self._next = 0

    def is_due(self, output: int) -> bool:
        """Return True if the usage is to be reported; `output` is the number of output tokens so far."""
        return output >= self._next

    def report(self, usage: Usage) -> UsageReport:
        """Return a report of the usage so far."""
        self._next = usage.output + STEP_TOKENS if usage.context else 0
        return UsageReport(usage)
