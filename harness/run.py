"""What a run works with: the state an agent keeps between runs, and everything fixed for one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.approval.policy import ApprovalMode
from harness.approval.rules import Grants
from harness.bus import Bus
from harness.cost import Ledger
from harness.history import History
from harness.inbox import Inbox
from harness.limits import Meter
from harness.messages import Usage
from harness.modes import Mode, tools_of
from harness.person import Person
from harness.provider import Model, ModelFacts, ToolSpec
from harness.retry import RetryPolicy
from harness.tool import Tool
from harness.workspace import Workspace


@dataclass(slots=True)
class State:
    """What a person may change at any time; a run reads it anew for each turn."""

    model: Model
    tools: Sequence[Tool]
    system_prompt: str
    mode: Mode
    approval: ApprovalMode
    grants: Grants
    max_tokens: int | None = None
    ledger: Ledger = field(default_factory=Ledger)

    @property
    def usage(self) -> Usage:
        """What the whole conversation has used."""
        return self.ledger.usage

    @property
    def available_tools(self) -> tuple[Tool, ...]:
        return tools_of(self.mode, self.tools)

    @property
    def tool_specs(self) -> tuple[ToolSpec, ...]:
        return tuple(ToolSpec(tool.name, tool.description, tool.parameters) for tool in self.available_tools)

    @property
    def system(self) -> str:
        return f"{self.system_prompt}\n\n{self.mode.addendum}" if self.mode.addendum else self.system_prompt

    @property
    def facts(self) -> ModelFacts:
        return known_facts(self.model)


def known_facts(model: Model) -> ModelFacts:
    """What is known of a model without waiting."""
    return model.facts.now or ModelFacts()


@dataclass(frozen=True, slots=True)
class Run:
    state: State
    bus: Bus
    history: History
    inbox: Inbox
    meter: Meter
    person: Person
    workspace: Workspace
    retry: RetryPolicy
    spill_dir: Path
    patience: float = 5.0
