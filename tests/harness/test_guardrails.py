from __future__ import annotations

import asyncio

import pytest
from fakes.runs import calls, results_of, texts_of, until
from fakes.simple_tools import SimpleTool
from msgspec.structs import replace

from harness.agent.guardrails import (
    AddContext,
    GuardrailVerdict,
    MaxLength,
    Pass,
    Reject,
    SecretGuardrail,
    Warn,
    apply_guardrails,
    redact_secrets,
)
from harness.events import AgentEnd, Event, InputRejected, MessageEnd, TurnEnd
from harness.messages import Image, JsonObject, UserMessage, user
from harness.ports.tool import ToolContext, ToolOutput

PICTURE = Image("image/png", "aGk=")
HEARD = ["MessageStart", "MessageEnd"]
LOOK = ["RequestStart", "MessageStart", "MessageEnd", "UsageUpdate"]


class Watch:
    """Guardrail that decides by a word and records what it was shown."""

    def __init__(self, word: str, verdict: GuardrailVerdict | Exception | None) -> None:
        self.seen: list[str] = []
        self._word = word
        self._verdict = verdict

    def check(self, message: UserMessage) -> GuardrailVerdict:
        self.seen.append(message.text)
        if self._word not in message.text:
            return Pass()
        if isinstance(self._verdict, Exception):
            raise self._verdict
        return self._verdict


def brief(names: list[str]) -> list[str]:
    return [name for name in names if name != "MessageUpdate"]


async def test_unobjectionable_prompt_passes_unchanged():
    message = user("hello")

    assert await apply_guardrails(message, [Watch("x", Reject("no")), MaxLength(5)]) is message


async def test_guardrails_run_in_order_until_the_first_rejection():
    first, second, third = Watch("", Warn("careful")), Watch("a", Reject("no a")), Watch("", Reject("never"))

    verdict = await apply_guardrails(user("a"), [first, second, third])

    assert verdict == Reject("no a")
    assert (first.seen, second.seen, third.seen) == (["a"], ["a"], [])


async def test_warnings_are_added_in_order_and_invisible_to_other_guardrails():
    last = Watch("", Pass())
    message = UserMessage((*user("look").content, PICTURE))

    heard = await apply_guardrails(message, [Watch("", Warn("one")), Watch("", Warn("two")), MaxLength(4), last])

    assert isinstance(heard, UserMessage)
    assert heard.text == "look\n[Warning: one]\n[Warning: two]"
    assert heard.content[:2] == message.content
    assert heard.id == message.id
    assert last.seen == ["look"]


@pytest.mark.parametrize(
    ("verdict", "reason"), [(ValueError("broken"), "ValueError: broken"), (None, "Watch returned no verdict")]
)
async def test_failing_guardrail_blocks_the_prompt(verdict, reason):
    assert await apply_guardrails(user("hi"), [Watch("", verdict)]) == Reject(f"a guardrail failed: {reason}")


async def test_rejected_prompt_leaves_no_trace(make_agent, record, requests):
    agent = make_agent("never said", guardrails=[Watch("secret", Reject("no secrets"))])
    happened = record(agent)

    result = await agent.prompt("the secret is out")

    assert happened.names == ["AgentStart", "InputRejected", "AgentEnd"]
    assert happened.of(InputRejected)[0].reason == "no secrets"
    (end,) = happened.of(AgentEnd)
    assert (end.messages, end.rejection, end.stop_reason) == ((), "no secrets", "aborted")
    assert (result.rejection, result.messages, result.text) == ("no secrets", (), "")
    assert len(agent.history) == 0
    assert requests(agent) == []


async def test_agent_accepts_the_next_prompt_after_a_rejection(make_agent):
    agent = make_agent("hello", guardrails=[Watch("secret", Reject("no secrets"))])
    await agent.prompt("secret")

    result = await agent.prompt("hi")

    assert result.text == "hello"
    assert result.rejection == ""
    assert texts_of(agent) == ["hi"]


async def test_one_rejected_prompt_of_several_blocks_all(make_agent, record):
    agent = make_agent("never said", guardrails=[Watch("bad", Reject("no"))])
    happened = record(agent)
    good, bad = user("good"), user("bad")

    await agent.prompt([good, bad])

    assert happened.names == ["AgentStart", "InputRejected", "AgentEnd"]
    assert happened.of(InputRejected)[0].message_id == bad.id
    assert len(agent.history) == 0


async def test_warning_is_sent_with_the_prompt(make_agent, record, requests):
    agent = make_agent("I see", guardrails=[Watch("old", Warn("this is an old file"))])
    happened = record(agent)

    await agent.prompt("read the old file")

    assert brief(happened.names) == ["AgentStart", "TurnStart", *HEARD, *LOOK, "TurnEnd", "AgentEnd"]
    heard = happened.of(MessageEnd)[0].message
    assert heard.text == "read the old file\n[Warning: this is an old file]"
    assert requests(agent)[0].messages == (heard,)
    assert agent.history.messages[0] == heard


class Waiting:
    """Guardrail that asks a service, whose answer may never come."""

    def __init__(self, verdict: GuardrailVerdict) -> None:
        self.asked = asyncio.Event()
        self.answer = asyncio.Event()
        self._verdict = verdict

    async def check(self, message: UserMessage) -> GuardrailVerdict:
        self.asked.set()
        await self.answer.wait()
        return self._verdict


async def test_context_of_a_slow_guardrail_is_sent_with_the_prompt(make_agent, requests):
    waiting = Waiting(AddContext("The build is red."))
    agent = make_agent("I see", guardrails=[waiting])

    running = asyncio.create_task(agent.prompt("hi"))
    await waiting.asked.wait()
    waiting.answer.set()
    await running

    assert requests(agent)[0].messages[0].text == "hi\nThe build is red."


async def test_prompt_stopped_before_its_check_is_rejected_and_not_sent_later(make_agent, record, requests):
    waiting = Waiting(Pass())
    agent = make_agent("hello", guardrails=[waiting])
    happened = record(agent)

    running = asyncio.create_task(agent.prompt("unchecked"))
    await waiting.asked.wait()
    agent.abort()
    await running
    waiting.answer.set()
    await agent.prompt("hi")

    assert [each.reason for each in happened.of(InputRejected)] == [
        "the run was stopped before the message was checked"
    ]
    assert [each.text for each in requests(agent)[0].messages] == ["hi"]


async def test_follow_up_stopped_before_its_check_stays_queued(make_agent):
    waiting = Waiting(Pass())
    agent = make_agent("one", "two")
    agent.options = replace(agent.options, guardrails=[waiting])
    waiting.answer.set()

    def ask_again(event: Event) -> None:
        if isinstance(event, TurnEnd):
            waiting.answer.clear()
            waiting.asked.clear()

    agent.subscribe(ask_again)
    agent.follow_up("later")
    running = asyncio.create_task(agent.prompt("go"))
    await until(lambda: len(agent.history) >= 2 and waiting.asked.is_set() and not waiting.answer.is_set())
    agent.abort()
    await running

    assert [each.text for each in agent.inbox.follow_up.messages] == ["later"]


async def test_rejected_steering_message_is_dropped_and_the_run_continues(make_agent, record):
    async def steered(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        agent.steer("a bad word")
        return ToolOutput.text("done")

    agent = make_agent(
        calls("work"), "all done", tools=[SimpleTool("work", steered)], guardrails=[Watch("bad", Reject("no"))]
    )
    happened = record(agent)

    result = await agent.prompt("go")

    assert brief(happened.names) == [
        "AgentStart",
        "TurnStart",
        *HEARD,
        *LOOK,
        "ToolCallsReceived",
        "ToolExecutionStart",
        "ToolExecutionEnd",
        *HEARD,
        "TurnEnd",
        "InputRejected",
        "TurnStart",
        *LOOK,
        "TurnEnd",
        "AgentEnd",
    ]
    assert result.text == "all done"
    assert result.rejection == ""
    assert texts_of(agent) == ["go"]
    assert [each.text for each in results_of(agent)] == ["done"]


async def test_rejected_follow_up_is_skipped_for_the_next(make_agent, record):
    agent = make_agent("one", "two", guardrails=[Watch("bad", Reject("no"))])
    agent.follow_up("bad")
    agent.follow_up("good")
    happened = record(agent)

    result = await agent.prompt("go")

    turn = [*HEARD, *LOOK, "TurnEnd"]
    assert brief(happened.names) == ["AgentStart", "TurnStart", *turn, "InputRejected", "TurnStart", *turn, "AgentEnd"]
    assert texts_of(agent) == ["go", "good"]
    assert result.text == "two"
    assert not agent.has_pending


async def test_run_completes_when_its_only_follow_up_is_rejected(make_agent, record):
    agent = make_agent("one", "never said", guardrails=[Watch("bad", Reject("no"))])
    agent.follow_up("bad")
    happened = record(agent)

    result = await agent.prompt("go")

    assert brief(happened.names)[-3:] == ["TurnEnd", "InputRejected", "AgentEnd"]
    assert (result.text, result.stop_reason, result.rejection) == ("one", "stop", "")


async def test_program_messages_bypass_guardrails(make_agent):
    watch = Watch("", Reject("no"))
    agent = make_agent("fine", guardrails=[watch])

    result = await agent.prompt(UserMessage(user("a reminder").content, synthetic=True))

    assert result.text == "fine"
    assert watch.seen == []


async def test_rejection_of_a_long_message_names_the_limit(make_agent):
    agent = make_agent("never said", guardrails=[MaxLength(1_000)])

    result = await agent.prompt("x" * 2_000)

    assert result.rejection == "the message has 2,000 characters, the limit is 1,000; put it into a file"


RANDOM = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2eF4hJ6kL8n"
SECRETS = {
    "a private key": f"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA{RANDOM}\n-----END RSA PRIVATE KEY-----",
    "a private key of a service": '"private_key": "-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBg"',
    "an API key": f"use sk-ant-api03-{RANDOM} for it",
    "an API key of old": f"OPENAI_API_KEY=sk-{RANDOM}",
    "a Google API key": f"AIza{RANDOM[:35]}",
    "an AWS access key": "AKIAQ3EGRT5YU7IO9PLK",
    "a GitHub token": f"ghp_{RANDOM}",
    "a GitLab token": f"glpat-{RANDOM[:20]}",
    "a Slack token": f"xoxb-{RANDOM}",
    "a Stripe key": f"sk_live_{RANDOM}",
    "a package registry's token": f"npm_{RANDOM[:36]}",
}


@pytest.mark.parametrize("kind", SECRETS)
def test_secret_is_rejected_without_being_quoted(kind):
    verdict = SecretGuardrail().check(user(f"please read this:\n{SECRETS[kind]}\nthanks"))

    assert isinstance(verdict, Reject)
    assert " ".join(kind.split()[:3]) in verdict.reason
    assert RANDOM[:8] not in verdict.reason


@pytest.mark.parametrize(
    "text",
    [
        "set ANTHROPIC_API_KEY=sk-ant-your-key-goes-here-please and start",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "sk-ant-api03-0000000000000000000000000000",
        "what does AKIAIOSFODNN7EXAMPLE stand for?",
        "fix the branch sk-learn-contrib-py-earth-2024-with-a-long-name",
        "grep for '-----BEGIN PRIVATE KEY-----' in the repository",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQ\n-----END PUBLIC KEY-----",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b broke it",
        "the session 0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0 is gone",
        "def risk_live_of(x): return x  # desk-0123456789abcdefghijklmnopqrstuvwxyz",
    ],
)
def test_mentioning_secrets_is_not_a_secret(text):
    assert SecretGuardrail().check(user(text)) == Pass()


def test_redaction_replaces_every_secret_and_keeps_the_text_between_them():
    text = f"first ghp_{RANDOM} and\n{SECRETS['a private key']}\nthen AKIAQ3EGRT5YU7IO9PLK."

    assert redact_secrets(text) == "first [key removed] and\n[key removed]\nthen [key removed]."
    assert redact_secrets("no key in here") == "no key in here"


def test_redaction_of_overlapping_secrets_replaces_them_once():
    inner = f"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg ghp_{RANDOM}\n-----END PRIVATE KEY----- rest"

    assert redact_secrets(inner, "***") == "*** rest"
