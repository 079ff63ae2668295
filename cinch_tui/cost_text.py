"""Costs as text for the user."""

from __future__ import annotations


def format_cost(cost: float | None) -> str:
    """US dollars with four decimals; a word where nothing is charged or the price is not known."""
    if cost is None:
        return "cost unknown"
    return f"${cost:.4f}" if cost else "free"
