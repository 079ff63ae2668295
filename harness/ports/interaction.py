"""Port: what we may ask a person.

The loop asks one question at a time and waits as long as it takes. A run that is aborted cancels the question.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from harness.approval.rules import Rule
from harness.lazy_dataclass import dataclass
from harness.messages import JsonObject, ToolCall
from harness.ports.tool import Risk
from harness.views import View


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A call that needs approval. `rule` says in words what "always" would cover, `exact_rule` what it would if it
    covered such a call and no other; empty when it cannot be remembered. `session` are the rules that `Session` adds:
    command prefixes, an exact text, or the whole tool; none when such a call is asked about each time.

    `is_revisable`: `Reworded` is an answer too, and `Partly` where the view is a diff. `is_reworded`: this is what the
    person made of the call. It is the `position`th, counted from 1, of `total` calls of one reply that need approval;
    `others` are those that still wait besides it, which `Together` may answer too.
    """

    call: ToolCall
    label: str
    summary: str
    risk: Risk
    view: View | None
    cwd: Path
    rule: str = ""
    session: tuple[Rule, ...] = ()
    is_revisable: bool = False
    is_revised: bool = False
    exact_rule: str = ""
    position: int = field(default=1, compare=False)
    total: int = field(default=1, compare=False)
    others: tuple[ApprovalRequest, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class AllowOnce:
    """Yes, this one call."""


@dataclass(frozen=True, slots=True)
class AllowForSession:
    """Yes, and do not ask again in this session for what `ApprovalRequest.session` covers."""


@dataclass(frozen=True, slots=True)
class AllowAlways:
    """Yes, and remember the rule for this project; `exact`: the one that covers nothing but this."""

    exact: bool = False


@dataclass(frozen=True, slots=True)
class Denied:
    """No. The reason is told to the model. `unasked` when nobody could be asked (print mode)."""

    reason: str = ""
    non_interactive: bool = False


@dataclass(frozen=True, slots=True)
class AllowWithArguments:
    """Yes, but with these arguments."""

    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class ProposeRevision:
    """Ask again, with this in place of what was shown: the content of the file, or the command."""

    text: str


@dataclass(frozen=True, slots=True)
class RejectedHunk:
    """`number` counts from 0, as `harness.workspace.hunks.hunks_of` does for the diff that was shown."""

    number: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AllowHunks:
    """Yes to the hunks of the diff that was shown, but for these."""

    rejected: tuple[RejectedHunk, ...]


ApprovalDecision: TypeAlias = (
    AllowOnce | AllowForSession | AllowAlways | Denied | AllowWithArguments | ProposeRevision | AllowHunks
)


@dataclass(frozen=True, slots=True)
class CallApproval:
    """What is said of the call with this id."""

    call_id: str
    approval: ApprovalDecision


@dataclass(frozen=True, slots=True)
class BatchApproval:
    """Answers to several calls of a reply: the one asked about, `others` of its request, or both.

    Each covers what was shown and nothing else: a call that has changed when its turn comes is asked about, and so is
    one that is dangerous, unless its answer is the only one here. What is not answered is asked about again.
    """

    answers: tuple[CallApproval, ...]


Approval: TypeAlias = ApprovalDecision | BatchApproval


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the answers that a question offers; an edit of it begins with `body`, or its label where that is empty."""

    label: str
    description: str = ""
    body: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the model's. No choices: free text only. `timeout` in seconds; None waits for ever. `asker` names
    the sub-agent that asks.

    `header` is a title of a word or two; `multi_select`: several choices may be taken; `free_text`: an answer of one's
    own may be written; an edited choice has at most `max_edit_length` characters.
    """

    prompt: str
    choices: tuple[Choice, ...] = ()
    editable: bool = False
    timeout: float | None = None
    asker: str = field(default="", compare=False)
    header: str = ""
    multi_select: bool = False
    max_edit_length: int | None = None
    free_text: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """`index` is the choice (from 0) for selected and edited; `text` is the label, the edited or the free text.

    Where several choices may be taken, `indexes` are those that were, `text` their labels, and `other` what was written
    beside them.
    """

    status: Literal["selected", "edited", "free_text", "skipped", "timed_out"]
    text: str = ""
    index: int | None = None
    indexes: tuple[int, ...] = ()
    other: str = ""


@dataclass(frozen=True, slots=True)
class PlanDecision:
    """Accepting a plan leaves plan mode; `feedback` goes to the model either way.

    `allow_edits`: calls that change files in the workspace need no approval until the session ends. `plan` is the plan
    as the user edited it, empty if they did not; the model is shown it as the plan to carry out.
    """

    accepted: bool
    feedback: str = ""
    allow_edits: bool = False
    plan: str = ""
    unasked: bool = False
    """Nobody could be asked: the run ends with the plan as its answer."""


class UserInteraction(Protocol):
    """Who is asked. A run waits for each answer; aborted, it cancels the question."""

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Say whether a call may run."""
        ...

    async def ask(self, question: Question) -> Answer:
        """Answer a question of the model's."""
        ...

    async def review_plan(self, plan: str) -> PlanDecision:
        """Accept or reject a plan, which is Markdown."""
        ...


@runtime_checkable
class BatchQuestions(UserInteraction, Protocol):
    """A person who may be asked several questions at once; others are asked one after another."""

    async def ask_all(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """Answer each, in their order."""
        ...


async def ask_all(person: UserInteraction, questions: Sequence[Question]) -> tuple[Answer, ...]:
    """The answers to several questions, in their order. The shortest of their timeouts holds for all together."""
    if isinstance(person, BatchQuestions):
        answers = tuple(await person.ask_all(questions))
        return answers[: len(questions)] + (Answer("skipped"),) * (len(questions) - len(answers))
    limit = shortest_timeout(questions)
    ends_at = None if limit is None else time.monotonic() + limit
    return tuple([await _ask_until(person, question, ends_at) for question in questions])


async def _ask_until(person: UserInteraction, question: Question, ends_at: float | None) -> Answer:
    if ends_at is None:
        return await person.ask(question)
    left = ends_at - time.monotonic()
    return await person.ask(replace(question, timeout=left)) if left > 0 else Answer("timed_out")


def shortest_timeout(questions: Sequence[Question]) -> float | None:
    """The least of their timeouts; None: they wait for ever."""
    return min((each.timeout for each in questions if each.timeout is not None), default=None)


class NonInteractive:
    """A person who is not there: print mode, and agents without a front. Nothing that needs approval is allowed."""

    async def approve(self, request: ApprovalRequest) -> Approval:
        del request
        return Denied("nobody could be asked; continue without it", non_interactive=True)

    async def ask(self, question: Question) -> Answer:
        del question
        return Answer("timed_out")

    async def review_plan(self, plan: str) -> PlanDecision:
        del plan
        return PlanDecision(accepted=False, unasked=True)
