from __future__ import annotations

from typing import get_args

import pytest

from harness.approval.grants import Grants
from harness.approval.modes import ApprovalMode
from harness.approval.policy import Allow, Ask, Deny, decide
from harness.risk import Risk, Rule

READ, EDIT = Risk("read"), Risk("edit")
PYTEST = Risk("execute", scope="pytest")
PIPELINE = Risk("execute")
DANGEROUS = Risk("dangerous", "it deletes files", scope="rm")
FORBIDDEN = Risk("forbidden", "it would delete the whole disk")


@pytest.mark.parametrize(
    ("mode", "risk", "asked"),
    [
        ("on", READ, True),
        ("on", EDIT, True),
        ("on", PYTEST, True),
        ("on", DANGEROUS, True),
        ("smart", READ, False),
        ("smart", EDIT, True),
        ("smart", PYTEST, True),
        ("smart", DANGEROUS, True),
        ("off", READ, False),
        ("off", EDIT, False),
        ("off", PYTEST, False),
        ("off", DANGEROUS, False),
    ],
)
def test_mode_decides_which_calls_need_approval(mode: ApprovalMode, risk: Risk, asked: bool) -> None:
    decision = decide(mode, risk, Grants(), "tool")

    assert isinstance(decision, Ask if asked else Allow)


@pytest.mark.parametrize("mode", get_args(ApprovalMode))
def test_safe_call_never_needs_approval(mode: ApprovalMode) -> None:
    assert decide(mode, Risk("none"), Grants(), "todo") == Allow()


@pytest.mark.parametrize("mode", get_args(ApprovalMode))
def test_forbidden_call_is_denied_despite_any_grant(mode: ApprovalMode) -> None:
    grants = Grants(rules=[Rule("bash", "rm")])
    grants.trust("bash")

    decision = decide(mode, FORBIDDEN, grants, "bash")

    assert isinstance(decision, Deny)
    assert "it would delete the whole disk" in decision.reason


@pytest.mark.parametrize("mode", ["on", "smart"])
@pytest.mark.parametrize("risk", [READ, EDIT, PYTEST, PIPELINE])
def test_trusted_tool_needs_no_approval(mode: ApprovalMode, risk: Risk) -> None:
    grants = Grants()
    grants.trust("bash")

    assert decide(mode, risk, grants, "bash") == Allow()


@pytest.mark.parametrize("mode", ["on", "smart"])
def test_dangerous_call_needs_approval_despite_any_grant_and_cannot_be_remembered(mode: ApprovalMode) -> None:
    grants = Grants(rules=[Rule("bash", "rm")])
    grants.trust("bash")

    decision = decide(mode, DANGEROUS, grants, "bash")

    assert decision == Ask("it deletes files", rule=None)


def test_request_offers_the_rule_that_always_would_keep() -> None:
    pytest, edit = Rule("bash", "pytest"), Rule("edit_file")
    assert decide("smart", PYTEST, Grants(), "bash") == Ask("it runs a program", pytest, session=(pytest,))
    assert decide("smart", EDIT, Grants(), "edit_file") == Ask("it changes files", edit, session=(edit,))
    assert decide("smart", PIPELINE, Grants(), "run") == Ask("it runs a program", None, session=(Rule("run"),))


def test_approval_state_changes_from_ask_to_trusted_and_back() -> None:
    grants = Grants()
    before = decide("smart", EDIT, grants, "write_file")
    grants.trust("write_file")
    trusted = decide("smart", EDIT, grants, "write_file")
    grants.untrust("write_file")

    after = decide("smart", EDIT, grants, "write_file")

    assert [type(decision) for decision in (before, trusted, after)] == [Ask, Allow, Ask]


ECHO, PUSH, BOTH = Rule("bash", "echo"), Rule("bash", "git push"), Risk("execute", scopes=("echo", "git push"))
SCRIPT = Risk("execute", exact_rule="python -c 'print(1)'")


@pytest.mark.parametrize(
    ("risk", "offered"),
    [
        (Risk("execute", scope="git push", exact_rule="git push origin"), (PUSH,)),
        (BOTH, (ECHO, PUSH)),
        (SCRIPT, (Rule("bash", exact="python -c 'print(1)'"),)),
        (Risk("execute", exact_rule="python <<x\nx"), ()),
        (DANGEROUS, ()),
    ],
)
def test_session_grant_of_a_command_is_its_prefixes_or_its_exact_text(risk: Risk, offered: tuple[Rule, ...]) -> None:
    decision = decide("smart", risk, Grants(), "bash")

    assert isinstance(decision, Ask)
    assert decision.session == offered


@pytest.mark.parametrize(("granted", "allowed"), [((), False), ((ECHO,), False), ((ECHO, PUSH), True)])
def test_compound_command_is_allowed_if_each_of_its_commands_is(granted: tuple[Rule, ...], allowed: bool) -> None:
    grants = Grants(rules=granted[:1])
    for rule in granted[1:]:
        grants.allow_for_session(rule)

    assert isinstance(decide("smart", BOTH, grants, "bash"), Allow) is allowed


def test_session_grants_are_listed_and_revoked_by_their_short_forms_or_their_tool() -> None:
    grants = Grants()
    for rule in (ECHO, PUSH, Rule("bash", exact="make 2>&1"), Rule("edit_file")):
        grants.allow_for_session(rule)
    grants.allow_edits()

    commands = ("bash(echo …)", "bash(git push …)", "bash(make 2>&1)")
    assert grants.session_grants == ("edit_file", "all edits", *commands)
    assert grants.revoke("git push") == ("bash(git push …)",)
    assert grants.revoke("bash(make 2>&1)") == ("bash(make 2>&1)",)
    assert grants.revoke("bash") == ("bash(echo …)",)
    assert grants.revoke("bash") == ()
    assert grants.revoke() == ("edit_file", "all edits")


def test_allowed_edits_cover_every_tool_that_changes_files_and_no_command() -> None:
    grants = Grants()
    grants.allow_edits()

    assert decide("smart", EDIT, grants, "write_file") == Allow()
    assert isinstance(decide("smart", PYTEST, grants, "bash"), Ask)
    assert isinstance(decide("smart", DANGEROUS, grants, "edit_file"), Ask)
