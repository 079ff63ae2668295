from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.context.conversation_text import conversation_parts
from harness.context.quoted_prompts import PromptFact
from harness.context.summary_facts import (
    AnswerFact,
    CommandFact,
    LiveFacts,
    PlanFact,
    SummaryFacts,
    TodoFact,
    facts_of,
)
from harness.context.summary_text import Summary, parse_summary, summary_text
from harness.context.tokens import estimate_text
from harness.messages import (
    AssistantMessage,
    Image,
    JsonObject,
    Message,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    synthetic,
    user,
)
from harness.views import TextView

TAGS = ["</summary>", "<todo>", '<message shortened="yes">', "\\</message>", "<context_summary>", "</plan>", "", "- x"]
TEXT = st.lists(st.sampled_from(TAGS) | st.text(st.characters(exclude_characters="\n"), max_size=20), max_size=4).map(
    "\n".join
)
LINE = st.text(max_size=30).map(lambda text: " ".join(text.split())).filter(bool)
LINES = st.lists(LINE, max_size=3).map(tuple)
FACTS = st.builds(
    SummaryFacts,
    prompts=st.lists(st.builds(PromptFact, TEXT, st.booleans()), max_size=3).map(tuple),
    omitted_prompts=st.integers(0, 9),
    answers=st.lists(st.builds(AnswerFact, LINE, LINE), max_size=2).map(tuple),
    unanswered=LINES,
    denied=LINES,
    todo=st.lists(st.builds(TodoFact, LINE, st.sampled_from(["pending", "in_progress", "completed"]))).map(tuple),
    plan=st.none() | st.builds(PlanFact, TEXT, st.sampled_from(["accepted", "proposed"])),
    edited=LINES,
    read=LINES,
    failed=st.lists(st.builds(CommandFact, LINE, TEXT), max_size=2).map(tuple),
    live=st.builds(LiveFacts, TEXT, LINES),
)


def made(name: str, arguments: JsonObject, text: str = "ok", *, error: bool = False, **fields: object) -> list[Message]:
    call = ToolCall(f"call-{name}-{id(arguments)}", name, arguments)
    return [AssistantMessage((call,)), ToolResult(call.id, name, (Text(text),), is_error=error, **fields)]


@settings(max_examples=200, deadline=None)
@given(FACTS, TEXT)
def test_summary_is_read_back_as_it_was_written(facts: SummaryFacts, prose: str):
    summary = Summary(facts, prose)

    assert parse_summary(summary_text(summary)) == summary


def test_text_in_another_format_is_prose():
    assert parse_summary("Claude's summary.\n<todo>") == Summary(prose="Claude's summary.\n<todo>")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text("ab ", max_size=900).map(str.strip).filter(bool), max_size=30), st.integers(200, 3_000))
def test_prompts_stay_within_their_budget_and_the_newest_is_last(texts: list[str], tokens: int):
    facts = facts_of([user(text) for text in texts], prompts_tokens=tokens)

    assert sum(estimate_text(each.text) for each in facts.prompts) <= tokens + 1
    assert len(facts.prompts) + facts.omitted_prompts == len(texts)
    for prompt, text in zip(reversed(facts.prompts), reversed(texts), strict=False):
        assert prompt.is_shortened or prompt.text == text


def test_newest_prompts_are_word_for_word_and_older_ones_shortened():
    long = "x" * 3_000
    facts = facts_of([user(f"{at} {long} end") for at in range(10)], prompts_tokens=4_000)

    whole = [each for each in facts.prompts if not each.is_shortened]
    assert [each.text[0] for each in whole] == ["7", "8", "9"]
    assert [each.text[0] for each in facts.prompts] == [str(at) for at in range(10)]
    assert facts.prompts[0].text.endswith("xxx end")


def test_prompt_names_images_and_attached_files_without_their_content():
    content = (
        Text("Look at this."),
        Text('<attached path="a b.py" lines="1-2">\nsecret\n</attached>'),
        Image("image/png", ""),
    )

    (prompt,) = facts_of([UserMessage(content), synthetic("<reminder>")]).prompts

    assert prompt.text == "Look at this.\n[attached file: a b.py]\n[image]"


def test_questions_without_an_answer_are_facts_until_they_are_answered():
    port: JsonObject = {"status": "timed_out", "index": None, "text": ""}
    both: JsonObject = {
        "answers": [
            {"question": "Which port?", "status": "free_text", "text": "8421"},
            {"question": "Which host?", "status": "skipped", "text": ""},
        ]
    }
    asked = made("ask_user", {"prompt": "Which port?"}, details=port)

    first = facts_of(asked)
    second = facts_of(made("ask_user", {"questions": []}, details=both), earlier=first)

    assert first.unanswered == ("Which port?",)
    assert second.unanswered == ("Which host?",)
    assert second.answers == (AnswerFact("Which port?", "8421"),)


def test_answers_and_denials_of_the_user_are_facts():
    one: JsonObject = {"status": "selected", "index": 0, "text": "Postgres"}
    two: JsonObject = {
        "answers": [{"question": "Name?", "status": "free_text", "text": "cinch"}, {"status": "skipped"}]
    }
    messages = [
        *made("ask_user", {"prompt": "Which database?"}, details=one),
        *made("ask_user", {"questions": []}, details=two),
        *made(
            "bash", {"command": "git push"}, "The user denied this call: not yet", error=True, details={"denied": True}
        ),
    ]

    facts = facts_of(messages)

    assert facts.answers == (AnswerFact("Which database?", "Postgres"), AnswerFact("Name?", "cinch"))
    assert facts.denied == ("bash(git push) — The user denied this call: not yet",)
    assert facts.failed == ()


def test_todo_list_is_the_latest_one_unless_all_is_done_or_a_later_one_is_visible():
    step: JsonObject = {"content": "one", "status": "pending"}
    open_list = made("todo", {"todos": [step]})
    done = made("todo", {"todos": [{"content": "one", "status": "completed"}]})
    earlier = SummaryFacts(todo=(TodoFact("old", "pending"),))

    assert facts_of(open_list, earlier=earlier).todo == (TodoFact("one", "pending"),)
    assert facts_of([], earlier=earlier).todo == earlier.todo
    assert facts_of(done, earlier=earlier).todo == ()
    assert facts_of(open_list, later=done).todo == ()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"details": {"accepted": True}, "view": TextView("# Edited by the user")},
            PlanFact("# Edited by the user", "accepted"),
        ),
        ({"details": {"accepted": False}, "view": TextView("# Plan")}, PlanFact("# Plan", "proposed")),
    ],
)
def test_plan_is_the_version_that_the_user_saw_last(fields: JsonObject, expected: PlanFact):
    assert facts_of(made("submit_plan", {"plan": "# Plan"}, **fields)).plan == expected


def test_files_are_listed_by_their_last_use_and_edited_ones_once():
    messages = [
        *made("read_file", {"path": "a"}),
        *made("read_file", {"path": "b"}),
        *made("read_file", {"path": "a"}),
        *made("edit_file", {"path": "b"}),
        *made("write_file", {"path": "c"}, error=True),
    ]

    facts = facts_of(messages, earlier=SummaryFacts(edited=("z", "b"), read=("y", "a")))

    assert facts.edited == ("z", "b")
    assert facts.read == ("y", "a")


def test_failed_command_is_a_fact_until_it_passes():
    fail = made("bash", {"command": "make"}, "error: x", details={"exit_code": 2})
    passed = made("bash", {"command": "make"}, "ok", details={"exit_code": 0})
    earlier = SummaryFacts(failed=(CommandFact("make", "exit code 1"), CommandFact("ls q", "exit code 2")))

    assert facts_of(fail, earlier=earlier).failed == (earlier.failed[1], CommandFact("make", "exit code 2\nerror: x"))
    assert facts_of([*fail, *passed]).failed == ()
    assert facts_of(fail, later=passed).failed == ()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9_000), st.integers(0, 9_000)), max_size=12), st.integers(300, 4_000))
def test_parts_of_a_conversation_fit_and_cover_every_turn(sizes: list[tuple[int, int]], tokens: int):
    messages: list[Message] = []
    for at, (arguments, output) in enumerate(sizes):
        messages += [user(f"prompt-{at}."), *made("bash", {"command": "a" * arguments}, "b" * output)]

    parts = conversation_parts(messages, tokens)

    assert all(len(part) <= tokens * 4 for part in parts)
    assert all(f"prompt-{at}." in "".join(parts) for at in range(len(sizes)))
