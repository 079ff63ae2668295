from __future__ import annotations

import pytest
from fakes.talk import call, reply, result
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.context.normalize import normalize
from harness.context.policy import ContextPolicy
from harness.context.quoted_prompts import PromptFact
from harness.context.summary_facts import SummaryFacts
from harness.context.summary_text import Summary, parse_summary, summary_text
from harness.context.tokens import estimate_message
from harness.context.trimming import MIN_BUDGET, MIN_SHARE, NO_IMAGE, FittedContext, fit
from harness.messages import (
    AssistantMessage,
    CustomMessage,
    Image,
    Message,
    Text,
    ToolResult,
    UserContent,
    UserMessage,
    synthetic,
    user,
)
from harness.truncation import limit_lines

PICTURE = Image("image/png", "aGk=")

# Texts by length and alphabet, not character by character: only their length matters.
a_text = st.builds(
    lambda unit, times: unit * times, st.sampled_from(["word ", "line\n", "中", "👩‍👩‍👧", "é\r\n"]), st.integers(0, 400)
)
a_block: st.SearchStrategy[UserContent] = a_text.map(Text) | a_text.map(Text) | st.just(PICTURE)
blocks = st.lists(a_block, max_size=2).map(tuple)
a_round = st.tuples(a_text, st.lists(blocks, max_size=3))
an_act = st.one_of(
    st.builds(UserMessage, blocks, st.booleans()), a_round, a_round, st.just(CustomMessage("note", {"size": 3}))
)
budgets = st.integers(-10, 3_000)
windows = st.builds(
    ContextPolicy,
    keep_first=st.integers(0, 4),
    keep_recent=st.integers(0, 6),
    tool_output_lines=st.sampled_from([0, 1, 2, 5, 50]),
)


def played(acts: list[object]) -> list[Message]:
    """Return a history in which every call is answered."""
    messages: list[Message] = []
    for at, act in enumerate(acts):
        if not isinstance(act, tuple):
            messages.append(replace(act, id=f"said {at}"))
            continue
        text, outputs = act
        ids = [f"{at}.{number}" for number in range(len(outputs))]
        messages.append(replace(reply(text, *map(call, ids)), id=f"reply {at}"))
        messages += [ToolResult(each, "look", content) for each, content in zip(ids, outputs, strict=True)]
    return messages


conversations = st.lists(an_act, max_size=14).map(played)


def own(fitted: FittedContext) -> list[Message]:
    """Return the shown messages without the note about the omitted ones."""
    return [each for each in fitted.messages if not is_note(each)]


def is_note(message: Message) -> bool:
    return isinstance(message, UserMessage) and message.text.startswith("[Context compacted: ")


def weigh(messages: list[Message]) -> int:
    return sum(map(estimate_message, messages))


@given(conversations, budgets, windows)
@settings(max_examples=400)
def test_calls_and_results_stay_together_and_in_order(messages, budget, window):
    fitted = fit(messages, budget, window)

    shown = own(fitted)
    ids = [each.id for each in messages]
    places = [ids.index(each.id) for each in shown]
    asked = {each.id for message in shown if isinstance(message, AssistantMessage) for each in message.tool_calls}
    answered = {each.call_id for each in shown if isinstance(each, ToolResult)}
    assert places == sorted(set(places))
    assert asked == answered
    assert fitted.dropped == len(messages) - len(shown)
    assert len(fitted.messages) - len(shown) == (1 if fitted.dropped else 0)


@given(conversations, budgets, windows)
@settings(max_examples=400)
def test_first_and_newest_prompt_and_newest_messages_are_kept(messages, budget, window):
    shown = [each.id for each in own(fit(messages, budget, window))]

    prompts = [each.id for each in messages if isinstance(each, UserMessage) and not each.synthetic]
    assert shown[-1:] == [each.id for each in messages[-1:]]
    assert not prompts or prompts[-1] in shown
    if window.keep_first:
        assert shown[:1] == [each.id for each in messages[:1]]


@given(conversations, budgets, windows)
@settings(max_examples=400)
def test_reported_fit_is_correct_and_fits_whenever_possible(messages, budget, window):
    fitted = fit(messages, budget, window)

    assert fitted.tokens == weigh(list(fitted.messages))
    assert fitted.fits == (fitted.tokens <= max(budget, 0))
    if not fitted.fits and budget >= MIN_BUDGET:
        # Messages that cannot be cut, and the remainder of each text that was.
        uncut = [each for each in fitted.messages if isinstance(each, AssistantMessage)]
        stubs = sum(len(each.content) for each in own(fitted) if not isinstance(each, AssistantMessage | CustomMessage))
        assert weigh(uncut) + (MIN_SHARE + 1) * stubs + 20 > budget


@given(conversations, budgets, windows)
def test_shown_context_never_grows_and_is_deterministic(messages, budget, window):
    before = list(messages)

    once, again = fit(messages, budget, window), fit(messages, budget, window)

    assert messages == before
    assert once == again
    assert weigh(own(once)) <= weigh(messages)


@given(conversations, windows)
def test_fitting_history_is_unchanged(messages, window):
    fitted = fit(messages, weigh(messages), window)

    assert fitted == FittedContext(tuple(messages), weigh(messages))
    assert all(shown is given for shown, given in zip(fitted.messages, messages, strict=True))


@given(conversations, st.integers(MIN_BUDGET, 3_000), windows)
def test_replies_are_shown_unchanged(messages, budget, window):
    said = {each.id: each for each in messages if isinstance(each, AssistantMessage)}

    shown = [each for each in own(fit(messages, budget, window)) if isinstance(each, AssistantMessage)]

    assert all(each is said[each.id] for each in shown)


@given(conversations, budgets, windows)
def test_shown_context_needs_no_repair_except_for_empty_messages(messages, budget, window):
    shown = fit(messages, budget, window).messages

    healed = normalize(shown)

    assert [each for each in healed if isinstance(each, ToolResult)] == [
        each for each in shown if isinstance(each, ToolResult)
    ]


@given(conversations, windows)
@example(played([]), ContextPolicy())
def test_zero_budget_is_handled(messages, window):
    fitted = fit(messages, 0, window)

    assert fitted.fits == (weigh(messages) == 0)
    assert not messages or own(fitted)


def rounds(count: int, text: str = "x" * 400) -> list[Message]:
    return [
        message
        for at in range(count)
        for message in (replace(reply(call(f"c{at}", path=f"{at}")), id=f"r{at}"), result(f"c{at}", text))
    ]


def test_old_output_is_truncated_before_messages_are_dropped():
    long = "\n".join(f"line {number}" for number in range(200))
    messages = [user("go"), *rounds(3, long), *rounds(1, long)]

    fitted = fit(messages, 1_200, ContextPolicy(keep_recent=2, tool_output_lines=4))

    assert fitted.dropped == 0
    assert fitted.fits
    assert fitted.messages[2].text == "line 0\nline 1\n[... 196 lines truncated ...]\nline 198\nline 199"
    assert fitted.messages[-1].text == long


def test_nothing_is_dropped_if_truncated_output_just_fits():
    messages = [user("go"), *rounds(6, "one line of many\n" * 200)]
    window = ContextPolicy(keep_recent=2, tool_output_lines=10)
    roomy = fit(messages, weigh(messages) - 1, window)

    exact = fit(messages, roomy.tokens, window)

    assert exact == roomy
    assert exact.dropped == 0


def test_dropped_messages_are_reported_at_their_position():
    messages = [user("go"), *rounds(20)]

    fitted = fit(messages, 1_000, ContextPolicy(keep_first=2))

    assert [each.id for each in fitted.messages[:2]] == [messages[0].id, "r0"]
    note = fitted.messages[3]
    assert is_note(note)
    assert note.synthetic
    assert note.text == f"[Context compacted: {fitted.dropped} messages removed to fit context window]"
    assert fitted.messages[-1] is messages[-1]
    assert 500 <= fitted.tokens <= 1_000


def test_current_task_is_kept_however_old_it_is():
    messages = [user("the first task"), *rounds(5), user("the task of now"), *rounds(30)]

    fitted = fit(messages, 1_000)

    said = [each.text for each in own(fitted) if isinstance(each, UserMessage)]
    assert said == ["the first task", "the task of now"]
    assert fitted.fits


def test_summary_and_kept_messages_stay_and_kept_reminders_are_not_truncated():
    summary = synthetic(summary_text(Summary(prose="The parser is recursive.")))
    reminder, pinned = synthetic("[Plan mode is on]" * 20), user("never use eval")
    messages = [user("go"), summary, reminder, pinned, *rounds(20), user("y" * 9_000)]

    shown = own(fit(messages, 600, keep={reminder.id, pinned.id}))

    assert [each.id for each in shown[:4]] == [each.id for each in messages[:4]]
    assert shown[2:4] == [reminder, pinned]


@pytest.mark.parametrize("budget", [1_000, 500, 300])
def test_summary_loses_quoted_prompts_first_and_never_its_prose(budget: int):
    prompts = tuple(PromptFact(f"wish {number} " * 60) for number in range(8))
    facts = SummaryFacts(prompts=prompts, edited=("src/parse.py",))
    summary = synthetic(summary_text(Summary(facts, "The parser is recursive. " * 30)))
    newest = user("y" * 800)

    fitted = fit([user("go"), summary, newest], budget)

    kept = parse_summary(fitted.messages[1].text)
    assert (kept.prose, kept.facts.edited) == (f"{'The parser is recursive. ' * 30}", ("src/parse.py",))
    assert kept.facts.omitted_prompts + len(kept.facts.prompts) == 8
    assert kept.facts.omitted_prompts > 0
    assert (fitted.messages[2] == newest) == (budget == 1_000)
    assert fitted.fits == (budget > 300)
    assert fitted.trim.apply([user("go"), summary, newest])[1] == fitted.messages[1]


def test_summary_loses_quoted_prompts_before_tool_output_becomes_useless():
    prompts = tuple(PromptFact(f"wish {number} " * 60) for number in range(8))
    summary = synthetic(summary_text(Summary(SummaryFacts(prompts=prompts), "The parser is recursive.")))
    messages = [user("go"), summary, user("read it"), reply(call("a")), result("a", "x" * 9_000)]

    fitted = fit(messages, 1_200)

    assert fitted.fits
    assert fitted.tokens > 1_000
    assert 1_000 < fitted.messages[-1].text.count("x") < 2_000
    assert fitted.trim.apply(messages) == list(fitted.messages)


def test_text_is_not_truncated_below_a_useful_length():
    messages = [
        user("go"),
        reply(*(call(f"c{at}") for at in range(20))),
        *(result(f"c{at}", "x" * 4_000) for at in range(20)),
    ]

    fitted = fit(messages, 400)

    assert not fitted.fits
    assert all(each.text.count("x") > 100 for each in fitted.messages[2:])


@given(conversations, st.integers(MIN_BUDGET, 3_000), windows, st.integers(0, 5))
def test_trim_has_the_same_result_while_the_conversation_grows(messages, budget, window, more):
    fitted = fit(messages, budget, window)

    shown = fitted.trim.apply([*messages, *rounds(more)])

    assert tuple(shown[: len(fitted.messages)]) == fitted.messages


def test_one_enormous_output_leaves_space_for_earlier_messages():
    messages = [user("go"), *rounds(4), *rounds(1, "y" * 1_000_000)]

    fitted = fit(messages, 2_000, ContextPolicy(keep_recent=1))

    assert fitted.fits
    assert fitted.dropped == 0
    assert "characters truncated" in fitted.messages[-1].text
    assert fitted.messages[-1].text.startswith("yyy")
    assert fitted.messages[-1].text.endswith("yyy")


def test_one_enormous_prompt_is_truncated_in_the_middle():
    prompt = user("start " + "中" * 100_000 + " end")

    fitted = fit([prompt], 1_000)

    assert fitted.fits
    assert fitted.tokens > 900
    (shown,) = fitted.messages
    assert shown.id == prompt.id
    assert shown.text.startswith("start 中")
    assert shown.text.endswith("中 end")


def test_prompt_is_kept_while_output_can_be_truncated():
    messages = [user("p" * 2_000), reply(call("a"), call("b")), result("a", "z" * 4_000), result("b", "ok")]

    fitted = fit(messages, 1_000)

    assert fitted.fits
    assert fitted.messages[0] is messages[0]
    assert fitted.messages[-1] is messages[-1]
    assert "characters truncated" in fitted.messages[2].text


def test_too_long_reply_is_dropped_with_its_results_only():
    messages = [user("go"), reply(call("a", content="w" * 40_000)), result("a"), user("and now?")]

    fitted = fit(messages, 1_000)

    assert fitted.fits
    assert [each.text for each in own(fitted)] == ["go", "and now?"]


def test_too_long_first_message_is_dropped_too():
    messages = [user("go"), reply(call("a", content="w" * 40_000)), result("a"), *rounds(3)]

    fitted = fit(messages, 1_000, ContextPolicy(keep_first=3))

    assert fitted.fits
    assert [each.id for each in own(fitted)] == [each.id for each in (messages[0], *messages[3:])]


@pytest.mark.parametrize("between", [CustomMessage("note", {}), UserMessage((Text("wait"),), synthetic=True)])
@pytest.mark.parametrize("budget", range(400, 1_200, 50))
def test_messages_between_a_call_and_its_result_do_not_separate_them(between, budget):
    odd = [replace(reply("r" * 400, call("odd")), id="odd"), between, result("odd", "x" * 400)]

    shown = own(fit([user("go"), *rounds(3), *odd, *rounds(3)], budget))

    sent = [each for each in odd if not isinstance(each, CustomMessage)]
    assert [each for each in shown if each in sent] in ([], sent)


def test_lines_are_truncated_only_where_that_makes_them_shorter():
    text = "a\nb\nc\nd"

    assert limit_lines(text, 2) is text


def test_dropped_image_is_reported():
    messages = [user("look"), reply(call("a")), ToolResult("a", "look", (Text("a picture:"), PICTURE))]

    fitted = fit(messages, 1_000)

    assert fitted.fits
    assert fitted.messages[-1].content == (Text("a picture:"), NO_IMAGE)


def test_too_long_reply_is_sent_unchanged_and_reported():
    written = reply(call("a", content="w" * 40_000))
    messages = [user("write it"), written, result("a")]

    fitted = fit(messages, 1_000)

    assert not fitted.fits
    assert fitted.messages[1] is written


@pytest.mark.parametrize("budget", [0, -5, 1])
def test_nothing_is_truncated_below_a_useful_length(budget):
    messages = [user("please do this " * 40), *rounds(10)]

    fitted = fit(messages, budget)

    assert not fitted.fits
    assert "please do this" in fitted.messages[0].text
    assert fitted.tokens <= MIN_BUDGET


def test_an_empty_conversation_stays_empty():
    assert fit([], 0) == FittedContext((), 0)
    assert fit([], -1) == FittedContext((), 0)
