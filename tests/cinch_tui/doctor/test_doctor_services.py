"""Reports on a service that answers, and on one that refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fakes.model_server import Failure, Hang, ModelServer, Raw, Reply
from fakes.patients import HURRIED, examined, report
from fakes.script import Script

from cinch_tui.models.connecting import ModelChoice
from harness.messages import Usage

Begin = Callable[[Script], ModelServer]
KEY = "sk-canary-0123456789"


async def only(*names: str, **how: Any) -> tuple[str, str]:
    """The level of the one finding there is, and its text."""
    [finding] = found = await examined(*names, **how)
    return finding.level, report(found)[0]


async def test_a_service_that_answers_takes_one_cheap_request(anthropic: Begin) -> None:
    server = anthropic([Reply("OK", usage=Usage(input=10, output=2))])

    level, reported = await only("anthropic/claude-sonnet-4-5")

    assert level == "ok"
    assert reported.startswith("ok anthropic answer: claude-sonnet-4-5 answered: first token after ")
    assert "for $0.000060; key from environment variable ANTHROPIC_API_KEY; at http://127.0.0.1:" in reported
    [request] = server.requests
    assert request.body["max_tokens"] == 16
    assert request.body.keys().isdisjoint({"tools", "thinking", "system"})


REFUSALS = {
    "key": (401, f"invalid key {KEY}", "bad", "key: the key from environment variable", "export ANTHROPIC_API_KEY=…"),
    "money": (400, "Your credit balance is too low", "bad", "account: Anthropic: no credit", "add credit"),
    "pace": (429, "slow down", "note", "answer: Anthropic: too many requests", "try again in 7 s"),
    "load": (529, "overloaded", "note", "answer: Anthropic: overloaded", "try again in 7 s"),
    "trouble": (500, "it broke", "bad", "answer: Anthropic: HTTP 500", "the service has a problem"),
    "request": (400, "no field of that name", "bad", "answer: Anthropic: HTTP 400", "supports the API of Anthropic"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSALS)
async def test_a_refusal_explains_what_to_do_and_never_shows_the_key(kind: str, anthropic: Begin) -> None:
    status, said, level, cause, remedy = REFUSALS[kind]
    anthropic([Failure(status, said, {"retry-after": "7"})])

    found = await only("anthropic")

    assert found[0] == level
    assert f"anthropic {cause}" in found[1]
    assert remedy in found[1].partition("→")[2]
    assert KEY not in found[1]


async def test_a_key_that_was_stored_is_fixed_where_it_was_typed(
    anthropic: Begin, monkeypatch: pytest.MonkeyPatch, own_home: Any
) -> None:
    anthropic([Failure(401)])
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    file = own_home / "cinch" / "data" / "credentials.json"
    file.parent.mkdir(parents=True)
    file.write_text(f'{{"anthropic": "{KEY}"}}')

    _, reported = await only("anthropic")

    assert f"the key from {file} was rejected" in reported
    assert "→ type #key anthropic in the app, or: export ANTHROPIC_API_KEY=…" in reported
    assert KEY not in reported


async def test_a_usual_model_that_is_not_there_is_no_fault_of_the_set_up(anthropic: Begin) -> None:
    server = anthropic([Failure(404, "model: none"), Failure(404, "model: none")])
    server.models = ("claude-sonnet-9",)

    ours = await only("anthropic")
    chosen = await only("anthropic/claude-sonnet-8")

    assert ours[0] == "note"
    assert "anthropic model: " in ours[1]
    assert "cinch models anthropic lists what it serves" in ours[1]
    assert chosen[0] == "bad"
    assert "did you mean claude-sonnet-9?" in chosen[1]


async def test_a_web_page_of_a_gateway_is_distinguished_from_the_service(anthropic: Begin) -> None:
    page = b"<html><head><title>Blocked by Acme</title></head></html>"
    anthropic([Raw(page, content_type="text/html")])

    level, reported = await only("anthropic")

    assert level == "bad"
    assert "Blocked by Acme" in reported
    assert "ask the administrator of your network to allow Anthropic" in reported


async def test_silence_after_connecting_is_named(anthropic: Begin) -> None:
    anthropic([Hang()])

    found = await examined("anthropic", patience=HURRIED)

    connection, answer = report(found)
    assert [finding.level for finding in found] == ["ok", "bad"]
    assert connection.startswith("ok anthropic connection: 127.0.0.1:")
    assert "did not answer within 0.3 s" in answer
    assert "→ the connection works" in answer


async def test_a_model_that_thinks_all_its_tokens_away_has_answered(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "Could not finish the message because max_tokens or model output limit was reached."
    monkeypatch.setenv("OPENAI_BASE_URL", start(ModelServer([Failure(400, said)])).openai_url)

    level, reported = await only("openai-chat/gpt-5")

    assert level == "ok", reported


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("ollama/qwen", "→ start it: ollama serve"),
        ("lmstudio", "→ start its server: lms server start"),
        ("vllm/qwen", "→ start it: vllm serve qwen"),
    ],
)
async def test_a_local_server_that_does_not_run_names_how_to_start_it(
    name: str, remedy: str, unused_tcp_port: int
) -> None:
    preset, _, model = name.partition("/")
    chosen = [ModelChoice(f"{preset}/{model}", f"http://127.0.0.1:{unused_tcp_port}/v1")]

    level, reported = await only(name, chosen=chosen)

    assert level == "bad"
    assert reported == f"bad {preset} connection: connection refused by 127.0.0.1:{unused_tcp_port} {remedy}"


async def test_a_local_server_lists_models_and_loads_only_a_chosen_one(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start(ModelServer([Reply("OK")], models=("qwen", "gemma")))
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")

    listed = await only("ollama")
    asked_first = len(server.requests)
    chosen = await only("ollama", chosen=[ModelChoice("ollama/gemma")])

    assert "models: serves qwen, gemma; at http://127.0.0.1:" in listed[1]
    assert asked_first == 0
    assert "answer: gemma answered" in chosen[1]


async def test_a_service_without_a_default_model_is_queried_for_its_list(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start(ModelServer(models=("gpt-9",)))
    monkeypatch.setenv("LITELLM_PROXY_API_BASE", server.openai_url)
    monkeypatch.setenv("LLM_BASE_URL", f"{server.url}/elsewhere")

    litellm = await only("litellm")
    proxy = await only("proxy")

    assert litellm[0] == "ok"
    assert "models: serves gpt-9; at http://127.0.0.1:" in litellm[1]
    assert litellm[1].endswith("→ to check a model: cinch doctor litellm/NAME")
    assert proxy[0] == "note"
    assert "models: the service does not list its models" in proxy[1]


async def test_a_local_server_without_models_names_how_to_get_one(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = start(ModelServer(models=()))
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")

    level, reported = await only("ollama")

    assert level == "note"
    assert reported.endswith("lists no models → fetch a model: ollama pull NAME")


@pytest.mark.parametrize(
    ("name", "reported"),
    [
        ("openai", "setup: no key for OpenAI: set OPENAI_API_KEY"),
        ("azure/mine", "setup: Azure OpenAI: no address"),
        ("bedrock", "key: no AWS credentials found"),
    ],
)
async def test_a_service_that_is_not_set_up_names_what_is_missing(name: str, reported: str) -> None:
    level, text = await only(name)

    assert level == "bad"
    assert reported in text


async def test_an_address_that_is_none_is_traced_to_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "models.example")

    level, reported = await only("anthropic")

    assert level == "bad"
    assert "the base URL 'models.example' must start with http:// or https://" in reported
    assert "→ correct the base URL from ANTHROPIC_BASE_URL" in reported
