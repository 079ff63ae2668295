"""When a prompt is complete: a line, unless it ends with a backslash or begins a fence that is not closed."""

from __future__ import annotations

from collections.abc import Sequence

FENCE = "```"
MORE = "\\"


def is_complete(lines: Sequence[str]) -> bool:
    """Whether nothing more is to come."""
    if sum(line.lstrip().startswith(FENCE) for line in lines) % 2:
        return False
    return not lines[-1].endswith(MORE) if lines else False


def join_lines(lines: Sequence[str]) -> str:
    """The prompt, without the backslashes that only said that it goes on. Lines within a fence stay as they are, and a
    fence around everything is only there for the typing."""
    if len(lines) > 1 and lines[0].strip() == FENCE and lines[-1].strip() == FENCE:
        return "\n".join(lines[1:-1])
    *body, last = lines
    kept: list[str] = []
    is_fenced = False
    for line in body:
        is_fenced ^= line.lstrip().startswith(FENCE)
        kept.append(line if is_fenced else line.removesuffix(MORE))
    return "\n".join([*kept, last])
