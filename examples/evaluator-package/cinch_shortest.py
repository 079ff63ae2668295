"""An evaluator that chooses the shortest of several answers."""

from __future__ import annotations

from collections.abc import Sequence

from harness import Message, Outcome, Selection, Strategy


class Shortest(Strategy):
    """Chooses the shortest answer that is not empty."""

    async def choose(self, prompts: Sequence[Message], outcomes: Sequence[Outcome]) -> Selection:
        answers = [each for each in outcomes if each.succeeded]
        chosen = min(answers, key=lambda each: len(each.result.text) or float("inf"))
        return Selection(chosen.index, reason=f"the shortest: {len(chosen.result.text):,} characters")
