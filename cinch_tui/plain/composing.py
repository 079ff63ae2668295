"""Prompts of several lines: a line ends with a backslash, or a fence is open."""

from __future__ import annotations

from collections.abc import Sequence

FENCE = "```"
MORE = "\\"


def is_complete(lines: Sequence[str]) -> bool:
    """Return True if the prompt needs no more lines."""
    if sum(line.lstrip().startswith(FENCE) for line in lines) % 2:
        return False
    return not lines[-1].endswith(MORE) if lines else False


def join_lines(lines: Sequence[str]) -> str:
    """Join the lines of a prompt without continuation backslashes; a fence around the whole prompt is removed."""
    if len(lines) > 1 and lines[0].strip() == FENCE and lines[-1].strip() == FENCE:
        return "\n".join(lines[1:-1])
    *body, last = lines
    kept: list[str] = []
    is_fenced = False
    for line in body:
        is_fenced ^= line.lstrip().startswith(FENCE)
        kept.append(line if is_fenced else line.removesuffix(MORE))
    return "\n".join([*kept, last])
