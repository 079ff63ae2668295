from __future__ import annotations

from fakes.talk import call, reply, result, tour
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.context.normalize import NO_RESULT, Normalizer, normalize
from harness.messages import (
    AssistantMessage,
    CustomMessage,
    Image,
    Message,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    user,
)


def shape(messages: tuple[Message, ...]) -> list[str]:
    """Return the history as one word per message."""
    words: list[str] = []
    for message in messages:
        match message:
            case UserMessage():
                words.append(f"user {message.text}")
            case AssistantMessage():
                words.append(f"reply {message.text}{','.join(each.id for each in message.tool_calls)}")
            case ToolResult():
                words.append(f"{message.call_id}: {message.text}")
            case _:
                words.append("custom")
    return words


def test_valid_history_is_unchanged():
    history = tour()

    healed = normalize(history)

    assert all(one is other for one, other in zip(healed, history, strict=True))


def test_call_without_a_result_gets_one():
    history = [user("go"), reply(call("a"), call("b")), result("b", "fine"), user("next")]

    healed = normalize(history)

    assert shape(healed) == ["user go", "reply a,b", f"a: {NO_RESULT}", "b: fine", "user next"]
    assert healed[2].is_error
    assert healed[2].tool_name == "read_file"


def test_call_at_the_end_gets_a_result():
    assert shape(normalize([user("go"), reply(call("a"))])) == ["user go", "reply a", f"a: {NO_RESULT}"]


def test_results_are_moved_to_their_calls_in_call_order():
    history = [user("go"), reply(call("a"), call("b")), user("stop"), result("b", "2"), result("a", "1")]

    assert shape(normalize(history)) == ["user go", "reply a,b", "a: 1", "b: 2", "user stop"]


def test_orphaned_and_duplicate_results_are_removed():
    history = [result("x", "early"), user("go"), reply(call("a")), result("a", "1"), result("a", "2"), result("z")]

    assert shape(normalize(history)) == ["user go", "reply a", "a: 1"]


def test_messages_not_meant_for_a_model_are_removed():
    history = [CustomMessage("note", {}), user("go"), CustomMessage("note", {}), reply("hi")]

    assert shape(normalize(history)) == ["user go", "reply hi"]


def test_empty_messages_are_removed():
    history = [
        user("  \n"),
        UserMessage(()),
        user("go"),
        reply(),
        reply("  "),
        AssistantMessage((Thinking("hm"),), stop_reason="aborted"),
        AssistantMessage((), stop_reason="error", error="overloaded"),
        reply("hi"),
    ]

    assert shape(normalize(history)) == ["user go", "reply hi"]


def test_image_and_thinking_count_as_content():
    history = [UserMessage((Image("image/png", "AAAA"),)), AssistantMessage((Thinking("hm", "sig"),))]

    assert normalize(history) == tuple(history)


def test_aborted_reply_keeps_its_text_and_calls():
    cut = AssistantMessage((Text("let me"), ToolCall("a", "bash", {}, '{"com')), stop_reason="aborted")

    assert shape(normalize([user("go"), cut])) == ["user go", "reply let mea", f"a: {NO_RESULT}"]


def test_invalid_json_arguments_keep_their_error_result():
    broken = ToolCall("a", "bash", {}, '{"com')
    refused = replace(result("a", "these arguments are no JSON", "bash"), is_error=True)
    history = [user("go"), reply(broken), refused]

    assert normalize(history) == tuple(history)


def test_call_ids_become_unique_and_results_follow_them():
    history = [
        user("go"),
        reply(call("a"), call("a")),
        result("a", "1"),
        result("a", "2"),
        reply(call("a")),
        result("a", "3"),
        reply(call("")),
        result("", "4"),
    ]

    healed = normalize(history)

    assert shape(healed)[1:] == [
        "reply a,a_2", "a: 1", "a_2: 2", "reply a_3", "a_3: 3", "reply call_2", "call_2: 4",
    ]  # fmt: skip


def test_new_call_id_does_not_collide_with_a_later_one():
    history = [reply(call("a"), call("a")), result("a"), result("a"), reply(call("a_2")), result("a_2")]

    healed = normalize(history)

    ids = [each.id for message in healed if isinstance(message, AssistantMessage) for each in message.tool_calls]
    assert ids == ["a", "a_3", "a_2"]


IDS = st.sampled_from(["a", "b", "a_2", "call", ""])
STOPS: st.SearchStrategy[StopReason] = st.sampled_from(["stop", "tool_use", "aborted", "error", "length"])
BLOCKS = st.one_of(
    st.builds(Text, st.sampled_from(["", " ", "text"])),
    st.builds(Thinking, st.just("hm")),
    st.builds(ToolCall, IDS, st.just("bash"), st.just({}), st.sampled_from(["", "{"])),
)
MESSAGES = st.one_of(
    st.builds(UserMessage, st.lists(st.builds(Text, st.sampled_from(["", "hi"])), max_size=2).map(tuple)),
    st.builds(AssistantMessage, st.lists(BLOCKS, max_size=4).map(tuple), stop_reason=STOPS),
    st.builds(ToolResult, IDS, st.just("bash"), st.just((Text("out"),))),
    st.builds(CustomMessage, st.just("note"), st.just({})),
)


@given(st.lists(MESSAGES, max_size=10))
def test_any_history_ends_with_one_result_after_each_call(history: list[Message]):
    healed = normalize(history)

    due: list[str] = []
    seen: set[str] = set()
    for message in healed:
        assert not isinstance(message, CustomMessage)
        if isinstance(message, ToolResult):
            assert message.call_id == due.pop(0)
            continue
        assert due == []
        if isinstance(message, AssistantMessage):
            due = [each.id for each in message.tool_calls]
            assert len({*due} | seen) == len(due) + len(seen)
            seen.update(due)
    assert due == []


@given(st.lists(MESSAGES, max_size=10))
def test_repairing_twice_changes_nothing_more(history: list[Message]):
    healed = normalize(history)

    assert normalize(healed) == healed
    assert normalize(history) == healed


def test_incremental_repair_equals_a_full_repair() -> None:
    normalizer = Normalizer()
    call = AssistantMessage((ToolCall("c", "x", {}),))
    answered = (user("a"), call, ToolResult("c", "x", (Text("y"),)))
    unanswered = (user("other"), call, user("b"), user("c"))
    twice = (*answered, AssistantMessage((ToolCall("c", "x", {}),)))

    for messages in ((user("a"),), answered, (*answered, user("b")), unanswered, answered, twice, twice[:1], ()):
        assert normalizer.normalize(messages) == normalize(messages)
