from __future__ import annotations

from harness.context.breakdown import Breakdown, ContextInputs, breakdown
from harness.context.policy import ContextPolicy
from harness.context.tokens import estimate_message, estimate_text
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


def test_before_the_first_reply_all_is_estimated():
    question = user("why is it red?")

    whole = breakdown([question], FRAME)

    assert [(piece.section, piece.is_counted) for piece in whole.segments] == [
        ("tools", False),
        ("system", False),
        ("instructions", False),
        ("start", False),
    ]
    assert whole.tokens_in("instructions") == estimate_text(RULES)
    assert whole.used + whole.free + whole.reserve == whole.size == 10_000


def test_what_differs_between_two_requests_is_counted():
    _, first, output, second, last = of_messages(breakdown(CONVERSATION, FRAME))

    assert (first, output, second) == ((30, True), (920 - 730, True), (40, True))
    assert last == (estimate_message(CONVERSATION[-1]), False)


def test_estimates_are_stretched_to_what_was_counted():
    whole = breakdown(CONVERSATION, FRAME)

    assert abs(sum(piece.tokens for piece in whole.segments[:-1]) - 960) <= 2


def test_a_difference_that_counts_something_else_too_is_not_believed():
    strange = [*CONVERSATION[:3], reply(Usage(input=9_000, output=40))]

    assert of_messages(breakdown(strange, FRAME))[2] == (estimate_message(CONVERSATION[2]), False)


def test_a_cache_holds_a_beginning():
    marks = [piece.cached for piece in breakdown(CONVERSATION, FRAME).segments]

    assert marks == ["all", "all", "all", "all", "all", "partly", "not", "not"]


def test_without_a_cache_nothing_is_held():
    whole = breakdown(CONVERSATION[:2], FRAME)

    assert {piece.cached for piece in whole.segments} == {"not"}


def test_the_first_and_the_newest_messages_are_told_from_those_between():
    messages = [user(f"{number}") for number in range(6)]

    whole = breakdown(messages, ContextInputs(window=ContextPolicy(keep_first=1, keep_recent=2)))

    zones = [piece.section for piece in whole.segments if piece.message is not None]
    assert zones == ["start", "middle", "middle", "middle", "recent", "recent"]


def test_what_no_request_carries_is_left_out_of_the_sum():
    messages = [user(f"{number} " * 400) for number in range(6)]

    whole = breakdown(
        messages, ContextInputs(size=10_000, window=ContextPolicy(keep_first=1, keep_recent=1), budget=700)
    )

    assert whole.tokens_in("left out") > 0
    assert whole.used <= 700


def test_what_an_application_keeps_is_no_piece():
    assert breakdown([CustomMessage("note", {})], ContextInputs()).segments == ()


def test_a_service_whose_window_nobody_knows_has_no_free_room():
    assert breakdown(CONVERSATION, ContextInputs()).free == 0
