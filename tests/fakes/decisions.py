"""Decisions for approval requests."""

from __future__ import annotations

from harness.permissions import Decision, Rule
from harness.risk import Risk


def needs_approval(risk: Risk, *offers: Rule) -> Decision:
    """Return the decision to ask about a call of this risk."""
    return Decision("ask", "it needs approval", risk, offers=offers)
