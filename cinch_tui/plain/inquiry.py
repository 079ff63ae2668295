"""Questions of the model as lines: numbered choices, or free text."""

from __future__ import annotations

from cinch_tui.plain.menus import Menus, Option
from cinch_tui.rendering.safe_text import one_line
from harness.user_requests import Answer, Question


class QuestionDialog:
    """Asks one question; the caller holds the lock of the dialog."""

    def __init__(self, menus: Menus) -> None:
        self._menus = menus
        self._writer = menus.writer

    async def ask(self, question: Question, place: str, limit: str) -> Answer:
        """Ask a question; `place` is its number among several, `limit` the text of its time limit.

        Raises:
            InputClosed: the input has ended.
        """
        asker = f"{one_line(question.asker)} asks: " if question.asker else ""
        self._writer.write(f"Question{place}", f"{asker}{question.prompt}{limit}")
        if not question.choices:
            text = await self._menus.line("Answer, or empty to skip: ", opens=True)
            return Answer("free_text", text) if text else Answer("skipped")
        options = [
            Option(f"{choice.label}: {choice.description}" if choice.description else choice.label)
            for choice in question.choices
        ]
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

    async def _several(self, question: Question, options: list[Option]) -> Answer:
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
            self._writer.write("Notice", f"Too long: {len(text)} characters; the maximum is {most}.")
        return Answer("selected", choice.label, index)
