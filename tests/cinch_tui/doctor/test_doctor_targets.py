"""Services that are checked, and the order in which they are reported."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from fakes.model_server import ModelServer, Reply
from fakes.patients import examined, report
from fakes.script import Script

from cinch_tui.models.connecting import ModelChoice
from harness.errors import ConfigError
from providers.preset import presets

Begin = Callable[[Script], ModelServer]
KEY = "sk-canary-0123456789"


async def set_up(**how: Any) -> list[str]:
    """Report of services without a request to any of them."""
    found = report(await examined(is_offline=True, **how))
    return found[next(at for at, line in enumerate(found) if line.split()[1] == "services") :]


async def test_a_service_with_a_key_an_address_or_a_choice_counts_as_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", KEY)
    monkeypatch.setenv("OLLAMA_HOST", "box:11434")

    others = len(presets()) - 3

    reported = await set_up(chosen=[ModelChoice("vllm/qwen"), ModelChoice("vllm/qwen"), ModelChoice("demo/tour")])

    assert reported == [
        f"ok services configured: mistral, ollama, vllm; {others} other providers: cinch models --providers",
        "ok mistral not checked; key from environment variable MISTRAL_API_KEY",
        "ok ollama not checked; at http://box:11434",
        "ok vllm vllm/qwen; at http://127.0.0.1:8000/v1",
    ]


async def test_a_variable_that_other_programs_use_sets_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", KEY)

    [reported] = await set_up()
    [named] = report(await examined("github-models", is_offline=True))

    assert reported.startswith("note services no API key and no local server found")
    assert named == "ok github-models not checked; key from environment variable GITHUB_TOKEN"


@pytest.mark.parametrize(("chosen", "asked"), [([], "openai"), ([ModelChoice("openai-chat/gpt-5")], "openai-chat")])
async def test_two_presets_of_one_account_are_looked_at_once(
    chosen: list[ModelChoice], asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    reported = await set_up(chosen=chosen)

    assert [line.split()[1] for line in reported] == ["services", asked]


async def test_a_chosen_model_of_an_unknown_provider_is_bad() -> None:
    reported = report(await examined(is_offline=True, chosen=[ModelChoice("opnai/gpt-5")]))

    assert any(line.startswith("bad model opnai/gpt-5: unknown provider 'opnai'") for line in reported)


async def test_a_name_that_is_no_providers_is_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean"):
        await examined("antropic")


async def test_a_model_that_needs_no_service_sends_no_request() -> None:
    assert report(await examined("demo")) == ["ok model demo needs no service"]


async def test_services_are_checked_concurrently_and_reported_in_order(
    anthropic: Begin, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_was_asked = threading.Event()

    def first(body: object) -> Reply:
        other_was_asked.wait(timeout=60)
        return Reply("OK")

    def second(body: object) -> Reply:
        other_was_asked.set()
        return Reply("OK")

    anthropic(first)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", start(ModelServer(second)).openai_url)

    reported = report(await examined("anthropic", "openai"))

    assert other_was_asked.is_set()
    assert [line.split()[:3] for line in reported] == [["ok", "anthropic", "answer:"], ["ok", "openai", "answer:"]]
