from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby, pairwise

import pytest
from fakes.histories import AUTHORS, CONVERSATIONS, PICTURE, REDACTED, SIGNATURE, THOUGHT, history_of
from fakes.targets import TARGETS, Target, fits
from fakes.turns import Said, said_by
from msgspec.structs import replace

from harness.context.normalize import normalize
from harness.messages import AssistantMessage, JsonObject, ModelMessage, Text, ToolCall, ToolResult, user
from harness.ports.provider import Request, ToolSpec
from harness.thinking_level import ThinkingLevel
from providers.wire.image_support import without_images

LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})
CANARIES = (THOUGHT, SIGNATURE, REDACTED)
TELLING = [name for name in CONVERSATIONS if name not in ("odd_names", "odd_ids", "nothing_said")]


def handed(target: Target, history: Sequence[ModelMessage], thinking: ThinkingLevel = "high") -> JsonObject:
    """What the target is asked next."""
    spec = replace(target.spec, thinking=thinking)
    return target.encode(Request(spec, "Be brief.", normalize(history), (LOOK,), session_id="s"))


def assert_fits(target: Target, spoken: list[Said]) -> None:
    """What is said keeps the target's rules for ids, names, blank words, calls with their results, and turns."""
    calls = [said for said in spoken if said.kind == "call"]
    assert len({call.id for call in calls}) == len(calls)
    assert [call.id for call in calls if not fits(target.ids, call.id)] == []
    assert [call.name for call in calls if not fits(target.names, call.name)] == []
    assert [said for said in spoken if said.kind in ("text", "result") and not said.text.strip()] == []
    assert_calls_are_answered(spoken)
    assert_turns_are_in_order(target, spoken)


def assert_calls_are_answered(spoken: list[Said]) -> None:
    """Each turn's calls have their results in what follows at once, in order, and nothing else has."""
    due: list[str] = []
    for speaker, things in groupby(spoken, lambda said: said.speaker):
        run = list(things)
        if speaker == "model":
            assert not due
            due = [said.id for said in run if said.kind == "call"]
        else:
            assert [said.id for said in run if said.kind == "result"] == due
            assert [said.kind for said in run[: len(due)]] == ["result"] * len(due)
            due = []
    assert not due


def assert_turns_are_in_order(target: Target, spoken: list[Said]) -> None:
    speakers = [next(things).speaker for _, things in groupby(spoken, lambda said: said.message)]
    if target.begins_with_user:
        assert speakers[0] == "user"
    if target.alternates:
        assert all(one != other for one, other in pairwise(speakers))
    if target.speaks_after_results:
        steps = pairwise((said.speaker, said.kind) for said in spoken)
        assert (("user", "result"), ("user", "text")) not in steps


@pytest.mark.parametrize("conversation", CONVERSATIONS)
@pytest.mark.parametrize("target", TARGETS)
def test_a_history_of_any_vendor_continues_with_this_one(target: str, conversation: str) -> None:
    to = TARGETS[target]

    for author in AUTHORS:
        body = handed(to, history_of(author, conversation))

        assert to.accepts(body), author
        assert_fits(to, said_by(to.protocol, body))


@pytest.mark.parametrize("target", TARGETS)
def test_no_calls_and_no_text_are_lost(target: str) -> None:
    to = TARGETS[target]

    for author in AUTHORS:
        spoken = said_by(to.protocol, handed(to, history_of(author, "parallel_calls")))

        assert [said.name for said in spoken if said.kind == "call"] == ["look", "look", "read_file", "look"], author
        texts = " ".join(said.text for said in spoken)
        assert [word for word in ("Look", "I look.", "it is dark", "Done.", "Thanks") if word not in texts] == []


@pytest.mark.parametrize("target", TARGETS)
def test_a_tool_is_called_in_the_history_as_it_is_declared(target: str) -> None:
    tool = replace(LOOK, name="mcp__github__create_pull_request_review_comment")
    reply = AssistantMessage((ToolCall("call_1", tool.name, {}),))
    history = (user("Look"), reply, ToolResult("call_1", tool.name, (Text("I see"),)))
    to = TARGETS[target]

    spoken = said_by(to.protocol, to.encode(Request(to.spec, "", history, (tool,))))

    assert [said.name for said in spoken if said.kind == "call"] == [tool.name]


@pytest.mark.parametrize("target", TARGETS)
def test_a_history_without_text_is_encoded(target: str) -> None:
    to = TARGETS[target]

    assert to.encode(Request(to.spec, "", (user(" "),)))


@pytest.mark.parametrize("conversation", TELLING)
@pytest.mark.parametrize("target", TARGETS)
def test_thinking_of_another_model_is_not_sent(target: str, conversation: str) -> None:
    for author in AUTHORS:
        history = [_by_another_model(message) for message in history_of(author, conversation)]

        body = json.dumps(handed(TARGETS[target], history))

        assert [canary for canary in CANARIES if canary in body] == [], author


def _by_another_model(message: ModelMessage) -> ModelMessage:
    """The same message; where the author is the target itself, of another of its models."""
    return replace(message, model="an-earlier-one") if isinstance(message, AssistantMessage) else message


KEPT = {
    "anthropic": (THOUGHT, SIGNATURE),
    "bedrock": (THOUGHT, SIGNATURE),
    "openai": (THOUGHT, SIGNATURE),
    "gemini": (SIGNATURE,),
    "openai-chat": (THOUGHT,),
    "deepseek": (THOUGHT,),
    "mistral": (THOUGHT,),
    "ollama": (THOUGHT,),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_model_gets_its_own_thinking_back(name: str) -> None:
    body = json.dumps(handed(TARGETS[name], history_of(name, "steering_after_results")))

    assert [canary for canary in KEPT[name] if canary not in body] == []


@pytest.mark.parametrize("name", ["anthropic", "bedrock"])
def test_a_model_gets_its_own_encrypted_thinking_back(name: str) -> None:
    assert REDACTED in json.dumps(handed(TARGETS[name], history_of(name, "secret_thoughts")))


@pytest.mark.parametrize("target", TARGETS)
def test_images_reach_all_but_those_known_to_be_blind(target: str) -> None:
    to = TARGETS[target]

    body = handed(to, history_of("gemini", "parallel_calls"))

    assert json.dumps(body).count(PICTURE.data) == (0 if target == "ollama" else 2)
    assert ("does not support images" in json.dumps(body)) is (target == "ollama")


@pytest.mark.parametrize("target", TARGETS)
def test_image_placeholders_are_valid_everywhere(target: str) -> None:
    to = TARGETS[target]

    for author in AUTHORS:
        body = handed(to, without_images(history_of(author, "parallel_calls")))

        assert to.accepts(body), author
        assert_fits(to, said_by(to.protocol, body))
        assert json.dumps(body).count("does not support images") == 2, author
        assert PICTURE.data not in json.dumps(body), author


@pytest.mark.parametrize("target", TARGETS)
def test_a_history_is_written_the_same_each_time(target: str) -> None:
    to = TARGETS[target]
    history = history_of("ollama", "odd_ids")
    earlier = handed(to, history[:5])

    later = handed(to, history)

    ids = [[said.id for said in said_by(to.protocol, body) if said.id] for body in (earlier, later)]
    assert ids[1][: len(ids[0])] == ids[0]
