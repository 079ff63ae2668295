"""Answers of a question dialog."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from harness.user_requests import Answer, Question


class QuestionState(Struct):
    """Answer state of one question."""

    question: Question
    answer: Answer | None = None
    ticked: set[int] = set()
    """Indexes of checked choices."""
    draft: str = ""
    """Unfinished free text."""
    edits: dict[int, str] = {}
    """Unfinished edits of choices, by index."""

    @property
    def title(self) -> str:
        return self.question.header or self.question.prompt

    def toggle(self, index: int) -> None:
        """Check or uncheck a choice; this reopens an answered question."""
        self.ticked ^= {index}
        self.answer = None

    def take(self, index: int) -> None:
        self.answer = Answer("selected", self.question.choices[index].label, index)

    def take_ticked(self, other: str = "") -> None:
        """Answer with the checked choices and additional text."""
        indexes = tuple(sorted(self.ticked))
        labels = ", ".join(self.question.choices[index].label for index in indexes)
        self.answer = Answer("selected", labels, indexes=indexes, other=other)

    def write(self, text: str) -> None:
        """Answer with free text, in addition to checked choices if several are allowed."""
        if self.question.multi_select and self.ticked:
            self.take_ticked(text)
        else:
            self.answer = Answer("free_text", text)

    def edit(self, index: int, text: str) -> None:
        self.keep_edit(index, text)
        self.answer = Answer("edited", text, index)

    def original(self, index: int) -> str:
        """Return the unedited text of a choice."""
        choice = self.question.choices[index]
        return choice.body or choice.label

    def edited_text(self, index: int) -> str:
        """Return the text with which editing a choice starts."""
        return self.edits.get(index, self.original(index))

    def keep_edit(self, index: int, text: str) -> None:
        self.edits.pop(index, None)
        if text.strip() and text != self.original(index):
            self.edits[index] = text

    @property
    def implied_answer(self) -> Answer | None:
        """Return the answer, or the one implied by checked choices and draft."""
        if self.answer is not None:
            return self.answer
        blank = QuestionState(self.question, ticked=self.ticked)
        if self.ticked or self.draft.strip():
            blank.write(self.draft.strip())
        return blank.answer

    @property
    def written(self) -> list[str]:
        """Return all text the user wrote."""
        return [text for text in (self.draft, *self.edits.values()) if text.strip()]

    @property
    def discarded_texts(self) -> list[str]:
        """Return text that is not part of the answer."""
        heard = (self.answer.text, self.answer.other) if self.answer else ()
        return [text for text in self.written if text.strip() not in heard]

    @property
    def summary(self) -> str:
        meant = self.implied_answer
        if meant is None:
            return "not answered yet"
        said = [each for each in (meant.text, meant.other) if each]
        return " + ".join(said) or meant.status


class AnswerForm:
    """All questions of a dialog; `at` is the index of the current one, or their number for the review."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.blanks = [QuestionState(question) for question in questions]
        self.index = 0

    @property
    def is_form(self) -> bool:
        return len(self.blanks) > 1

    @property
    def is_at_end(self) -> bool:
        return self.index == len(self.blanks)

    @property
    def blank(self) -> QuestionState:
        return self.blanks[self.index]

    @property
    def is_skipped(self) -> bool:
        """Return True if all questions were skipped."""
        return all(each.answer is not None and each.answer.status == "skipped" for each in self.blanks)

    def go(self, step: int) -> None:
        self.index = (self.index + step) % (len(self.blanks) + 1)

    def go_to_unanswered(self) -> None:
        """Go to the next unanswered question, or to the review."""
        later = [*range(self.index + 1, len(self.blanks)), *range(self.index)]
        self.index = next((at for at in later if self.blanks[at].answer is None), len(self.blanks))

    def accept_implied(self) -> None:
        """Accept checked choices and drafts as answers."""
        for blank in self.blanks:
            blank.answer = blank.implied_answer

    def answers(self, rest: Answer) -> tuple[Answer, ...]:
        """Return all answers; `rest` for unanswered questions."""
        return tuple(each.answer or rest for each in self.blanks)
