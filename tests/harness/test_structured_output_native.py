from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from fakes.invoices import (
    BAD,
    BEGINNING,
    GOOD,
    INVOICE,
    REPLY,
    REPORTED,
    Invoice,
    answer,
    said,
    whole,
)
from fakes.runs import texts_of
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.errors import (
    StructuredOutputFailed,
)
from providers.demo import Reply, scripted


@pytest.fixture
def native_agent(make_agent) -> Callable[..., Agent]:
    def make(*script: Reply | str, **options: object) -> Agent:
        return make_agent(model=replace(scripted(*script), native_schema=True), **options)

    return make


async def test_model_with_native_schemas_answers_in_text(native_agent, record, requests):
    agent = native_agent(said(GOOD))
    seen = record(agent)

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert whole(seen) == [*BEGINNING, *REPLY, "TurnEnd", "AgentEnd"]
    asked = requests(agent)[0]
    assert asked.tools == ()
    assert asked.output_schema.name == "Invoice"
    assert asked.output_schema.schema["properties"]["lines"]["items"]["additionalProperties"] is False


async def test_invalid_text_output_is_explained_and_retried(native_agent, record):
    agent = native_agent(said(BAD), said([1]), "```json\n" + json.dumps(GOOD) + "\n```")
    seen = record(agent)

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    turn = [*REPORTED, *REPLY, "TurnEnd"]
    assert whole(seen) == [*BEGINNING, *REPLY, "TurnEnd", *turn, *turn, "AgentEnd"]
    assert texts_of(agent)[1] == (
        "Validation failed:\n- lines[0].price: Input should be greater than or equal to 0\n"
        "Send the whole answer again, as JSON alone."
    )
    assert "the reply must be a JSON object" in texts_of(agent)[2]


async def test_three_invalid_text_outputs_fail(native_agent, record):
    agent = native_agent("Sure!", said(BAD), said({}), "never asked for")
    seen = record(agent)

    with pytest.raises(StructuredOutputFailed) as caught:
        await agent.prompt_structured("Read it", Invoice)

    assert caught.value.attempts == 3
    assert "number: Field required" in caught.value.last_error
    turn = [*REPORTED, *REPLY, "TurnEnd"]
    assert whole(seen) == [*BEGINNING, *REPLY, "TurnEnd", *turn, *turn, "AgentEnd"]


async def test_follow_up_after_the_output_does_not_change_it(native_agent, record):
    agent = native_agent(said(GOOD), "You are welcome.")
    agent.follow_up("Thanks")
    seen = record(agent)

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert whole(seen) == [*BEGINNING, *REPLY, "TurnEnd", *REPORTED, *REPLY, "TurnEnd", "AgentEnd"]


async def test_follow_up_waits_when_no_output_came(native_agent, record):
    agent = native_agent("a", "b", "c", "You are welcome.")
    agent.follow_up("Thanks")

    with pytest.raises(StructuredOutputFailed):
        await agent.prompt_structured("Read it", Invoice)

    assert agent.has_pending


async def test_native_schema_is_used_only_if_every_model_supports_it(native_agent, requests):
    agent = native_agent(answer(GOOD), fallback=[scripted()])

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert requests(agent)[0].output_schema is None


async def test_model_switched_meanwhile_is_not_given_an_unsupported_schema(native_agent):
    agent = native_agent("not yet")
    other = scripted(said(GOOD))
    agent.subscribe(lambda event: agent.set_model(other) if type(event).__name__ == "TurnEnd" else None)

    assert await agent.prompt_structured("Read it", Invoice) == INVOICE

    assert other.provider.requests[0].output_schema is None
