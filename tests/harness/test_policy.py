from __future__ import annotations

import pytest

from harness.approval.policy import APPROVAL_MODES, Allow, ApprovalMode, Ask, Deny, decide
from harness.approval.rules import Grants, Rule
from harness.tool import Risk

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
def test_mode_says_what_is_asked_about(mode: ApprovalMode, risk: Risk, asked: bool) -> None:
    decision = decide(mode, risk, Grants(), "tool")

    assert isinstance(decision, Ask if asked else Allow)


@pytest.mark.parametrize("mode", APPROVAL_MODES)
def test_harmless_call_is_never_asked_about(mode: ApprovalMode) -> None:
    assert decide(mode, Risk("none"), Grants(), "todo") == Allow()


@pytest.mark.parametrize("mode", APPROVAL_MODES)
def test_forbidden_call_is_denied_whatever_was_granted(mode: ApprovalMode) -> None:
    grants = Grants(rules=[Rule("bash", "rm")])
    grants.trust("bash")

    decision = decide(mode, FORBIDDEN, grants, "bash")

    assert isinstance(decision, Deny)
    assert "it would delete the whole disk" in decision.reason


@pytest.mark.parametrize("mode", ["on", "smart"])
@pytest.mark.parametrize("risk", [READ, EDIT, PYTEST, PIPELINE])
def test_trusted_tool_is_not_asked_about(mode: ApprovalMode, risk: Risk) -> None:
    grants = Grants()
    grants.trust("bash")

    assert decide(mode, risk, grants, "bash") == Allow()


@pytest.mark.parametrize("mode", ["on", "smart"])
def test_danger_is_asked_about_whatever_was_granted_and_cannot_be_remembered(mode: ApprovalMode) -> None:
    grants = Grants(rules=[Rule("bash", "rm")])
    grants.trust("bash")

    decision = decide(mode, DANGEROUS, grants, "bash")

    assert decision == Ask("it deletes files", rule=None, can_trust=False)


def test_question_offers_the_rule_that_always_would_keep() -> None:
    assert decide("smart", PYTEST, Grants(), "bash") == Ask("it runs a program", Rule("bash", "pytest"))
    assert decide("smart", EDIT, Grants(), "edit_file") == Ask("it changes files", Rule("edit_file"))
    assert decide("smart", PIPELINE, Grants(), "bash") == Ask("it runs a program", None)


def test_approval_goes_from_asked_to_trusted_and_back() -> None:
    grants = Grants()
    before = decide("smart", EDIT, grants, "write_file")
    grants.trust("write_file")
    trusted = decide("smart", EDIT, grants, "write_file")
    grants.untrust("write_file")

    after = decide("smart", EDIT, grants, "write_file")

    assert [type(decision) for decision in (before, trusted, after)] == [Ask, Allow, Ask]
