from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.agent.options import AgentOptions
from harness.agent.retry import RetryPolicy
from harness.agent.run_state import AgentResult
from harness.errors import ConfigError, ModelThrottled
from harness.messages import AssistantMessage, Message, ModelSpec, StopReason, Text, Usage, user
from harness.parallel.selection import (
    Elaborate,
    LlmJudge,
    Outcome,
    PickFirst,
    Strategy,
    TokenEfficient,
    Transparent,
    fitted,
    named_number,
)
from harness.ports.provider import Model, ModelInfo, Price, StaticModelInfo
from harness.truncation import MIN_CHARS, cut_middle, fair_share, first_and_last_paragraph, last_lines, shorten
from providers.demo import Break, Reply, Say, scripted
from providers.demo.provider import DemoProvider

PIECES = st.tuples(st.sampled_from(["word ", "line\n", "paragraph\n\n", "x"]), st.integers(0, 200))
TEXTS = st.lists(PIECES.map(lambda piece: piece[0] * piece[1]), max_size=5).map("".join)
ASKED = user("which?")
ROOMS = st.integers(-50, 4_000)


def outcome(
    index: int, text: str, *, tokens: int = 0, stop: StopReason = "stop", before: Sequence[Message] = ()
) -> Outcome:
    answer = AssistantMessage((Text(text),), stop_reason=stop)
    messages = (*before, ASKED, answer)
    result = AgentResult(messages[len(before) :], text, stop, Usage(input=tokens))
    return Outcome(index, f"s.m.{index}", ModelSpec("demo", "m"), result, messages, len(before), Usage(input=tokens))


def read_by(model: Model) -> str:
    assert isinstance(model.provider, DemoProvider)
    return "".join(message.text for message in model.provider.requests[0].messages)


@pytest.mark.parametrize(
    ("strategy", "index"), [(PickFirst(), 1), (TokenEfficient(), 2), (Elaborate(), 3)], ids=["first", "few", "many"]
)
async def test_strategy_never_selects_a_failed_run(strategy: Strategy, index: int):
    outcomes = [
        outcome(0, "failed", tokens=1, stop="error"),
        outcome(1, "middling", tokens=20),
        outcome(2, "thrifty", tokens=10),
        outcome(3, "lavish", tokens=30),
        outcome(4, "stopped", tokens=99, stop="aborted"),
    ]

    choice = await strategy.choose([ASKED], outcomes)

    assert (choice.index, choice.usage) == (index, Usage())


async def test_first_of_equals_is_selected():
    outcomes = [outcome(0, "a", tokens=5), outcome(1, "b", tokens=5)]

    chosen = [(await strategy.choose((), outcomes)).index for strategy in (TokenEfficient(), Elaborate())]

    assert chosen == [0, 0]


async def test_transparent_selects_the_only_run_and_rejects_more():
    alone, other = outcome(0, "a"), outcome(1, "b")

    assert (await Transparent().choose((), [alone])).index == 0
    for outcomes in ([alone, other], []):
        with pytest.raises(ConfigError, match="accepts exactly one"):
            await Transparent().choose((), outcomes)


async def test_judge_reads_the_conversation_the_request_and_numbered_answers():
    judge = scripted("2. It is right.")
    before: list[Message] = [user("What is two and two?"), AssistantMessage((Text("Four."),))]
    outcomes = [outcome(0, "alpha", before=before), outcome(1, "beta", before=before)]

    choice = await LlmJudge(judge).choose([ASKED], outcomes)

    assert read_by(judge) == (
        "<conversation>\nUser: What is two and two?\n\nAssistant: Four.\n</conversation>\n\n"
        "<request>\nUser: which?\n</request>\n\n"
        '<answer number="1">\nAssistant: alpha\n</answer>\n\n'
        '<answer number="2">\nAssistant: beta\n</answer>\n\n'
        "Which answer is best? A number from 1 to 2, then why."
    )
    assert (choice.index, choice.reason, choice.warnings) == (1, "2. It is right.", ())


async def test_judge_finds_the_request_of_runs_without_a_prompt():
    judge = scripted("1")
    answer = AssistantMessage((Text("A"),))
    before = (user("old"), AssistantMessage((Text("known"),)), user("open question"))
    alone = Outcome(
        0, "s.m.1", ModelSpec("demo", "m"), AgentResult((answer,), "A", "stop", Usage()), (*before, answer), 3
    )

    await LlmJudge(judge).choose((), [alone])

    assert "<request>\nUser: open question\n</request>" in read_by(judge)
    assert "User: old\n\nAssistant: known\n</conversation>" in read_by(judge)


async def test_judge_never_sees_failed_runs():
    judge = scripted("2")
    outcomes = [outcome(0, "BROKEN", stop="error"), outcome(1, "alpha"), outcome(2, "beta")]

    choice = await LlmJudge(judge).choose([ASKED], outcomes)

    assert "BROKEN" not in read_by(judge)
    assert choice.index == 2


@pytest.mark.parametrize(("said", "index"), [("The 7th wonder: 2", 1), ("neither", 0), ("0 or 3", 0), ("", 0)])
async def test_first_number_in_range_is_the_choice_else_the_first_answer(said: str, index: int):
    once = AgentOptions(retry=RetryPolicy(max_empty=0))
    outcomes = [outcome(0, "a"), outcome(1, "b")]

    choice = await LlmJudge(scripted(said), options=once).choose([ASKED], outcomes)

    assert choice.index == index
    assert bool(choice.warnings) == (named_number(said, 2) is None)


async def test_failing_judge_falls_back_to_the_first_successful_run():
    once = AgentOptions(retry=RetryPolicy(max_retries=0))
    broken = scripted(Reply((Break(ModelThrottled("too many")),)))
    outcomes = [outcome(0, "x", stop="error"), outcome(1, "a"), outcome(2, "b")]

    choice = await LlmJudge(broken, options=once).choose([ASKED], outcomes)

    assert (choice.index, choice.reason) == (1, "the judge failed")
    assert choice.warnings == ("The judge failed, so the first answer is used: too many",)


async def test_judge_usage_is_priced():
    reported = scripted(Reply((Say("1"),), usage=Usage(input=2_000_000, output=1_000_000)))
    judge = Model(reported.provider, reported.spec, StaticModelInfo(ModelInfo(price=Price(1.0, 3.0))))
    outcomes = [outcome(0, "a"), outcome(1, "b")]

    choice = await LlmJudge(judge).choose([ASKED], outcomes)

    assert choice.usage.cost is not None
    assert choice.usage.cost.total == 5.0


async def test_long_conversation_is_truncated_before_the_answers():
    judge = scripted("1")
    before: list[Message] = [user("\n".join(f"line {number}" for number in range(2_000)))]
    answers = ["alpha " * 100, "beta " * 100]
    outcomes = [outcome(index, text, before=before) for index, text in enumerate(answers)]

    choice = await LlmJudge(judge, context_tokens=1_500).choose([ASKED], outcomes)

    asked = read_by(judge)
    assert all(answer in asked for answer in answers)
    assert "line 1999" in asked
    assert "line 10\n" not in asked
    assert len(asked) <= 1_500 * 4 * 0.8
    assert choice.warnings == ()


async def test_long_answers_are_truncated_when_necessary():
    judge = scripted("1")
    before: list[Message] = [user("context " * 5_000)]
    outcomes = [outcome(0, "alpha " * 5_000, before=before), outcome(1, "beta", before=before)]

    choice = await LlmJudge(judge, context_tokens=1_500).choose([ASKED], outcomes)

    asked = read_by(judge)
    assert "Assistant: beta\n" in asked
    assert len(asked) <= 1_500 * 4 * 0.8
    assert choice.warnings == ()


async def test_overflow_after_truncation_is_reported():
    judge = scripted("2")
    outcomes = [outcome(0, "alpha " * 500), outcome(1, "beta " * 500)]

    choice = await LlmJudge(judge, context_tokens=100).choose([ASKED], outcomes)

    assert choice.index == 1
    assert choice.warnings == ("The judge's input is too long for its context window, even shortened.",)


@given(TEXTS, ROOMS)
def test_truncated_text_is_never_longer_and_fits_or_is_minimal(text: str, room: int):
    short = shorten(text, room)

    assert len(short) <= len(text)
    assert len(short) <= max(room, MIN_CHARS)


@given(TEXTS, ROOMS, ROOMS)
def test_less_space_never_gives_a_longer_text(text: str, one: int, other: int):
    less, more = sorted((one, other))

    assert len(shorten(text, less)) <= len(shorten(text, more))


@given(TEXTS, ROOMS)
def test_each_truncation_step_is_at_most_as_long_as_the_previous(text: str, room: int):
    lines = last_lines(text)
    ends = first_and_last_paragraph(lines)

    assert len(text) >= len(lines) >= len(ends) >= len(cut_middle(ends, max(0, room), lambda gone: f"[{gone} missing]"))


@given(st.lists(TEXTS, min_size=1, max_size=4), TEXTS, ROOMS)
def test_judge_prompt_fits_or_has_minimal_texts(outputs: list[str], context: str, room: int):
    _, *answers = short = fitted(context, outputs, room)

    length = sum(map(len, short))
    assert length <= len(context) + sum(map(len, outputs))
    assert [len(each) <= len(was) for each, was in zip(answers, outputs, strict=True)] == [True] * len(outputs)
    assert length <= room or all(len(each) <= MIN_CHARS or len(each) <= room for each in answers)
    assert length <= max(room, 0) + MIN_CHARS * (len(outputs) + 1)


@given(st.lists(TEXTS, min_size=1, max_size=4), TEXTS, ROOMS)
def test_answers_stay_complete_while_the_conversation_can_shrink(outputs: list[str], context: str, room: int):
    short = fitted(context, outputs, room)

    if sum(map(len, outputs)) + min(len(context), MIN_CHARS) <= room:
        assert short[1:] == outputs
        assert sum(map(len, short)) <= room


@given(st.lists(st.integers(0, 500), max_size=6), st.integers(0, 2_000))
def test_shares_fill_the_available_space_exactly(lengths: list[int], room: int):
    share = fair_share(lengths, room)

    used = sum(min(length, share) for length in lengths)
    assert used <= room
    assert used == sum(lengths) or used > room - len(lengths)


def test_truncation_keeps_the_start_and_the_end():
    lines = "\n".join(f"line {number}" for number in range(100))
    paragraphs = "first " * 10 + "\n\n" + "middle " * 100 + "\n\nnext\n\nlast"

    assert last_lines(lines).splitlines()[:2] == ["[… 20 lines before]", "line 20"]
    assert first_and_last_paragraph(paragraphs) == "first " * 10 + "\n\n[… 2 paragraphs]\n\nlast"
    assert shorten("a" * 500 + "z" * 500, 239) == "a" * 103 + "\n[… cut from 1,000 characters …]\n" + "z" * 103
