from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.list_server import ListServer

from cinch_tui.models.offers import capabilities_text, capability_letters, price_text, summary, window_text
from cinch_tui.print_mode.output import Output
from cinch_tui.subcommands.models import run
from harness.errors import ConfigError
from harness.ports.provider import Price
from providers.installed import each_preset
from providers.model_catalog.local_servers import LocalServer
from providers.model_catalog.metadata import ModelMetadata

CLAUDES: dict[str, Any] = {
    "data": [
        {"id": "claude-sonnet-4-5", "created_at": "2025-09-29T00:00:00Z", "max_input_tokens": 200_000},
        {"id": "claude-opus-9-with-a-name-that-goes-on-and-on-and-on", "created_at": "2026-09-29T00:00:00Z"},
    ]
}
LONG = "anthropic/claude-opus-9-with-a-name-that-goes-on-and-on-and-on"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for preset in each_preset():
        for variable in (*preset.variables, preset.base_url_variable):
            if variable:
                monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("CINCH_HOME", str(tmp_path))
    monkeypatch.setenv("CINCH_KEYRING", "off")
    monkeypatch.setattr("cinch_tui.models.offers.models_folder", lambda: tmp_path / "none")


@pytest.fixture
def claudes(monkeypatch: pytest.MonkeyPatch) -> Iterator[ListServer]:
    with ListServer({"/v1/models": CLAUDES}) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-listing")
        yield server


def models(*argv: str, stream: io.StringIO | None = None) -> tuple[int, list[str]]:
    stream = stream or io.StringIO()
    status = run(argv, Path(), Output(stream))
    return status, stream.getvalue().splitlines()


@pytest.mark.usefixtures("claudes")
def test_each_line_is_a_name_with_window_price_and_abilities(capsys: pytest.CaptureFixture[str]) -> None:
    status, lines = models("claude")

    assert status == 0
    assert lines == [
        f"{LONG}{'':18}images tools thinking",
        f"{'anthropic/claude-sonnet-4-5':<{len(LONG)}}  200k  $3 / $15  images tools thinking",
    ]
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("claudes")
def test_a_terminal_of_eighty_columns_holds_each_line_and_explains_its_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    _, lines = models("anthropic", stream=Terminal())

    assert max(len(line) for line in lines[:2]) <= 80
    assert lines[0].startswith(LONG[:40])
    assert lines[0].endswith("itr")
    assert "i image input" in lines[-1]


@pytest.mark.usefixtures("claudes")
def test_a_wide_terminal_shows_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")

    _, lines = models("anthropic", stream=Terminal())

    assert lines[0].endswith("images tools thinking")
    assert "sees images" not in lines[-1]


@pytest.mark.usefixtures("claudes")
def test_words_stay_where_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    _, lines = models("sonnet", stream=Terminal())

    assert lines[0] == "anthropic/claude-sonnet-4-5  200k  $3 / $15  images tools thinking"
    assert "sees images" not in lines[-1]


@pytest.mark.usefixtures("claudes")
@pytest.mark.parametrize("words", [["sonnet", "4-5"], ["anthropic/clsonnet"], ["SONNET"], ["200k", "$3", "tools"]])
def test_words_are_found_anywhere_in_a_line_and_their_letters_at_least(words: list[str]) -> None:
    _, lines = models(*words)

    assert [line.split()[0] for line in lines] == ["anthropic/claude-sonnet-4-5"]


@pytest.mark.usefixtures("claudes")
def test_json_has_a_model_a_line() -> None:
    _, lines = models("--json", "sonnet")

    assert [json.loads(line) for line in lines] == [
        {
            "name": "anthropic/claude-sonnet-4-5",
            "provider": "anthropic",
            "id": "claude-sonnet-4-5",
            "listed": True,
            "context_window": 200_000,
            "max_output": None,
            "price": {
                "input": 3.0,
                "output": 15.0,
                "cache_read": 0.3,
                "cache_write": 3.75,
                "cache_write_1h": 6.0,
                "searches": 10.0,
            },
            "images": True,
            "tools": True,
            "thinking": True,
        }
    ]


@pytest.mark.usefixtures("claudes")
def test_an_unreachable_service_costs_one_line_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody-there")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")

    _, lines = models()

    names = [line.split()[0] for line in lines]
    assert "anthropic/claude-sonnet-4-5" in names
    assert "openai/gpt-5" in names
    assert not any(name.startswith("openai-chat/") for name in names)
    aside = capsys.readouterr().err.splitlines()
    assert len(aside) == 1
    assert aside[0].startswith("openai: ")
    assert aside[0].endswith("(models listed from price data)")


def test_a_key_that_is_refused_offers_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ListServer({}, status=401) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-refused")
        status, lines = models("claude")

    assert (status, lines) == (1, [])
    assert "anthropic: the key from environment variable ANTHROPIC_API_KEY" in capsys.readouterr().err


def test_a_provider_without_a_key_is_listed_from_the_price_data_and_that_is_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, lines = models("mistral")

    assert status == 0
    assert all(line.startswith("mistral/") for line in lines)
    assert "no key for Mistral" in capsys.readouterr().err


def test_an_unknown_provider_error_explains_what_to_do() -> None:
    with pytest.raises(ConfigError, match="no key for Hugging Face"):
        models("huggingface")


def test_all_has_those_of_providers_without_a_key_once() -> None:
    _, lines = models("--all")

    providers = list(dict.fromkeys(line.partition("/")[0] for line in lines))
    assert providers[:3] == ["anthropic", "openai", "gemini"]
    assert "openrouter" in providers
    assert "openai-chat" not in providers


def test_an_empty_model_list_explains_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_servers() -> list[LocalServer]:
        return []

    monkeypatch.setattr("cinch_tui.models.offers.find_local_servers", no_servers)

    status, lines = models()

    assert status == 0
    assert lines[0].startswith("No API key was found")
    assert any(line.startswith("anthropic ") and "ANTHROPIC_API_KEY is not set" in line for line in lines)


@pytest.mark.usefixtures("claudes")
def test_the_providers_are_shown_with_where_their_key_is_from() -> None:
    _, lines = models("--providers")

    assert lines[0].split(maxsplit=2) == ["anthropic", "Anthropic", "key from environment variable ANTHROPIC_API_KEY"]
    assert lines[-1].endswith("needs no key")


def test_a_model_that_was_pulled_is_one_to_be_had(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "models" / "acme" / "tiny-GGUF" / "tiny-Q4_K_M.gguf"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"GGUF")
    monkeypatch.setattr("cinch_tui.models.offers.models_folder", lambda: tmp_path / "models")

    _, lines = models("tiny")

    assert lines == ["local/acme/tiny-GGUF/tiny-Q4_K_M.gguf"]


def test_pull_has_its_own_messages() -> None:
    with pytest.raises(ConfigError, match="usage: cinch models pull"):
        models("pull")
    assert models("local")[0] == 0


def test_help_and_an_unknown_flag() -> None:
    assert models("-h")[1][0].startswith("cinch models ")
    with pytest.raises(ConfigError, match="unknown option --every"):
        models("--every")


def test_no_match_is_a_status(claudes: ListServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert models("zzzz") == (1, [])
    assert "no model matches 'zzzz'; to search all providers: cinch models --all zzzz" in capsys.readouterr().err
    assert claudes.asked == ["/v1/models"]


def test_words_that_fit_nothing_are_no_misspelt_provider(capsys: pytest.CaptureFixture[str]) -> None:
    assert models("--all", "claude", "nonsense") == (1, [])
    assert capsys.readouterr().err.endswith("no model matches 'claude nonsense'\n")


def test_a_misspelt_provider_is_reported_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert models("antropic") == (1, [])
    assert "did you mean the provider anthropic?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (None, ""),
        (0, ""),
        (448, "448"),
        (4_096, "4k"),
        (8_191, "8k"),
        (128_000, "128k"),
        (131_072, "128k"),
        (200_000, "200k"),
        (1_000_000, "1M"),
        (1_048_576, "1M"),
        (1_050_000, "1.05M"),
        (2_097_152, "2M"),
    ],
)
def test_a_window_is_shown_in_round_thousands(tokens: int | None, text: str) -> None:
    assert window_text(tokens) == text


@pytest.mark.parametrize(
    ("price", "text"),
    [
        (None, ""),
        (Price(3, 15), "$3 / $15"),
        (Price(0, 0), "free"),
        (Price(0.075, 0.3), "$0.075 / $0.30"),
        (Price(1.25, 10), "$1.25 / $10"),
        (Price(0, 0.5), "$0 / $0.50"),
    ],
)
def test_a_price_is_shown_in_dollars_for_a_million(price: Price | None, text: str) -> None:
    assert price_text(price) == text


def test_unknown_facts_are_omitted_and_missing_tools_are_not() -> None:
    assert capabilities_text(ModelMetadata()) == capability_letters(ModelMetadata()) == summary(ModelMetadata()) == ""
    assert capabilities_text(ModelMetadata(images=False, tools=False, thinking=True)) == "no tools thinking"
    assert capability_letters(ModelMetadata(tools=False, thinking=True)) == " xr"
    assert summary(ModelMetadata(1_000_000, price=Price(3, 15), tools=True)) == "1M · $3 / $15 · tools"
