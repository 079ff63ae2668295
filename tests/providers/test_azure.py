from __future__ import annotations

import pytest

from harness.errors import ConfigError
from providers import connect, endpoint_of
from providers.preset import presets


@pytest.mark.parametrize(
    ("url", "reached", "is_own"),
    [
        ("https://res.openai.azure.com", "https://res.openai.azure.com/openai/v1", True),
        ("https://res.services.ai.azure.com/", "https://res.services.ai.azure.com/openai/v1", True),
        ("https://res.openai.azure.com/openai/v1/", "https://res.openai.azure.com/openai/v1", True),
        (
            "https://res.openai.azure.com/openai/deployments/d?api-version=2025-04-01-preview",
            "https://res.openai.azure.com/openai/deployments/d?api-version=2025-04-01-preview",
            True,
        ),
        ("https://gateway.example.com/azure", "https://gateway.example.com/azure", False),
    ],
)
def test_azure_is_found_by_its_resource(url: str, reached: str, is_own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", url)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")

    endpoint = endpoint_of(presets()["azure-chat"])

    assert (endpoint.base_url, endpoint.is_vendors_own) == (reached, is_own)
    assert endpoint.key_headers == {"api-key": "k"}


def test_azure_tokens_go_where_tokens_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://res.openai.azure.com")
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "t")

    assert endpoint_of(presets()["azure"]).key_headers == {"authorization": "Bearer t"}


def test_azure_without_a_resource_or_a_key_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="set AZURE_OPENAI_ENDPOINT="):
        connect("azure/my-gpt")

    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://res.openai.azure.com")
    with pytest.raises(ConfigError, match="AZURE_OPENAI_API_KEY or AZURE_API_KEY or AZURE_OPENAI_AD_TOKEN"):
        endpoint_of(presets()["azure"])
