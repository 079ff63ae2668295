"""Note at the end of one page of results."""

from __future__ import annotations


def page_note(offset: int, shown: int, total: int, counted: str) -> str:
    """Return which results are shown, of how many, and the offset of the next page.

    Args:
        offset: Number of results before this page.
        shown: Number of results on this page.
        total: Number of all results, as far as they were counted.
        counted: What was counted, with the total.
    """
    end = offset + shown
    if shown == total:
        return counted
    if not shown:
        return f"nothing from offset {offset} on; {counted}"
    more = f"; next page: offset={end}" if end < total else ""
    return f"{offset + 1} to {end} of {counted}{more}"
