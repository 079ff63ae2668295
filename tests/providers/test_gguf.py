from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest
from fakes.simple_tools import SimpleTool
from fakes.tiny_gguf import TEMPLATE, write_model

from harness.agent.agent import Agent
from harness.deltas import BlockDelta, Delta, Done, UsageReport
from harness.errors import ConfigError, ContextWindowOverflow, ModelNotFound, ProviderError, RequestRejected
from harness.events import MessageUpdate
from harness.messages import AssistantMessage, Text, Thinking, ToolCall, ToolResult, UserMessage, user
from harness.ports.provider import Model, ModelInfo, OutputSchema, Price, Request, ToolSpec
from harness.thinking_level import ThinkingLevel
from providers import connect

READ = ToolSpec("read_file", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})
SAYS = ["The", " file", " says", " hi", "."]
CALLS = ["<tool_call>", '{"name": "read_file", ', '"arguments": {"path": "a.txt"}}', "</tool_call>"]
SCRIPTS = {"<|say|>": SAYS, "<|act|>": CALLS}
FOR_EVER = {"<|say|>": ["On", " and", " on", " on"]}
ROOT = Path(__file__).resolve().parents[2]
Opened = Callable[..., Model]

pytestmark = pytest.mark.requires_module("llama_cpp")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CINCH_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CINCH_LOCAL_CONTEXT", raising=False)


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opened]:
    models: list[Model] = []

    def open_model(scripts: object = SCRIPTS, thinking: ThinkingLevel = "off", **traits: object) -> Model:
        path = write_model(tmp_path / f"tiny-{len(models)}.gguf", scripts, **traits)
        models.append(connect(f"local/{path}", thinking=thinking))
        return models[-1]

    yield open_model
    for model in models:
        await model.provider.close()


def asked(model: Model, words: str = "Hi", **traits: object) -> Request:
    return Request(model.spec, "Be kind.", (user(words),), **traits)


async def deltas_of(model: Model, request: Request) -> list[Delta]:
    return [delta async for delta in model.provider.stream(request)]


def text_of(deltas: list[Delta]) -> list[str]:
    return [delta.text for delta in deltas if isinstance(delta, BlockDelta)]


def end_of(deltas: list[Delta]) -> Done:
    assert isinstance(deltas[-1], Done)
    return deltas[-1]


async def test_a_reply_comes_token_by_token(opened: Opened) -> None:
    model = opened()

    deltas = await deltas_of(model, asked(model))

    assert text_of(deltas) == SAYS
    assert (end_of(deltas).stop_reason, end_of(deltas).usage.output) == ("stop", len(SAYS))


async def test_tokens_so_far_are_reported_while_the_model_writes(opened: Opened) -> None:
    model = opened(FOR_EVER)

    deltas = await deltas_of(model, asked(model, max_tokens=150))

    reports = [delta.usage for delta in deltas if isinstance(delta, UsageReport)]
    assert [each.output for each in reports] == [1, 101]
    assert {each.input for each in reports} == {end_of(deltas).usage.input}


async def test_a_letter_of_several_tokens_comes_whole(opened: Opened) -> None:
    model = opened({"<|say|>": ["<0xC3>", "<0xBC>", "ber"]})

    deltas = await deltas_of(model, asked(model))

    assert text_of(deltas) == ["ü", "ber"]


async def test_an_agent_works_with_a_tool(opened: Opened) -> None:
    tool = SimpleTool("read_file")
    agent = Agent(opened(), [tool], system_prompt="Be kind.")

    result = await agent.prompt("What does a.txt say?")

    assert result.text == "".join(SAYS)
    assert tool.ran == [{"path": "a.txt"}]
    kinds = [type(message) for message in agent.history.messages]
    assert kinds == [UserMessage, AssistantMessage, ToolResult, AssistantMessage]


async def test_a_second_turn_reads_only_what_is_new(opened: Opened) -> None:
    model = opened()
    agent = Agent(model, [])
    await agent.prompt("Tell me about the file, at some length, please.")

    await agent.prompt("And?")

    first, second = (message.usage for message in agent.history.messages if isinstance(message, AssistantMessage))
    # All but the token that the first reply began with.
    assert (first.cache_read, second.cache_read) == (0, first.input - 1)
    assert 0 < second.input < first.input


async def test_half_a_call_never_runs(opened: Opened) -> None:
    tool = SimpleTool("read_file")
    agent = Agent(opened({"<|say|>": SAYS, "<|act|>": CALLS[:2]}), [tool])

    await agent.prompt("Read it.")

    assert tool.ran == []
    assert any(isinstance(message, ToolResult) and message.is_error for message in agent.history.messages)


async def test_thinking_is_not_text(opened: Opened) -> None:
    model = opened({"<|say|>": ["<think>", "Hm", ".", "</think>", "Yes"]}, thinking="low")
    agent = Agent(model, [])

    await agent.prompt("Well?")

    reply = agent.history.messages[-1]
    assert isinstance(reply, AssistantMessage)
    assert reply.content == (Thinking("Hm."), Text("Yes"))


async def test_thinking_opened_by_the_prompt_is_recognized(opened: Opened) -> None:
    template = TEMPLATE.replace("<|say|>", "<|say|><think>")
    agent = Agent(opened({"<0x3E>": ["Hm", ".", "</think>", "Yes"]}, template=template), [])

    await agent.prompt("Well?")

    reply = agent.history.messages[-1]
    assert isinstance(reply, AssistantMessage)
    assert reply.content == (Thinking("Hm."), Text("Yes"))


async def test_the_reply_ends_where_it_may_grow_no_longer(opened: Opened) -> None:
    model = opened(FOR_EVER)

    end = end_of(await deltas_of(model, asked(model, max_tokens=5)))

    assert (end.stop_reason, end.usage.output) == ("length", 5)


async def test_the_reply_ends_with_the_window(opened: Opened) -> None:
    model = opened(FOR_EVER, window=64)

    end = end_of(await deltas_of(model, asked(model)))

    assert (end.stop_reason, end.usage.context) == ("length", 64)


async def test_a_prompt_that_is_too_long_is_an_overflow(opened: Opened) -> None:
    model = opened(window=256)

    with pytest.raises(ContextWindowOverflow, match="\\(256\\); to enlarge it: export CINCH_LOCAL_CONTEXT"):
        await deltas_of(model, asked(model, "word " * 60))

    assert text_of(await deltas_of(model, asked(model))) == SAYS


async def test_cancelling_the_stream_stops_generation(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    # Long enough that nobody would wait for its end.
    monkeypatch.setenv("CINCH_LOCAL_CONTEXT", "1000000")
    model = opened(FOR_EVER)
    heard: list[Delta] = []
    async with aclosing(model.provider.stream(asked(model))) as stream:
        async for delta in stream:
            heard.append(delta)
            if len(heard) == 5:
                break

    end = end_of(await deltas_of(model, asked(model, max_tokens=2)))

    assert (end.stop_reason, end.usage.output) == ("length", 2)
    assert end.usage.cache_read > 0


async def test_an_agent_is_aborted_while_the_model_writes(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CINCH_LOCAL_CONTEXT", "1000000")
    agent = Agent(opened(FOR_EVER), [])

    async for event in agent.stream("Hi"):
        if isinstance(event, MessageUpdate):
            agent.abort()

    reply = agent.history.messages[-1]
    assert isinstance(reply, AssistantMessage)
    assert reply.stop_reason == "aborted"
    assert reply.text.startswith("On")


async def test_concurrent_requests_wait_for_each_other(opened: Opened) -> None:
    model = opened()

    first, second = await asyncio.gather(deltas_of(model, asked(model, "one")), deltas_of(model, asked(model, "two")))

    assert text_of(first) == text_of(second) == SAYS


async def test_a_closed_model_is_loaded_again(opened: Opened) -> None:
    model = opened()
    await deltas_of(model, asked(model))
    await model.provider.close()

    end = end_of(await deltas_of(model, asked(model)))

    assert end.usage.cache_read == 0


async def test_an_answer_is_held_to_its_form(opened: Opened) -> None:
    model = opened(noise=1.0)
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}

    deltas = await deltas_of(model, asked(model, output_schema=OutputSchema("fine", schema), max_tokens=200))

    assert model.native_schema
    assert json.loads("".join(text_of(deltas)))["ok"] in (True, False)


async def test_a_strict_template_is_given_what_it_takes(opened: Opened) -> None:
    strict = (
        "{%- for message in messages -%}"
        "{%- if message.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif -%}"
        "{%- if (message.tool_calls or []) | length > 1 %}{{ raise_exception('one call') }}{% endif -%}"
        "{{ message.content }}{%- endfor -%}{% if tools %}{% endif %}<|say|>"
    )
    model = opened(template=strict)
    calls = tuple(ToolCall(f"c{number}", "read_file", {"path": "a"}) for number in (1, 2))
    results = tuple(ToolResult(call.id, call.name, (Text("fine"),)) for call in calls)
    history = (user("Read"), AssistantMessage(calls, stop_reason="tool_use"), *results)

    deltas = await deltas_of(model, Request(model.spec, "Be kind.", history, (READ,)))

    assert text_of(deltas) == SAYS


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("", "has no chat template: use a chat model"),
        ("{{ messages[0].content }}<|say|>", "cannot use tools: its chat template does not support them"),
        ("{{ raise_exception('no tools today') }}", "does not accept this request: no tools today"),
    ],
)
async def test_a_template_that_does_not_serve_is_reported(opened: Opened, template: str, words: str) -> None:
    model = opened(template=template.replace("no tools", "no {tools}") if "raise" in template else template)
    tools = (READ,) if template and "raise" not in template else ()

    with pytest.raises(RequestRejected, match=words.replace("no tools", "no {tools}")):
        await deltas_of(model, asked(model, tools=tools))


async def test_model_details_are_read_from_the_file_before_loading(opened: Opened) -> None:
    assert await opened(window=4096).info.load() == ModelInfo(
        4096, price=Price(0.0, 0.0), images=False, tools=True, thinking=False
    )
    assert (await opened(window=1_000_000).info.load()).context_window == 32_768


async def test_a_user_sets_the_window(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CINCH_LOCAL_CONTEXT", "100")

    assert (await opened().info.load()).context_window == 100

    monkeypatch.setenv("CINCH_LOCAL_CONTEXT", "much")
    with pytest.raises(ConfigError, match="CINCH_LOCAL_CONTEXT is 'much': set a number of tokens"):
        opened()


def test_a_window_that_memory_does_not_hold_is_reported(tmp_path: Path) -> None:
    path = write_model(tmp_path / "tiny.gguf", SCRIPTS)
    code = (
        "import resource\n"
        "from pathlib import Path\n"
        "from harness.errors import RequestRejected\n"
        "from providers.gguf.engine import load\n"
        "from providers.gguf.abort_flag import Flag\n"
        "pages = int(Path('/proc/self/statm').read_text().split()[0])\n"
        "room = pages * resource.getpagesize() + 400_000_000\n"
        "resource.setrlimit(resource.RLIMIT_AS, (room, room))\n"
        f"try: load(Path({str(path)!r}), 10_000_000, Flag())\n"
        "except RequestRejected as error: print(error)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)

    assert "not enough memory for tiny.gguf with a context window of 10,000,000 tokens" in done.stdout
    assert done.stderr == ""


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200_000])


def scramble(path: Path) -> None:
    path.write_bytes(b"PK" + path.read_bytes()[2:])


def cut_the_header(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:900])


@pytest.mark.parametrize(
    ("harm", "error", "words"),
    [
        (scramble, RequestRejected, "is not a valid GGUF file"),
        (cut_the_header, RequestRejected, "is not a valid GGUF file"),
        (cut, RequestRejected, "llama.cpp cannot load"),
        (Path.unlink, RequestRejected, "does not exist"),
    ],
)
async def test_a_file_that_is_no_model_is_reported(
    opened: Opened, harm: Callable[[Path], None], error: type[ProviderError], words: str
) -> None:
    model = opened()
    harm(Path(model.spec.model_id))

    with pytest.raises(error, match=words):
        await deltas_of(model, asked(model))


async def test_a_part_that_is_missing_is_reported(tmp_path: Path) -> None:
    model = connect(f"local/{write_model(tmp_path / 'tiny-00001-of-00002.gguf', SCRIPTS)}")

    with pytest.raises(ModelNotFound, match=r"tiny-00002-of-00002\.gguf is missing"):
        await deltas_of(model, asked(model))
    await model.provider.close()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("local", r"name a model, as in local/\./model\.gguf"),
        ("local/./none.gguf", "none.gguf does not exist"),
        ("local/acme/tiny-GGUF:Q8_0", "is not on this machine; to download it: cinch models pull acme/tiny-GGUF:Q8_0"),
        ("local/qwen", "is not a model name: use a path"),
    ],
)
def test_a_model_that_is_not_here_is_reported_at_once(name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        connect(name)


def test_a_pulled_model_is_found_by_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "data" / "models" / "acme" / "tiny-GGUF"
    folder.mkdir(parents=True)
    write_model(folder / "tiny-Q8_0.gguf", SCRIPTS)

    assert connect("local/acme/tiny-GGUF").spec.name == "local/acme/tiny-GGUF"


def test_print_mode_answers_and_llama_is_silent(tmp_path: Path) -> None:
    path = write_model(tmp_path / "tiny.gguf", SCRIPTS)
    (tmp_path / "a.txt").write_text("hi")

    done = subprocess.run(
        [sys.executable, "-m", "cinch_tui", "-p", "What does a.txt say?", "-m", f"local/{path}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        env={**os.environ, "CINCH_KEYRING": "off", "PYTHONPATH": str(ROOT)},
    )

    assert (done.stdout, done.stderr, done.returncode) == ("".join(SAYS) + "\n", "", 0)


def test_nothing_is_paid_before_the_first_request(tmp_path: Path) -> None:
    path = write_model(tmp_path / "tiny.gguf", SCRIPTS)
    code = f"import sys; from providers import connect; connect('local/{path}'); print(*sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)

    loaded = set(done.stdout.split())
    assert "providers.gguf.provider" in loaded
    assert loaded.isdisjoint({"llama_cpp", "numpy", "jinja2", "httpx", "providers.gguf.hub"})
