from __future__ import annotations

import pytest
from msgspec.structs import replace

from harness.context.breakdown import Breakdown, ContextInputs, breakdown
from harness.context.overlay import ContextOverlay, Eviction
from harness.context.policy import ContextPolicy
from harness.context.tokens import estimate_message, estimate_overhead, estimate_text
from harness.context.trimming import Trim
from harness.messages import AssistantMessage, CustomMessage, Message, Text, ToolCall, ToolResult, Usage, user
from harness.ports.provider import ToolSpec

SYSTEM = "You are cinch. " * 100
RULES = "Write tests. " * 20
FRAME = ContextInputs(SYSTEM + RULES, [ToolSpec("bash", "runs it " * 50, {})], RULES, size=10_000, reserve=1_000)


def reply(usage: Usage, call_id: str = "") -> AssistantMessage:
    calls = (ToolCall(call_id, "bash", {"command": "ls"}),) if call_id else ()
    return AssistantMessage((Text("Let me look."), *calls), "m", "p", usage)


def result(call_id: str, length: int) -> ToolResult:
    return ToolResult(call_id, "bash", (Text("x" * length),))


CONVERSATION: list[Message] = [
    user("why is it red?"),
    reply(Usage(input=700, output=30), "a"),
    result("a", 800),
    reply(Usage(input=20, output=40, cache_read=900), "b"),
    result("b", 400),
]


def of_messages(whole: Breakdown) -> list[tuple[int, bool]]:
    return [(piece.tokens, piece.is_counted) for piece in whole.segments if piece.message is not None]


def test_everything_is_estimated_before_the_first_reply():
    question = user("why is it red?")

    whole = breakdown([question], FRAME)

    assert [(piece.section, piece.is_counted) for piece in whole.segments] == [
        ("tools", False),
        ("system", False),
        ("instructions", False),
        ("kept", False),
    ]
    assert whole.tokens_in("instructions") == estimate_text(RULES)
    assert whole.used + whole.free + whole.reserve == whole.size == 10_000


def test_tools_are_split_by_mcp_server():
    names = ("bash", "mcp__github__get_issue", "mcp__docs__search", "mcp__github__list_issues")
    tools = [ToolSpec(name, "does it " * 50, {}) for name in names]

    whole = breakdown([], ContextInputs(tools=tools))

    assert [(each.section, each.server) for each in whole.segments] == [
        ("tools", ""),
        ("tools", "github"),
        ("tools", "docs"),
    ]
    assert whole.used == pytest.approx(estimate_overhead("", tools), abs=5)


def test_difference_between_two_requests_is_counted():
    _, first, output, second, last = of_messages(breakdown(CONVERSATION, FRAME))

    assert (first, output, second) == ((30, True), (920 - 730, True), (40, True))
    assert last == (estimate_message(CONVERSATION[-1]), False)


def test_reports_from_before_a_change_of_the_context_do_not_scale_it():
    changed = replace(FRAME, overlay=ContextOverlay((), (Eviction(frozenset(), CONVERSATION[3].id),)), factor=2.0)

    whole = breakdown(CONVERSATION, changed)

    estimates = [estimate_message(each) for each in CONVERSATION]
    expected = [(2 * estimates[0], False), (30, True), (190, True), (40, True), (2 * estimates[4], False)]
    assert of_messages(whole) == expected
    assert {each.cached for each in whole.segments} == {"not"}


def test_estimates_are_scaled_to_the_counted_total():
    whole = breakdown(CONVERSATION, FRAME)

    assert abs(sum(piece.tokens for piece in whole.segments[:-1]) - 960) <= 2


def test_difference_that_includes_other_changes_is_ignored():
    strange = [*CONVERSATION[:3], reply(Usage(input=9_000, output=40))]

    assert of_messages(breakdown(strange, FRAME))[2] == (estimate_message(CONVERSATION[2]), False)


def test_cached_tokens_are_attributed_from_the_start():
    marks = [piece.cached for piece in breakdown(CONVERSATION, FRAME).segments]

    assert marks == ["all", "all", "all", "all", "all", "partly", "not", "not"]


def test_without_a_cache_nothing_is_cached():
    whole = breakdown(CONVERSATION[:2], FRAME)

    assert {piece.cached for piece in whole.segments} == {"not"}


def test_first_and_latest_messages_and_the_newest_prompt_are_kept():
    messages = [*(user(f"{number}") for number in range(3)), *(reply(Usage()) for _ in range(3))]

    whole = breakdown(messages, ContextInputs(policy=ContextPolicy(keep_first=1, keep_recent=2)))

    zones = [piece.section for piece in whole.segments if piece.message is not None]
    assert zones == ["kept", "older", "kept", "older", "kept", "kept"]


def test_parts_not_in_any_request_are_excluded_from_the_total():
    messages = [user(f"{number} " * 400) for number in range(6)]

    whole = breakdown(
        messages, ContextInputs(size=10_000, policy=ContextPolicy(keep_first=1, keep_recent=1), budget=700)
    )

    assert whole.tokens_in("left out") > 0
    assert whole.used <= 700


def test_application_only_messages_are_not_a_segment():
    assert breakdown([CustomMessage("note", {})], ContextInputs()).segments == ()


def test_unknown_context_window_has_no_free_space():
    assert breakdown(CONVERSATION, ContextInputs()).free == 0


def test_trimmed_messages_are_listed_as_left_out():
    messages = [user("one " * 100), user("two " * 100), user("three " * 100), user("four")]
    trim = Trim(dropped=frozenset({messages[1].id}), token_limits={messages[2].id: 20})

    found = breakdown(messages, ContextInputs(overlay=ContextOverlay(trim=trim)))

    assert [segment.section for segment in found.segments] == ["kept", "left out", "kept", "kept"]
    assert found.segments[2].tokens <= 20


def test_results_that_the_next_request_truncates_count_as_truncated():
    inputs = replace(FRAME, budget=2_000)
    long = [user("why?"), reply(Usage(), "a"), result("a", 40_000), user("and now?")]

    whole = breakdown(long, inputs)

    assert whole.used <= 2_000
    assert whole.tokens_in("left out") == 0
