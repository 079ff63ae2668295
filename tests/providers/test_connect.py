from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from harness.errors import ConfigError
from harness.ports.provider import ModelInfo
from providers import connect
from providers.model_catalog.prices import PricedModelInfo
from providers.preset import EnvironmentCredentials, Secret, presets


class Stored:
    """Credentials that know one key."""

    def __init__(self, value: str) -> None:
        self.value = value
        self.asked: list[tuple[str, Sequence[str]]] = []

    def find(self, preset_name: str, variables: Sequence[str]) -> Secret | None:
        self.asked.append((preset_name, variables))
        return Secret(self.value, "keyring")


def test_a_name_is_a_preset_and_a_model_that_may_hold_slashes() -> None:
    model = connect("openrouter/anthropic/claude-sonnet-5.5", credentials=Stored("k"), thinking="high")

    assert (model.spec.provider, model.spec.model_id) == ("openrouter", "anthropic/claude-sonnet-5.5")
    assert model.spec.thinking == "high"
    assert model.provider.name == "openrouter"


@pytest.mark.parametrize("name", ["anthropic", "openai-chat", "openrouter", "gemini", "vertex"])
def test_a_bare_preset_means_its_default_model(name: str) -> None:
    assert connect(name, credentials=Stored("k")).spec.model_id == presets()[name].default_model


@pytest.mark.parametrize("name", ["ollama/qwen3-coder", "lmstudio/x", "llamacpp/x", "vllm/org/x"])
def test_local_servers_need_no_key(name: str) -> None:
    assert connect(name).spec.name == name


@pytest.mark.parametrize(
    ("name", "reported"),
    [
        ("antropic/x", "did you mean anthropic"),
        ("claude-sonnet-5-5", "did you mean anthropic/claude-sonnet-5-5"),
        ("gemini-3.8-flash", "did you mean gemini/gemini-3.8-flash"),
        ("gpt-5.1", "did you mean openai/gpt-5.1"),
        ("google/gemini-3", "did you mean openrouter/google/gemini-3"),
        ("zzzzzz", "known are anthropic"),
        ("", "known are anthropic"),
        ("ollama", "ollama/NAME"),
        ("ollama/", "ollama/NAME"),
    ],
)
def test_connection_problems_are_explained(name: str, reported: str) -> None:
    with pytest.raises(ConfigError) as caught:
        connect(name)

    assert reported in str(caught.value)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "http://", "http://[::1", "https://me:hunter2@h/v1"])
def test_a_base_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="base URL") as caught:
        connect("openai-chat/x", base_url=url)

    assert "hunter2" not in str(caught.value)


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", " ")
    monkeypatch.setenv("OPENROUTER_KEY", "k2\n")

    secret = EnvironmentCredentials().find("openrouter", presets()["openrouter"].variables)

    assert secret == Secret("k2", "environment variable OPENROUTER_KEY", "OPENROUTER_KEY")


def test_an_own_server_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")

    assert connect("anthropic/x").spec.base_url == ""
    assert connect("openai-chat/x", base_url="http://127.0.0.1:2/v1").spec.base_url == "http://127.0.0.1:2/v1"


@pytest.mark.parametrize("value", ["schlüssel", "two words", "line\x00"])
def test_a_key_that_cannot_be_one_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(ConfigError, match="the key from keyring") as caught:
        connect("anthropic", credentials=Stored(value))

    assert value not in str(caught.value)


def test_credentials_are_called_with_the_preset_and_its_variables() -> None:
    stored = Stored("k")

    connect("anthropic", credentials=stored)

    assert [(name, list(variables)) for name, variables in stored.asked] == [
        ("anthropic", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
    ]


def test_connecting_loads_neither_the_http_client_nor_prices() -> None:
    code = (
        "import sys; from providers import connect; connect('ollama/x'); connect('anthropic/x', base_url='http://h');"
        "print(sorted({'httpx', 'genai_prices', 'anthropic', 'openai', 'pydantic'} & set(sys.modules)))"
    )

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "[]"


async def test_model_info_is_loaded_on_demand() -> None:
    facts = connect("anthropic/claude-sonnet-4-5", credentials=Stored("k")).info

    before = facts.now
    loaded = await facts.load()

    assert before is None
    assert facts.now == loaded
    assert loaded.context_window == 200_000
    assert loaded.price
    assert (loaded.price.input, loaded.price.output) == (3, 15)
    assert (loaded.price.cache_read, loaded.price.cache_write, loaded.price.cache_write_1h) == (0.3, 3.75, 6)
    assert loaded.price.searches == 10


async def test_an_unknown_model_has_the_usual_window_and_no_price() -> None:
    assert await PricedModelInfo(presets()["anthropic"], "claude-of-tomorrow-99").load() == ModelInfo()
