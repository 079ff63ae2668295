from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

import pytest
from fakes.runs import calls, results_of, texts_of
from fakes.simple_tools import SimpleTool
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter
from typing_extensions import TypedDict

from harness.agent import Agent
from harness.answer_form import form_of
from harness.errors import (
    Aborted,
    AgentError,
    ConfigError,
    InvalidArguments,
    LimitExceeded,
    Rejected,
    RequestRejected,
    StructuredOutputFailed,
)
from harness.events import MessageUpdate
from harness.filters import Pass, Reject
from harness.hooks.points import Hooks, Stop
from harness.limits import Limits
from harness.messages import JsonObject, JsonValue
from harness.modes import PLAN
from harness.structured import ANSWER
from providers.demo import Break, Call, Hang, Reply, Say, scripted

BEGINNING = ["AgentStart", "TurnStart", "MessageStart", "MessageEnd"]
REPLY = ["RequestStart", "MessageStart", "MessageEnd", "UsageUpdate"]
CALLED = ["ToolExecutionStart", "ToolExecutionEnd", "TurnEnd"]
TOLD = ["TurnStart", "MessageStart", "MessageEnd"]
"""A turn that begins with something said: to the model, by the program."""
SCHEMA: JsonObject = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}


class Line(BaseModel):
    name: str
    price: Annotated[float, Field(ge=0)]


class Invoice(BaseModel):
    number: str
    lines: list[Line]


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


@dataclass
class Point:
    x: int
    y: int = 0


class Named(TypedDict):
    name: str


GOOD: JsonObject = {"number": "7", "lines": [{"name": "tea", "price": 2.5}]}
BAD: JsonObject = {"number": "7", "lines": [{"name": "tea", "price": -1}]}
INVOICE = Invoice(number="7", lines=[Line(name="tea", price=2.5)])


def answer(value: JsonObject) -> Reply:
    return Reply((Call(ANSWER, value),))


def broken(written: str = '{"number": "7", "lin') -> Reply:
    return Reply((Call(ANSWER, {}, raw=written),))


def said(value: JsonValue) -> Reply:
    return Reply((Say(json.dumps(value)),))


def whole(seen) -> list[str]:
    """What happened, but for the pieces of what was said."""
    return [name for name in seen.names if name != "MessageUpdate"]


@pytest.fixture
def native_agent(make_agent) -> Callable[..., Agent]:
    def make(*script: Reply | str, **options: object) -> Agent:
        return make_agent(model=replace(scripted(*script), native_schema=True), **options)

    return make


async def test_the_answer_is_a_value_and_ends_the_run(make_agent, record, requests):
    agent = make_agent(answer(GOOD))
    seen = record(agent)

    value = await agent.prompt_structured("Read it", Invoice)

    assert value == INVOICE
    assert whole(seen) == [*BEGINNING, *REPLY, *CALLED, "AgentEnd"]
    assert [tool.name for tool in requests(agent)[0].tools] == [ANSWER]
    assert requests(agent)[0].answer_schema is None


async def test_a_bad_answer_is_told_what_is_wrong_and_tried_again(make_agent, record):
    agent = make_agent(answer(BAD), answer(GOOD))
    seen = record(agent)

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert whole(seen) == [*BEGINNING, *REPLY, *CALLED, "TurnStart", *REPLY, *CALLED, "AgentEnd"]
    told = results_of(agent)[0]
    assert told.is_error
    assert told.text == (
        "Validation failed:\n- lines[0].price: Input should be greater than or equal to 0\n"
        "Call __structured_output again, corrected."
    )


async def test_three_bad_answers_fail_and_end_the_run(make_agent, record):
    agent = make_agent(answer(BAD), answer({}), answer(BAD), "never asked for")
    seen = record(agent)

    with pytest.raises(StructuredOutputFailed) as caught:
        await agent.prompt_structured("Read it", Invoice)

    assert caught.value.attempts == 3
    assert "lines[0].price" in caught.value.last_error
    turn = ["TurnStart", *REPLY, *CALLED]
    assert whole(seen) == [*BEGINNING, *REPLY, *CALLED, *turn, *turn, "AgentEnd"]
    assert seen.events[-1].stop_reason == "stop"


async def test_a_reply_without_the_call_counts_and_is_answered(make_agent, record):
    agent = make_agent("It is 2.50.", answer(GOOD))
    seen = record(agent)

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert whole(seen) == [*BEGINNING, *REPLY, "TurnEnd", *TOLD, *REPLY, *CALLED, "AgentEnd"]
    assert texts_of(agent)[1] == "Your answer was not heard. Give it by calling __structured_output."


async def test_three_replies_without_the_call_fail(make_agent, record):
    agent = make_agent("a", "b", "c", "never asked for")
    seen = record(agent)

    with pytest.raises(StructuredOutputFailed, match="no call of __structured_output") as caught:
        await agent.prompt_structured("Read it", Invoice)

    assert caught.value.attempts == 3
    turn = [*TOLD, *REPLY, "TurnEnd"]
    assert whole(seen) == [*BEGINNING, *REPLY, "TurnEnd", *turn, *turn, "AgentEnd"]


async def test_calls_that_are_no_json_count_too(make_agent, record):
    agent = make_agent(broken(), "words", broken(), "never asked for")
    seen = record(agent)

    with pytest.raises(StructuredOutputFailed, match="not valid JSON") as caught:
        await agent.prompt_structured("Read it", Invoice)

    assert caught.value.attempts == 3
    assert whole(seen) == [
        *(*BEGINNING, *REPLY, *CALLED),
        *("TurnStart", *REPLY, "TurnEnd"),
        *(*TOLD, *REPLY, *CALLED, "AgentEnd"),
    ]


async def test_how_often_may_be_said(make_agent):
    agent = make_agent(answer(BAD))

    with pytest.raises(StructuredOutputFailed) as caught:
        await agent.prompt_structured("Read it", Invoice, max_attempts=1)

    assert caught.value.attempts == 1
    with pytest.raises(ConfigError, match="at least 1"):
        await agent.prompt_structured("Read it", Invoice, max_attempts=0)


async def test_other_tools_may_be_used_first_also_in_plan_mode(make_agent, record):
    look = SimpleTool("look")
    agent = make_agent(calls("look"), answer(GOOD), tools=[look], mode=PLAN)
    seen = record(agent)

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert len(look.ran) == 1
    assert whole(seen) == [*BEGINNING, *REPLY, *CALLED, "TurnStart", *REPLY, *CALLED, "AgentEnd"]


async def test_nobody_is_asked_about_an_answer(make_agent, person):
    agent = make_agent(answer(GOOD), approval="on")

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert not person.asked


async def test_the_first_answer_that_fits_counts(make_agent):
    other = {**GOOD, "number": "8"}
    agent = make_agent(Reply((Call(ANSWER, BAD), Call(ANSWER, GOOD), Call(ANSWER, other))))

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert [result.is_error for result in results_of(agent)] == [True, False, True]


async def test_the_conversation_goes_on_without_the_tool(make_agent, record, requests):
    agent = make_agent(answer(GOOD), "You are welcome.")
    await agent.prompt_structured("Read it", Invoice)
    seen = record(agent)

    result = await agent.prompt("Thanks")

    assert result.text == "You are welcome."
    assert whole(seen) == [*BEGINNING, *REPLY, "TurnEnd", "AgentEnd"]
    assert requests(agent)[1].tools == ()
    assert [type(message).__name__ for message in requests(agent)[1].messages] == [
        *("UserMessage", "AssistantMessage", "ToolResult", "UserMessage")
    ]


async def test_the_conversation_goes_on_after_a_failure(make_agent):
    agent = make_agent("a", answer(BAD), broken(), "Never mind.")
    with pytest.raises(StructuredOutputFailed):
        await agent.prompt_structured("Read it", Invoice)

    assert (await agent.prompt("Leave it")).text == "Never mind."


async def test_a_run_that_fails_raises_its_own_error(make_agent, record):
    agent = make_agent(Reply((Break(RequestRejected("no such picture")),)))
    seen = record(agent)

    with pytest.raises(RequestRejected, match="no such picture"):
        await agent.prompt_structured("Read it", Invoice)

    assert seen.names[-2:] == ["TurnEnd", "AgentEnd"]


async def test_an_aborted_run_raises_and_its_last_bad_answer_is_no_failure_of_the_model(make_agent, record):
    agent = make_agent(answer(BAD), answer(BAD), Reply((Hang(),)))
    seen = record(agent)
    asking = asyncio.create_task(agent.prompt_structured("Read it", Invoice))
    async with asyncio.timeout(5):
        while seen.names.count("RequestStart") < 3:
            await asyncio.sleep(0)

    agent.abort()

    with pytest.raises(Aborted):
        await asking
    assert seen.names[-1] == "AgentEnd"


async def test_a_call_cut_short_by_the_person_is_no_attempt(make_agent, record):
    agent = make_agent(Reply((Call("wait", {}), Call(ANSWER, BAD))), answer(BAD), answer(BAD), answer(GOOD))

    async def steer(arguments, context):
        agent.steer("Faster")
        await asyncio.Event().wait()

    agent.set_tools([SimpleTool("wait", steer)])

    with pytest.raises(StructuredOutputFailed):
        await agent.prompt_structured("Read it", Invoice)

    assert len([result for result in results_of(agent) if result.text.startswith("Validation failed")]) == 3


async def test_a_limit_raises_and_an_answer_before_it_stands(make_agent, record):
    agent = make_agent(answer(BAD), answer(GOOD), limits=Limits(max_turns=1))
    seen = record(agent)

    with pytest.raises(LimitExceeded):
        await agent.prompt_structured("Read it", Invoice)

    assert whole(seen)[-4:] == ["LimitReached", "MessageStart", "MessageEnd", "AgentEnd"]
    assert await agent.prompt_structured("Again", Invoice) == INVOICE


class StopAfterTurn(Hooks):
    async def after_turn(self, end):
        return Stop("that is enough")


async def test_a_hook_that_stops_after_the_answer_does_not_take_it_back(make_agent):
    agent = make_agent(answer(GOOD), answer(BAD), hooks=[StopAfterTurn()])

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE
    with pytest.raises(LimitExceeded, match="that is enough"):
        await agent.prompt_structured("Read it", Invoice)


class NotToday:
    def check(self, message):
        return Reject("not today")


class NoHurry:
    def check(self, message):
        return Reject("no hurry") if "Hurry" in message.text else Pass()


async def test_a_rejected_prompt_raises(make_agent):
    agent = make_agent(answer(GOOD), filters=[NotToday()])

    with pytest.raises(Rejected, match="not today"):
        await agent.prompt_structured("Read it", Invoice)


async def test_a_schema_gives_plain_json(make_agent):
    agent = make_agent(answer({"total": "x"}), answer({"total": 3}))

    assert await agent.prompt_structured("Add", SCHEMA) == {"total": 3}
    assert "total: must be number" in results_of(agent)[0].text


@pytest.mark.parametrize(
    ("schema", "sent", "value"),
    [
        (list[int], {"value": [1, 2]}, [1, 2]),
        (int | str, {"value": "x"}, "x"),
        (Point, {"x": 1}, Point(1)),
        (Named, {"name": "a"}, {"name": "a"}),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (Tree, {"name": "a", "children": [{"name": "b"}]}, Tree(name="a", children=[Tree(name="b")])),
        (list[Tree], {"value": [{"name": "a"}]}, [Tree(name="a")]),
        ({"type": "array", "items": {"type": "integer"}}, {"value": [1]}, [1]),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "integer"}}}, {"value": 1}, 1),
        ({"type": "array", "items": {"$ref": "#"}}, {"value": [[], [[]]]}, [[], [[]]]),
        ({"properties": {"a": {"type": "integer"}}}, {"a": 1}, {"a": 1}),
    ],
)
async def test_any_type_and_any_schema_can_be_asked_for(make_agent, requests, schema, sent, value):
    agent = make_agent(answer(sent))

    assert await agent.prompt_structured("Go", schema) == value

    assert requests(agent)[0].tools[0].parameters["type"] == "object"


@pytest.mark.parametrize(
    ("schema", "sent", "told"),
    [
        (list[int], {"value": ["x"]}, "value[0]: Input should be a valid integer"),
        (list[int], {}, "value: required and missing"),
        (
            {"type": "array", "items": {"type": "integer"}},
            {"value": ["x"]},
            'value[0]: must be integer, not string "x"',
        ),
        ({"type": "array", "items": {"$ref": "#"}}, {"value": [[1]]}, "value[0][0]: must be array, not integer 1"),
    ],
)
def test_what_is_wrong_in_a_wrapped_answer_is_told_where_it_is(schema, sent, told):
    with pytest.raises(InvalidArguments) as caught:
        form_of(schema).read(sent)

    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "objekt"}, "the schema of the answer is wrong"),
        (3, "no answer can have the form of 3"),
        ("Invoice", "no answer can have the form of 'Invoice'"),
        (asyncio.Event, "no answer can have the form of"),
    ],
)
async def test_what_is_no_schema_is_told_before_anything_is_sent(make_agent, requests, schema, told):
    agent = make_agent(answer(GOOD))

    with pytest.raises(ConfigError, match=told):
        await agent.prompt_structured("Go", schema)

    assert not requests(agent)


async def test_a_model_with_schemas_of_its_own_answers_in_text(native_agent, record, requests):
    agent = native_agent(said(GOOD))
    seen = record(agent)

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert whole(seen) == [*BEGINNING, *REPLY, "TurnEnd", "AgentEnd"]
    asked = requests(agent)[0]
    assert asked.tools == ()
    assert asked.answer_schema.name == "Invoice"
    assert asked.answer_schema.schema["properties"]["lines"]["items"]["additionalProperties"] is False


async def test_a_bad_answer_in_text_is_told_what_is_wrong_and_tried_again(native_agent, record):
    agent = native_agent(said(BAD), said([1]), "```json\n" + json.dumps(GOOD) + "\n```")
    seen = record(agent)

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    turn = [*TOLD, *REPLY, "TurnEnd"]
    assert whole(seen) == [*BEGINNING, *REPLY, "TurnEnd", *turn, *turn, "AgentEnd"]
    assert texts_of(agent)[1] == (
        "Validation failed:\n- lines[0].price: Input should be greater than or equal to 0\n"
        "Send the whole answer again, as JSON alone."
    )
    assert "the reply must be a JSON object" in texts_of(agent)[2]


async def test_three_bad_answers_in_text_fail(native_agent, record):
    agent = native_agent("Sure!", said(BAD), said({}), "never asked for")
    seen = record(agent)

    with pytest.raises(StructuredOutputFailed) as caught:
        await agent.prompt_structured("Read it", Invoice)

    assert caught.value.attempts == 3
    assert "number: Field required" in caught.value.last_error
    turn = [*TOLD, *REPLY, "TurnEnd"]
    assert whole(seen) == [*BEGINNING, *REPLY, "TurnEnd", *turn, *turn, "AgentEnd"]


async def test_a_follow_up_is_heard_after_the_answer_and_changes_nothing_of_it(native_agent, record):
    agent = native_agent(said(GOOD), "You are welcome.")
    agent.follow_up("Thanks")
    seen = record(agent)

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert whole(seen) == [*BEGINNING, *REPLY, "TurnEnd", *TOLD, *REPLY, "TurnEnd", "AgentEnd"]


async def test_a_follow_up_waits_when_no_answer_came(native_agent, record):
    agent = native_agent("a", "b", "c", "You are welcome.")
    agent.follow_up("Thanks")

    with pytest.raises(StructuredOutputFailed):
        await agent.prompt_structured("Read it", Invoice)

    assert agent.has_pending


async def test_a_schema_of_the_models_own_is_used_only_where_every_model_has_one(native_agent, requests):
    agent = native_agent(answer(GOOD), fallback=[scripted()])

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert requests(agent)[0].answer_schema is None


async def test_a_model_chosen_meanwhile_is_held_to_no_schema_it_does_not_know(native_agent):
    agent = native_agent("not yet")
    other = scripted(said(GOOD))
    agent.subscribe(lambda event: agent.set_model(other) if type(event).__name__ == "TurnEnd" else None)

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert other.provider.requests[0].answer_schema is None


def test_without_an_event_loop(make_agent):
    assert make_agent(answer(GOOD)).prompt_structured_sync("Read it", Invoice) == INVOICE

    with pytest.raises(StructuredOutputFailed):
        make_agent("a", "b", "c").prompt_structured_sync("Read it", SCHEMA)


async def test_inside_an_event_loop(make_agent):
    assert make_agent(answer(GOOD)).prompt_structured_sync("Read it", Invoice) == INVOICE


async def test_a_run_that_ends_without_an_answer_is_an_error_and_never_a_value(make_agent, record):
    agent = make_agent("Let me see.", filters=[NoHurry()])
    seen = record(agent)
    # Said while the reply comes in, it takes the place of the reminder, and is then kept back.
    agent.subscribe(lambda event: agent.steer("Hurry") if isinstance(event, MessageUpdate) else None)

    with pytest.raises(AgentError, match="before the model gave its answer"):
        await agent.prompt_structured("Read it", Invoice)

    assert whole(seen)[len(BEGINNING + REPLY) : -1] == ["TurnEnd"] + ["InputRejected"] * seen.names.count(
        "MessageUpdate"
    )


lines = st.builds(Line, name=st.text(), price=st.floats(0, allow_infinity=False, allow_nan=False))
invoices = st.builds(Invoice, number=st.text(), lines=st.lists(lines, max_size=3))
trees = st.recursive(
    st.builds(Tree, name=st.text()),
    lambda inner: st.builds(Tree, name=st.text(), children=st.lists(inner, max_size=3)),
    max_leaves=6,
)
values = st.one_of(
    st.tuples(st.just(Invoice), invoices),
    st.tuples(st.just(Tree), trees),
    st.tuples(st.just(list[Line]), st.lists(lines, max_size=3)),
    st.tuples(st.just(Point), st.builds(Point, st.integers(), st.integers())),
    st.tuples(st.just(dict[str, int]), st.dictionaries(st.text(), st.integers())),
    st.tuples(st.just(int | None), st.none() | st.integers()),
)


@given(values)
@settings(max_examples=200)
def test_what_fits_comes_back_as_it_was(pair):
    kind, value = pair
    form = form_of(kind)
    plain = TypeAdapter(kind).dump_python(value, mode="json")
    sent = (
        plain if isinstance(plain, dict) and form.schema.get("properties", {}).keys() != {"value"} else {"value": plain}
    )

    assert form.read(sent) == value
    assert form.read_text(json.dumps(sent)) == value


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
@settings(max_examples=200)
def test_whatever_is_sent_either_fits_or_is_told_why_not(value):
    for schema in (Invoice, SCHEMA, list[int]):
        form = form_of(schema)
        sent = value if isinstance(value, dict) else {"value": value}
        told = ""
        try:
            form.read(sent)
        except InvalidArguments as error:
            told = str(error)
        assert all(line.startswith("- ") for line in told.splitlines())
