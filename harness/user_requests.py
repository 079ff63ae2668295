"""Requests to the user and the answers to them: approvals, questions and plans."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from harness.messages import JsonObject, ToolCall
from harness.permissions import Decision, Rule, describe
from harness.risk import Risk
from harness.structs import Tagged
from harness.views import View


class ApprovalRequest(Struct, frozen=True):
    """A tool call that needs approval."""

    call: ToolCall
    """The call."""
    label: str
    """Name of the tool for users."""
    summary: str
    """One line that identifies the call: the path, the command."""
    decision: Decision
    """Reason for the request, and the permission rules that an approval may add."""
    view: View | None
    """Preview of the effect."""
    cwd: Path
    """Folder the call works in."""
    is_revisable: bool = False
    """True if `ProposeRevision` is accepted, and `AllowHunks` if the view is a diff."""
    is_revised: bool = False
    """True if the user already revised the call."""
    position: int = 1
    """Position among the calls of the reply that need approval, from 1."""
    total: int = 1
    """Number of calls of the reply that need approval."""
    others: tuple[ApprovalRequest, ...] = ()
    """The other calls of the reply that are still pending; `BatchApproval` may answer them too."""

    @property
    def risk(self) -> Risk:
        """Risk assessment."""
        return self.decision.risk

    @property
    def session(self) -> tuple[Rule, ...]:
        """Rules that `AllowForSession` adds; empty if such a call needs approval each time."""
        return self.decision.session_offers

    @property
    def rule(self) -> str:
        """Description of the permission rules that `AllowAlways` adds; empty if none covers more than this call."""
        offers, exact = self.decision.offers, self.decision.exact_offer
        return "" if offers == (exact,) else ", ".join(map(describe, offers))

    @property
    def exact_rule(self) -> str:
        """Description of the rule that `AllowAlways(exact=True)` adds; empty if absent."""
        return describe(self.decision.exact_offer) if self.decision.exact_offer else ""

    @property
    def server_rule(self) -> str:
        """The rule that `AllowAlways(server=True)` adds; empty if absent."""
        return str(self.decision.server_offer) if self.decision.server_offer else ""


class AllowOnce(Struct, frozen=True):
    """Allow this call."""


class AllowForSession(Struct, frozen=True):
    """Allow the call, and everything that `ApprovalRequest.session` covers until the session ends."""


class AllowAlways(Struct, frozen=True):
    """Allow the call and store a permission rule for this project."""

    exact: bool = False
    """True to store a rule that covers only this exact call."""
    server: bool = False
    """True to store a rule that covers all tools of the MCP server or API."""


class Denied(Struct, frozen=True):
    """Deny the call."""

    reason: str = ""
    """Reason, sent to the model."""
    non_interactive: bool = False
    """True if no user was available to ask, as in print mode."""


class AllowWithArguments(Struct, frozen=True):
    """Allow the call with other arguments."""

    arguments: JsonObject
    """Replacement arguments."""


class ProposeRevision(Struct, frozen=True):
    """Revise the call and ask for approval again."""

    text: str
    """Replacement for what was displayed: the content of the file, or the command."""


class RejectedHunk(Struct, frozen=True):
    """A hunk excluded from an edit."""

    number: int
    """Number of the hunk in the displayed diff, from 0; see `harness.workspace.hunks.hunks_of`."""
    reason: str = ""
    """Reason, sent to the model."""


class AllowHunks(Struct, frozen=True):
    """Allow the displayed edit except for some hunks."""

    rejected: tuple[RejectedHunk, ...]
    """Hunks to leave out."""


ApprovalDecision: TypeAlias = (
    AllowOnce | AllowForSession | AllowAlways | Denied | AllowWithArguments | ProposeRevision | AllowHunks
)


class CallApproval(Struct, frozen=True):
    """Decision on one call of a batch."""

    call_id: str
    """Id of the call."""
    approval: ApprovalDecision
    """The decision."""


class BatchApproval(Struct, frozen=True):
    """Decisions on several calls of a reply: the requested one, its `others`, or both.

    Each decision covers only what was displayed. A call that changed in the meantime is asked about again; so is a
    dangerous call, unless its decision is the only one here, and every call without a decision.
    """

    answers: tuple[CallApproval, ...]
    """Decisions, in any order."""


Approval: TypeAlias = ApprovalDecision | BatchApproval


class Choice(Tagged, frozen=True):
    """One choice of a question."""

    label: str
    """Text of the choice."""
    description: str = ""
    """Explanation shown under the label."""
    body: str = ""
    """Initial text if the user edits the choice; empty: the label."""


class Question(Tagged, frozen=True):
    """A question of the model to the user. Without choices, the answer is free text."""

    prompt: str
    """Text of the question."""
    choices: tuple[Choice, ...] = ()
    """Choices to select from."""
    editable: bool = False
    """True if the user may edit a choice."""
    timeout: float | None = None
    """Time limit in seconds; None: unlimited."""
    asker: str = ""
    """Name of the subagent that asks; empty for the agent itself."""
    header: str = ""
    """Title of one or two words."""
    multi_select: bool = False
    """True if several choices may be selected."""
    max_edit_length: int | None = None
    """Maximum length of an edited choice in characters; None: unlimited."""
    free_text: bool = True
    """True if the user may type an answer instead of selecting a choice."""


class Answer(Tagged, frozen=True):
    """The user's answer to a question."""

    status: Literal["selected", "edited", "free_text", "skipped", "timed_out"]
    """Kind of the answer."""
    text: str = ""
    """Label of the choice, or the edited or typed text; the labels of all selected choices if there are several."""
    index: int | None = None
    """Selected or edited choice, from 0."""
    indexes: tuple[int, ...] = ()
    """Selected choices, if several may be selected."""
    other: str = ""
    """Text typed in addition to the selected choices."""


class Plan(Struct, frozen=True):
    """A plan of the model, to be accepted or rejected."""

    text: str
    """The plan, in Markdown."""
    title: str = ""
    """Title; empty if the text has one."""
    options: tuple[Choice, ...] = ()
    """Alternatives to choose from, the recommended one first; empty if there is nothing to choose."""
    file: Path | None = None
    """File with the text; what it contains when the plan is accepted is carried out. None if there is no file."""


class PlanDecision(Struct, frozen=True):
    """The user's decision on a plan."""

    accepted: bool
    """True if the plan was accepted, which ends plan mode."""
    feedback: str = ""
    """Comment, sent to the model either way."""
    allow_edits: bool = False
    """True if calls that change files in the workspace need no approval until the session ends."""
    option: str = ""
    """Label of the chosen option; empty if there was none to choose."""
    plan: str = ""
    """The plan as edited by the user, sent to the model as the plan to carry out; empty if unchanged."""
    non_interactive: bool = False
    """True if no user was available to ask; the run then ends with the plan as its result."""


def plan_text(plan: Plan, chosen: str = "") -> str:
    """Return a plan with its options, in Markdown.

    Args:
        plan: The plan.
        chosen: Label of the chosen option.
    """
    options = [
        f"{number}. **{each.label}**{f': {each.description}' if each.description else ''}"
        f"{' (chosen)' if each.label == chosen else ''}"
        for number, each in enumerate(plan.options, 1)
    ]
    heading, _, _ = plan.text.strip().partition("\n")
    title = [f"# {plan.title}"] if plan.title and heading.lstrip("# ") != plan.title.strip() else []
    return "\n\n".join([*title, plan.text.strip(), *(["**Options**", "\n".join(options)] if options else [])])
