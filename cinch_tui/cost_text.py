"""Costs as text for the user."""

from __future__ import annotations


def format_cost(cost: float | None) -> str:
    """Format a cost in US dollars with four decimals, or as "free" or "cost unknown"."""
    if cost is None:
        return "cost unknown"
    return f"${cost:.4f}" if cost else "free"
