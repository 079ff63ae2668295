"""Built-in permission policy: a pure function of a call's risk, the permission rules, and the modes.

The order of a decision: forbidden calls, deny rules, plan mode, ask rules and hooks that ask, approval mode `off`,
dangerous calls and protected paths, allow rules and hooks that allow, and the approval mode.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from harness.approval.modes import APPROVAL_MODES, ApprovalMode, Mode
from harness.approval.store import RuleStore
from harness.errors import ConfigError
from harness.permissions import Decision, Rule
from harness.ports.hooks import AllowCall, AskUser
from harness.ports.permission_policy import CallFacts, PermissionPolicy, PolicyFunction
from harness.risk import Risk, RiskLevel

if TYPE_CHECKING:
    from harness.approval.matching import Target
    from harness.approval.paths import PathFacts

BUILT_IN = "built-in"
_ALLOWED_LEVELS: dict[ApprovalMode, tuple[RiskLevel, ...]] = {"on": (), "smart": ("read",), "edits": ("read", "edit")}
_REASONS = {
    "none": "it changes nothing",
    "read": "it reads files",
    "edit": "it changes files",
    "execute": "it runs a program",
    "dangerous": "this cannot be undone",
    "forbidden": "it never runs",
}


class Permissions(Struct):
    """The user's permissions, changeable at any time. Subagents share those of their agent, so none may do more."""

    mode: Mode
    """`PLAN` or `EXECUTE`."""
    approval: ApprovalMode
    """Approval mode."""
    store: RuleStore
    """Permission rules."""
    policy: PermissionPolicy | None = None
    """Policy of the program; None for `RulePolicy`."""
    loosest: ApprovalMode = "off"
    """Least strict approval mode that may be set."""

    def set_approval(self, approval: ApprovalMode) -> None:
        """Set the approval mode.

        Raises:
            ConfigError: It is less strict than `loosest`.
        """
        if not self.allows_mode(approval):
            raise ConfigError(f"approval mode {approval} is not allowed here; {self.loosest} is the least strict one")
        self.approval = approval

    def allows_mode(self, approval: ApprovalMode) -> bool:
        """Return True if an approval mode is not less strict than `loosest`."""
        return APPROVAL_MODES.index(approval) <= APPROVAL_MODES.index(self.loosest)

    def decide(self, call: CallFacts) -> Decision:
        """Decide on a call, by the policy of the program or by the built-in one."""
        built_in = RulePolicy(self.store, self)
        if self.policy is None:
            return built_in.decide(call, call.risk)
        fixed = built_in.forbidden(call, call.risk) or built_in.excluded(call, call.risk)
        return fixed or _checked_by_hook(self.policy.decide(call, call.risk), call)


class RulePolicy:
    """The built-in policy: permission rules, then the approval mode.

    Args:
        store: Permission rules.
        permissions: Modes.
    """

    def __init__(self, store: RuleStore, permissions: Permissions) -> None:
        self._store = store
        self._permissions = permissions

    def decide(self, call: CallFacts, risk: Risk) -> Decision:
        """Decide on a call. Pure: it neither asks nor counts.

        Args:
            call: The call.
            risk: Its risk, with what its paths imply.
        """
        case = _Case(call, risk)
        return (
            self.forbidden(call, risk)
            or self._denied(case)
            or self.excluded(call, risk)
            or self._asked(case)
            or self._off(risk)
            or self._fixed(risk)
            or self._allowed(case)
            or self._by_mode(case)
        )

    def forbidden(self, call: CallFacts, risk: Risk) -> Decision | None:
        """Return the denial of a call that never runs."""
        if risk.level != "forbidden":
            return None
        return Decision("deny", f"forbidden: {risk.reason or 'it never runs'}", risk, source=BUILT_IN)

    def excluded(self, call: CallFacts, risk: Risk) -> Decision | None:
        """Return the denial of a call that the mode of the agent excludes."""
        mode = self._permissions.mode
        if mode.allows_call(call.tool, risk):
            return None
        return Decision("deny", f"not available in {mode.name} mode", risk, source=f"mode {mode.name}")

    def _denied(self, case: _Case) -> Decision | None:
        rule = self._first("deny", case)
        return Decision("deny", f"the rule {rule} denies it", case.risk, (rule,), str(rule.source)) if rule else None

    def _asked(self, case: _Case) -> Decision | None:
        if rule := self._first("ask", case):
            return Decision("ask", f"the rule {rule} requires approval", case.risk, (rule,), str(rule.source))
        if isinstance(verdict := case.call.verdict, AskUser):
            return Decision("ask", verdict.reason or "a hook requires approval", case.risk, source="hook")
        return None

    def _off(self, risk: Risk) -> Decision | None:
        is_off = self._permissions.approval == "off"
        return Decision("allow", "approval is off", risk, source="mode off") if is_off else None

    def _fixed(self, risk: Risk) -> Decision | None:
        if risk.level == "dangerous":
            return Decision("ask", risk.reason or _REASONS["dangerous"], risk, source=BUILT_IN)
        return None

    def _allowed(self, case: _Case) -> Decision | None:
        call, risk = case.call, case.risk
        if rules := self._covering(case):
            named = ", ".join(map(str, rules))
            why = f"the rule{'s' * (len(rules) > 1)} {named} allow{'s' * (len(rules) == 1)} it"
            return Decision("allow", why, risk, rules, str(rules[0].source))
        if isinstance(call.verdict, AllowCall) and not risk.concern:
            return Decision("allow", call.verdict.reason or "a hook allows it", risk, source="hook")
        return None

    def _by_mode(self, case: _Case) -> Decision:
        mode, risk = self._permissions.approval, case.risk
        is_allowed = risk.level == "none" or risk.level in _ALLOWED_LEVELS.get(mode, ())
        if is_allowed and not (risk.concern or risk.is_remote):
            source = BUILT_IN if risk.level == "none" else f"mode {mode}"
            return Decision("allow", _REASONS[risk.level], risk, source=source)
        why = risk.concern or risk.reason or _default_reason(risk, mode)
        if rule := self._excluding(case):
            why = f"{why}; the rule {rule} does not cover that"
        decision = Decision("ask", why, risk, source=f"mode {mode}")
        return decision if self._store.managed_only else _with_offers(decision, case)

    def _first(self, effect: Literal["ask", "deny"], case: _Case) -> Rule | None:
        rules = self._store.of(effect)
        if not rules:
            return None
        # Imported late, as below: most sessions have no rules.
        from harness.approval.matching import affects

        return next((rule for rule in rules if affects(rule, case.target)), None)

    def _covering(self, case: _Case) -> tuple[Rule, ...]:
        rules = self._store.of("allow")
        if not rules:
            return ()
        from harness.approval.matching import Coverage

        allows_edits = self._permissions.approval == "edits"
        return Coverage(case.target, rules, case.facts.check, allows_edits).find()

    def _excluding(self, case: _Case) -> Rule | None:
        rules = self._store.of("allow")
        if not rules or case.risk.concern or not case.risk.commands:
            return None
        from harness.approval.matching import excluding_rule

        return excluding_rule(rules, case.target)


class _Case:
    """A call to decide on. Its paths are resolved once for all rules."""

    def __init__(self, call: CallFacts, risk: Risk) -> None:
        self.call = call
        self.risk = risk

    @cached_property
    def facts(self) -> PathFacts:
        from harness.approval.paths import PathFacts

        return PathFacts(self.call.workspace)

    @cached_property
    def target(self) -> Target:
        from harness.approval.matching import Target

        return Target(self.call.tool.name, self.risk, self.facts.places)


class FunctionPolicy:
    """A function as the permission policy of a program.

    Args:
        function: Returns a decision, or `allow`, `ask` or `deny`.
    """

    def __init__(self, function: PolicyFunction) -> None:
        self._function = function

    def decide(self, call: CallFacts, risk: Risk) -> Decision:
        """Decide on a call; any other value than a decision denies it."""
        found = self._function(call, risk)
        if isinstance(found, Decision):
            return found
        if found in ("allow", "ask", "deny"):
            why = {"allow": "the program allows it", "ask": risk.reason or _REASONS[risk.level]}
            return Decision(found, why.get(found, "the program denies it"), risk, source="policy")
        return Decision("deny", f"the permission policy returned {found!r:.80}, which is no decision", risk)


def policy_of(given: PermissionPolicy | PolicyFunction | None) -> PermissionPolicy | None:
    """Return the policy that a program passes as an object or as a function."""
    if given is None or isinstance(given, PermissionPolicy):
        return given
    return FunctionPolicy(given)


def _checked_by_hook(decision: Decision, call: CallFacts) -> Decision:
    """Return the decision of a program's policy, or the hook's if that is stricter."""
    if decision.kind == "allow" and isinstance(call.verdict, AskUser):
        return Decision("ask", call.verdict.reason or "a hook requires approval", call.risk, source="hook")
    return decision


def _with_offers(decision: Decision, case: _Case) -> Decision:
    from harness.approval.offers import exact_offer_for, job_offer_for, offers_for, server_offer_for

    offers, target = offers_for(case.target, case.facts.check), case.target
    server = server_offer_for(target) if offers else None
    exact, job = exact_offer_for(target), job_offer_for(target)
    return replace(decision, offers=offers, exact_offer=exact, server_offer=server, job_offer=job)


def _default_reason(risk: Risk, mode: ApprovalMode) -> str:
    if risk.is_remote and risk.level == "read":
        return "it reads from the network"
    return "approval is on for every tool" if (risk.level, mode) == ("read", "on") else _REASONS[risk.level]


if TYPE_CHECKING:
    _: tuple[type[PermissionPolicy], ...] = (RulePolicy, FunctionPolicy)
