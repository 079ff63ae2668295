"""Approval and questions in plain mode: lines, and answers by the letters that the app uses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from cinch_tui.plain.menus import InputClosed, Menus
from cinch_tui.plain.view_lines import shorten, view_lines
from cinch_tui.rendering.safe_text import one_line, reveal
from cinch_tui.user_dialogs.approval_options import (
    PLAN_ANSWERS,
    AnswerOption,
    allowable,
    answers_to,
    batch_approval,
    denial_of_all,
    is_named_in_full,
    number_of,
    proposal_in,
    reason_text,
)
from cinch_tui.user_dialogs.plan_file import PlanFile
from harness.errors import CinchError
from harness.ports.interaction import NonInteractive, shortest_timeout
from harness.terminal_text import escape_controls
from harness.user_requests import (
    AllowAlways,
    AllowForSession,
    AllowHunks,
    AllowOnce,
    Answer,
    Approval,
    ApprovalRequest,
    Denied,
    Plan,
    PlanDecision,
    ProposeRevision,
    Question,
    RejectedHunk,
    plan_text,
)
from harness.views import DiffView, TerminalView, TextView
from harness.workspace.hunks import hunks_of

if TYPE_CHECKING:
    from harness.ports.interaction import BatchQuestions

MAX_PREVIEW_LINES = 60
"""Lines of a proposal that are printed at first."""
MAX_TITLE_WIDTH = 500

_APPROVALS: dict[str, Approval] = {
    "y": AllowOnce(),
    "s": AllowForSession(),
    "a": AllowAlways(),
    "x": AllowAlways(exact=True),
    "m": AllowAlways(server=True),
    "n": Denied(),
}


class LineInteraction:
    """Asks for one decision at a time; at the end of the input it behaves as non-interactive.

    Args:
        menus: Dialogs.
        editor: Editor command, empty for that of the environment; None without a terminal.
    """

    def __init__(self, menus: Menus, editor: str | None = None) -> None:
        self._menus = menus
        self._editor = editor
        self._writer = menus.writer

    async def approve(self, request: ApprovalRequest) -> Approval:
        async with self._menus.lock:
            try:
                return await self._approve(request)
            except InputClosed:
                return await NonInteractive().approve(request)

    async def ask(self, question: Question) -> Answer:
        (answer,) = await self.ask_all([question])
        return answer

    async def ask_all(self, questions: Sequence[Question]) -> tuple[Answer, ...]:
        """Ask the questions in order; answers given before a timeout or the end of the input count."""
        answers: list[Answer] = []
        async with self._menus.lock:
            try:
                async with asyncio.timeout(seconds := shortest_timeout(questions)):
                    for number, question in enumerate(questions, 1):
                        place = f" {number} of {len(questions)}" if len(questions) > 1 else ""
                        limit = _limit(seconds, len(questions)) if number == 1 else ""
                        answers.append(await self._ask(question, place, limit))
            except TimeoutError:
                self._writer.notice("The question timed out.")
            except InputClosed:
                pass
        return (*answers, *[Answer("timed_out")] * (len(questions) - len(answers)))

    async def review_plan(self, plan: Plan) -> PlanDecision:
        async with self._menus.lock:
            try:
                return await self._review(plan)
            except InputClosed:
                return await NonInteractive().review_plan(plan)

    async def _approve(self, request: ApprovalRequest) -> Approval:
        is_shown = self._show(request)
        while True:
            answers = _answers(request, has_editor=self._editor is not None)
            key = await self._menus.letter(answers if is_shown else _ANSWERS_BEFORE_ALL_IS_SHOWN)
            is_shown = is_shown or key == "w"
            approval = await self._approval(key, request)
            if approval is not None:
                return approval

    def _show(self, request: ApprovalRequest) -> bool:
        """Print the call; return False if its middle was left out."""
        self._writer.write("Approval", _title(request))
        if request.others:
            rest = "; ".join(_title(each) for each in request.others)
            self._writer.write("Batch", f"{request.position} of {request.total}; these wait too: {rest}")
        self._writer.write("Why asked", reason_text(request, ", "))
        label, lines = _content(request)
        shown = shorten(lines, MAX_PREVIEW_LINES)
        self._writer.write(label, "\n".join(shown))
        return shown == lines

    async def _approval(self, key: str, request: ApprovalRequest) -> Approval | None:
        """Return the decision for an answer; None if the user goes back."""
        waiting = (request, *request.others)
        match key:
            case "A":
                return batch_approval([(each, AllowOnce()) for each in allowable(waiting)])
            case "N":
                return denial_of_all(waiting)
            case "d":
                return Denied(await self._menus.line("Reason: "))
            case "e":
                text = await self._edited_proposal(request)
                return ProposeRevision(text) if text else None
            case "w":
                label, lines = _content(request)
                self._writer.write(label, "\n".join(lines))
                return None
            case "h":
                assert isinstance(request.view, DiffView)
                return await self._approve_in_part(len(hunks_of(request.view)))
            case _:
                return _APPROVALS[key]

    async def _edited_proposal(self, request: ApprovalRequest) -> str:
        if self._editor is None:
            return await self._menus.line("Text to use instead, or empty to go back: ")
        text, name, clean = proposal_in(request.view)
        return await self._in_editor(text, name, clean)

    async def _in_editor(self, text: str, name: str, clean: Callable[[str], str]) -> str:
        """Return the text as changed in the editor; empty, with a notice, if it is not."""
        try:
            edited = await self._menus.edit(text, name, self._editor or "", clean)
        except CinchError as error:
            self._writer.notice(str(error), "error")
            return ""
        if edited in ("", text):
            self._writer.notice("No changes made.")
            return ""
        return edited

    async def _approve_in_part(self, count: int) -> Approval | None:
        typed = await self._menus.line(f"Changes to skip, 1 to {count}, or empty to go back: ")
        words = typed.replace(",", " ").split()
        numbers = sorted({int(word) for word in words if word.isascii() and word.isdigit()})
        if not numbers or len(numbers) != len(set(words)) or not all(1 <= number <= count for number in numbers):
            return None
        reason = await self._menus.line("Reason, or empty: ")
        if len(numbers) == count:
            return Denied(reason)
        return AllowHunks(tuple(RejectedHunk(number - 1, reason) for number in numbers))

    async def _review(self, plan: Plan) -> PlanDecision:
        file = PlanFile(plan.file, plan.text)
        answers = {each.key: each.text for each in PLAN_ANSWERS if each.key != "e" or self._editor is not None}
        key = "e"
        while key == "e":
            self._writer.write("Plan", f"\n{plan_text(replace(plan, text=file.text))}")
            if plan.file:
                self._writer.notice(f"To change it, edit {plan.file} before you accept.")
            key = await self._menus.letter(answers)
            await asyncio.to_thread(file.reread)
            if key == "e" and (edited := await self._in_editor(file.text, "plan.md", str.rstrip)):
                await asyncio.to_thread(file.write, f"{edited}\n")
        feedback = await self._menus.line("What to change? ") if key == "d" else ""
        options = [": ".join(filter(None, (each.label, each.description))) for each in plan.options]
        is_open = bool(options) and key in "ya"
        option = plan.options[await self._menus.number(options, "Option to carry out")].label if is_open else ""
        edited = file.text if file.text != plan.text else ""
        return PlanDecision(accepted=key in "ya", allow_edits=key == "a", feedback=feedback, option=option, plan=edited)

    async def _ask(self, question: Question, place: str, limit: str) -> Answer:
        """Ask a question; `place` is its number among several, `limit` the text of its time limit.

        Raises:
            InputClosed: the input has ended.
        """
        asker = f"{one_line(question.asker)} asks: " if question.asker else ""
        self._writer.write(f"Question{place}", f"{asker}{question.prompt}{limit}")
        if not question.choices:
            text = await self._menus.line("Answer, or empty to skip: ", opens=True)
            return Answer("free_text", text) if text else Answer("skipped")
        options = [": ".join(filter(None, (choice.label, choice.description))) for choice in question.choices]
        if question.multi_select:
            return await self._several(question, options)
        own = ", your own answer" if question.free_text else ""
        while True:
            taken = await self._menus.number_or_text(options, f"Number{own}, or empty to skip: ")
            if isinstance(taken, int):
                return await self._edited(question, taken)
            if not taken or (question.free_text and not taken.isdecimal()):
                return Answer("free_text", taken) if taken else Answer("skipped")
            self._menus.report_invalid(options)

    async def _several(self, question: Question, options: list[str]) -> Answer:
        own = ", your own answer" if question.free_text else ""
        while True:
            numbers, typed = await self._menus.numbers_or_text(options, f"Numbers{own}, or empty to skip: ")
            if numbers:
                labels = ", ".join(question.choices[number].label for number in numbers)
                return Answer("selected", labels, indexes=tuple(numbers))
            # A number that none of them has is a slip.
            if not typed or (question.free_text and not typed.replace(",", " ").replace(" ", "").isdecimal()):
                return Answer("free_text", typed) if typed else Answer("skipped")
            self._menus.report_invalid(options)

    async def _edited(self, question: Question, index: int) -> Answer:
        choice, most = question.choices[index], question.max_edit_length
        if choice.body:
            self._writer.write("Text", choice.body)
        while question.editable:
            text = await self._menus.line("Replacement text, or empty to keep it: ")
            if not text:
                break
            if most is None or len(text) <= most:
                return Answer("edited", text, index)
            self._writer.notice(f"Too long: {len(text)} characters; the maximum is {most}.")
        return Answer("selected", choice.label, index)


def _limit(seconds: float | None, questions: int) -> str:
    if seconds is None:
        return ""
    return f" ({seconds:g} seconds{f' for all {questions}' if questions > 1 else ''})"


def _title(request: ApprovalRequest) -> str:
    return f"{one_line(request.label)} {one_line(request.summary)}".rstrip()


def _content(request: ApprovalRequest) -> tuple[str, list[str]]:
    """Return a label and all lines of the proposed call."""
    if isinstance(request.view, TerminalView):
        return "Command", _revealed(request.view.command)
    if isinstance(request.view, TextView):
        return "Proposal", _revealed(request.view.text)
    if request.view is not None:
        return "Proposal", [escape_controls(line) for line in view_lines(request.view)]
    return "Arguments", _revealed(json.dumps(request.call.arguments, indent=2, ensure_ascii=False))


def _revealed(text: str) -> list[str]:
    return [escape_controls(line) for line in reveal(text).split("\n")]


def _answers(request: ApprovalRequest, *, has_editor: bool) -> dict[str, str]:
    """Return the answers by key, with the keys and in the order of the app."""
    others: list[AnswerOption] = []
    if request.is_revisable and isinstance(request.view, DiffView) and len(hunks_of(request.view)) > 1:
        others.append(AnswerOption("h", "review", "Skip some of the changes", ""))
    if request.is_revisable and has_editor:
        others.append(AnswerOption("e", "rewrite", "Edit in $EDITOR", ""))
    elif request.is_revisable and not isinstance(request.view, DiffView):
        others.append(AnswerOption("e", "rewrite", "Type another text", ""))
    return {each.key: each.text for each in answers_to(request, *others)} | _answers_to_all(request)


_ANSWERS_BEFORE_ALL_IS_SHOWN = {"w": "Show all of it, then decide", "n": "Deny", "d": "Deny with reason"}


def _answers_to_all(request: ApprovalRequest) -> dict[str, str]:
    """Return the answers for a batch; it can be allowed only if every call was shown in full."""
    if not request.others:
        return {}
    requests = (request, *request.others)
    free = allowable(requests)
    is_shown = all(is_named_in_full(each, MAX_TITLE_WIDTH) for each in request.others if each in free)
    allow = {"A": f"Allow {number_of(len(free), len(requests))}"} if len(free) > 1 and is_shown else {}
    return allow | {"N": f"Deny all {len(requests)}"}


if TYPE_CHECKING:
    _: type[BatchQuestions] = LineInteraction
