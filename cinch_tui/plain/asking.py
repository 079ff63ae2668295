"""The person, as the agent knows them: each question is some lines and a numbered choice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinch_tui.asking.call_words import allowable, denial_of_all, exactly, lasting, together, why
from cinch_tui.plain.inquiry import Inquiry
from cinch_tui.plain.menus import Menus, Option
from cinch_tui.plain.questions import NobodyThere
from cinch_tui.plain.showing import counted, cut, view_lines
from cinch_tui.transcript.plain import one_line
from harness.hunks import hunks_of
from harness.person import (
    Always,
    Answer,
    Approval,
    ApprovalRequest,
    Denied,
    Nobody,
    Once,
    Partly,
    PlanVerdict,
    Question,
    RefusedHunk,
    Reworded,
    Session,
    shortest,
)
from harness.views import DiffView, TerminalView

if TYPE_CHECKING:
    from harness.person import AskedAtOnce

MOST_SHOWN = 60
"""Lines of a proposal that are read out unasked."""

_SAID: dict[str, Approval] = {
    "y": Once(),
    "s": Session(),
    "a": Always(),
    "x": Always(exact=True),
    "n": Denied(),
}


class PlainPerson:
    """Asks one thing at a time. When the input has ended, nobody is there."""

    def __init__(self, menus: Menus) -> None:
        self._menus = menus
        self._paper = menus.paper
        self._inquiry = Inquiry(menus)

    async def approve(self, request: ApprovalRequest) -> Approval:
        async with self._menus.turn:
            try:
                return await self._approve(request)
            except NobodyThere:
                return await Nobody().approve(request)

    async def ask(self, question: Question) -> Answer:
        (answer,) = await self.ask_all([question])
        return answer

    async def ask_all(self, questions: Sequence[Question]) -> tuple[Answer, ...]:
        """What is answered when the time is up, or the input ends, counts."""
        answers: list[Answer] = []
        async with self._menus.turn:
            try:
                async with asyncio.timeout(seconds := shortest(questions)):
                    for number, question in enumerate(questions, 1):
                        place = f" {number} of {len(questions)}" if len(questions) > 1 else ""
                        limit = _limit(seconds, len(questions)) if number == 1 else ""
                        answers.append(await self._inquiry.ask(question, place, limit))
            except TimeoutError:
                self._paper.say("Notice", "The question goes on without an answer.")
            except NobodyThere:
                pass
        return (*answers, *[Answer("timed_out")] * (len(questions) - len(answers)))

    async def review_plan(self, plan: str) -> PlanVerdict:
        async with self._menus.turn:
            try:
                return await self._review(plan)
            except NobodyThere:
                return await Nobody().review_plan(plan)

    async def _approve(self, request: ApprovalRequest) -> Approval:
        self._show(request)
        answers = _answers(request)
        while True:
            _, key = answers[await self._menus.number([Option(text, key) for text, key in answers])]
            approval = await self._approval(key, request)
            if approval is not None:
                return approval

    def _show(self, request: ApprovalRequest) -> None:
        self._paper.say("Approval", _named(request))
        if request.others:
            rest = "; ".join(_named(each) for each in request.others)
            self._paper.say("Batch", f"{request.position} of {request.total}; these wait too: {rest}")
        self._paper.say("Why asked", why(request, ", "))
        label, lines = _content(request)
        self._paper.say(label, "\n".join(cut(lines, MOST_SHOWN)))

    async def _approval(self, key: str, request: ApprovalRequest) -> Approval | None:
        """What an answer comes to; None when the person thinks better of it."""
        waiting = (request, *request.others)
        match key:
            case "all":
                return together([(each, Once()) for each in allowable(waiting)])
            case "none":
                return denial_of_all(waiting)
            case "d":
                return Denied(await self._menus.line("Why not? "))
            case "c":
                text = await self._menus.line("Another command, or nothing to go back: ")
                return Reworded(text) if text else None
            case "w":
                label, lines = _content(request)
                self._paper.say(label, "\n".join(lines))
                return None
            case "p":
                assert isinstance(request.view, DiffView)
                return await self._in_part(len(hunks_of(request.view)))
            case _:
                return _SAID[key]

    async def _in_part(self, count: int) -> Approval | None:
        typed = await self._menus.line(f"Leave out which changes, 1 to {count}, or nothing to go back: ")
        words = typed.replace(",", " ").split()
        numbers = sorted({int(word) for word in words if word.isascii() and word.isdigit()})
        if not numbers or len(numbers) != len(set(words)) or not all(1 <= number <= count for number in numbers):
            return None
        reason = await self._menus.line("Why? ")
        if len(numbers) == count:
            return Denied(reason)
        return Partly(tuple(RefusedHunk(number - 1, reason) for number in numbers))

    async def _review(self, plan: str) -> PlanVerdict:
        self._paper.say("Plan", f"\n{plan.strip()}")
        options = [
            Option("Accept it and start the work", "y"),
            Option("Keep planning", "n"),
            Option("Keep planning, and say what to change", "d"),
        ]
        index = await self._menus.number(options)
        feedback = await self._menus.line("What to change? ") if index == 2 else ""
        return PlanVerdict(accepted=index == 0, feedback=feedback)


def _limit(seconds: float | None, questions: int) -> str:
    if seconds is None:
        return ""
    return f" ({seconds:g} seconds{f' for all {questions}' if questions > 1 else ''})"


def _named(request: ApprovalRequest) -> str:
    return f"{one_line(request.label)} {one_line(request.summary)}".rstrip()


def _content(request: ApprovalRequest) -> tuple[str, list[str]]:
    """What it is about to do, all of it, and a word for it."""
    if isinstance(request.view, TerminalView):
        return "Command", request.view.command.split("\n")
    if request.view is not None:
        return "It would do", view_lines(request.view)
    return "Arguments", json.dumps(request.call.arguments, indent=2, ensure_ascii=False).split("\n")


def _answers(request: ApprovalRequest) -> list[tuple[str, str]]:
    answers = [("Yes, once", "y"), *((words, key) for key, _, words in lasting(request))]
    if request.is_revisable and isinstance(request.view, TerminalView):
        answers.append(("Yes, but another command", "c"))
    if request.is_revisable and isinstance(request.view, DiffView) and len(hunks_of(request.view)) > 1:
        answers.append(("Yes, but not all of the changes", "p"))
    rule = [(words, key) for key, _, words in exactly(request)]
    denials = [("No", "n"), ("No, and say why", "d")]
    return [*answers, *denials, *rule, *_answers_to_all((request, *request.others)), *_answers_of_length(request)]


def _answers_of_length(request: ApprovalRequest) -> list[tuple[str, str]]:
    _, lines = _content(request)
    return [] if cut(lines, MOST_SHOWN) == lines else [(f"First show the whole of it, {counted(lines)}", "w")]


def _answers_to_all(requests: Sequence[ApprovalRequest]) -> list[tuple[str, str]]:
    """Of what is dangerous, one hears only when it is asked about."""
    free = len(allowable(requests))
    if len(requests) == 1:
        return []
    which = f"all {free} that wait" if free == len(requests) else f"the {free} that are not dangerous"
    allow = [(f"Yes to {which}", "all")] if free > 1 else []
    return [*allow, (f"No to all {len(requests)} that wait", "none")]


if TYPE_CHECKING:
    _: type[AskedAtOnce] = PlainPerson
