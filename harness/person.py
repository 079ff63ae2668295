"""Port: what we may ask a person.

The loop asks one question at a time and waits as long as it takes. A run that is aborted cancels the question.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from harness.messages import JsonObject, ToolCall
from harness.tool import Risk
from harness.views import View


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A call that needs leave. `rule` says in words what "always" would cover; empty when it cannot be remembered.

    `is_revisable`: `Reworded` is an answer too, and `Partly` where the view is a diff. `is_reworded`: this is what the
    person made of the call.
    """

    call: ToolCall
    label: str
    summary: str
    risk: Risk
    view: View | None
    cwd: Path
    rule: str = ""
    can_trust: bool = True
    is_revisable: bool = False
    is_reworded: bool = False


@dataclass(frozen=True, slots=True)
class Once:
    """Yes, this one call."""


@dataclass(frozen=True, slots=True)
class Session:
    """Yes, and do not ask again for this tool in this session."""


@dataclass(frozen=True, slots=True)
class Always:
    """Yes, and remember the rule for this project."""


@dataclass(frozen=True, slots=True)
class Denied:
    """No. The reason is told to the model. `unasked` when nobody could be asked (print mode)."""

    reason: str = ""
    unasked: bool = False


@dataclass(frozen=True, slots=True)
class Edited:
    """Yes, but with these arguments."""

    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class Reworded:
    """Ask again, with this in place of what was shown: the content of the file, or the command."""

    text: str


@dataclass(frozen=True, slots=True)
class RefusedHunk:
    """`number` counts from 0, as `harness.hunks.hunks_of` does for the diff that was shown."""

    number: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Partly:
    """Yes to the hunks of the diff that was shown, but for these."""

    refused: tuple[RefusedHunk, ...]


Approval: TypeAlias = Once | Session | Always | Denied | Edited | Reworded | Partly


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the answers that a question offers."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the model's. No choices: free text only. `timeout` in seconds; None waits for ever. `asker` names
    the sub-agent that asks."""

    prompt: str
    choices: tuple[Choice, ...] = ()
    editable: bool = False
    timeout: float | None = None
    asker: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """`index` is the choice (from 0) for selected and edited; `text` is the label, the edited or the free text."""

    status: Literal["selected", "edited", "free_text", "skipped", "timed_out"]
    text: str = ""
    index: int | None = None


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """Accepting a plan leaves plan mode; `feedback` goes to the model either way."""

    accepted: bool
    feedback: str = ""


class Person(Protocol):
    """Who is asked. A run waits for each answer; aborted, it cancels the question."""

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Say whether a call may run."""
        ...

    async def ask(self, question: Question) -> Answer:
        """Answer a question of the model's."""
        ...

    async def review_plan(self, plan: str) -> PlanVerdict:
        """Accept or reject a plan, which is Markdown."""
        ...


class Nobody:
    """A person who is not there: print mode, and agents without a front. Nothing that needs leave is allowed."""

    async def approve(self, request: ApprovalRequest) -> Approval:
        del request
        return Denied("nobody is there to approve it; continue without it", unasked=True)

    async def ask(self, question: Question) -> Answer:
        del question
        return Answer("timed_out")

    async def review_plan(self, plan: str) -> PlanVerdict:
        del plan
        return PlanVerdict(accepted=False, feedback="nobody is there to accept a plan; your plan is the answer")
