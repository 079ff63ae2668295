"""The person, as the agent knows them: each question is some lines and a numbered choice."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from cinch_tui.plain.menus import Menus, Option
from cinch_tui.plain.questions import NobodyThere
from cinch_tui.plain.showing import view_lines
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
)
from harness.tool import RiskLevel
from harness.views import DiffView, TerminalView

if TYPE_CHECKING:
    from harness.person import Person

RISKS: dict[RiskLevel, str] = {
    "none": "touches nothing",
    "read": "reads",
    "edit": "changes files",
    "execute": "runs a program",
    "dangerous": "dangerous",
    "forbidden": "forbidden",
}


class PlainPerson:
    """Asks one thing at a time. When the input has ended, nobody is there."""

    def __init__(self, menus: Menus) -> None:
        self._menus = menus
        self._paper = menus.paper

    async def approve(self, request: ApprovalRequest) -> Approval:
        async with self._menus.turn:
            try:
                return await self._approve(request)
            except NobodyThere:
                return await Nobody().approve(request)

    async def ask(self, question: Question) -> Answer:
        async with self._menus.turn:
            try:
                async with asyncio.timeout(question.timeout):
                    return await self._ask(question)
            except TimeoutError:
                self._paper.say("Notice", "The question goes on without an answer.")
                return Answer("timed_out")
            except NobodyThere:
                return await Nobody().ask(question)

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
        risk = request.risk
        reason = f": {one_line(risk.reason)}" if risk.reason else ""
        self._paper.say("Approval", f"{one_line(request.label)} {one_line(request.summary)}".rstrip())
        self._paper.say("Why asked", f"{RISKS[risk.level]}{reason}, in {one_line(str(request.cwd))}")
        if isinstance(request.view, TerminalView):
            self._paper.say("Command", request.view.command)
        elif request.view is not None:
            self._paper.say("It would do", "\n".join(view_lines(request.view)))
        else:
            self._paper.say("Arguments", json.dumps(request.call.arguments, indent=2, ensure_ascii=False))

    async def _approval(self, key: str, request: ApprovalRequest) -> Approval | None:
        """What an answer comes to; None when the person thinks better of it."""
        match key:
            case "y":
                return Once()
            case "s":
                return Session()
            case "a":
                return Always()
            case "n":
                return Denied()
            case "d":
                return Denied(await self._menus.line("Why not? "))
            case "c":
                text = await self._menus.line("Another command, or nothing to go back: ")
                return Reworded(text) if text else None
            case _:
                assert isinstance(request.view, DiffView)
                return await self._in_part(len(hunks_of(request.view)))

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

    async def _ask(self, question: Question) -> Answer:
        asker = f"{one_line(question.asker)} asks: " if question.asker else ""
        limit = f" (for {question.timeout:g} seconds)" if question.timeout is not None else ""
        self._paper.say("Question", f"{asker}{question.prompt}{limit}")
        if not question.choices:
            text = await self._menus.line("Answer, or nothing to skip it: ", opens=True)
            return Answer("free_text", text) if text else Answer("skipped")
        options = [
            Option(f"{choice.label}: {choice.description}" if choice.description else choice.label)
            for choice in question.choices
        ]
        taken = await self._menus.number_or_text(options, "Number, an answer of your own, or nothing to skip it: ")
        if isinstance(taken, str):
            return Answer("free_text", taken) if taken else Answer("skipped")
        label = question.choices[taken].label
        if question.editable:
            text = await self._menus.line("Your words in its place, or nothing to take it as it is: ")
            if text:
                return Answer("edited", text, taken)
        return Answer("selected", label, taken)

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


def _answers(request: ApprovalRequest) -> list[tuple[str, str]]:
    answers = [("Yes, once", "y")]
    if request.can_trust:
        answers.append(("Yes, and trust it this session", "s"))
    if request.rule:
        answers.append((f"Yes, and always allow {one_line(request.rule)} here", "a"))
    if request.is_revisable and isinstance(request.view, TerminalView):
        answers.append(("Yes, but another command", "c"))
    if request.is_revisable and isinstance(request.view, DiffView) and len(hunks_of(request.view)) > 1:
        answers.append(("Yes, but not all of the changes", "p"))
    return [*answers, ("No", "n"), ("No, and say why", "d")]


if TYPE_CHECKING:
    _: type[Person] = PlainPerson
