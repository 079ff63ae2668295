from __future__ import annotations

import pytest
from rich.pretty import pretty_repr

from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.api_keys.leak_check import TypedKey
from cinch_tui.api_keys.provider_key import EnteredKey
from cinch_tui.config.paths import find_paths
from cinch_tui.doctor.connection import ProxyServer
from cinch_tui.screens.welcome import UseKey
from harness.messages import ModelSpec
from harness.ports.provider import Request
from http_client.proxies import Proxy
from providers.endpoint import Endpoint
from providers.gemini.vertex import Token
from providers.installed import find_preset
from providers.preset import EnvironmentCredentials, Secret

KEY = "sk-1234567890"


def endpoint() -> Endpoint:
    preset = find_preset("openai")
    assert preset
    return Endpoint(preset, "https://api.openai.com", Secret(KEY, "keyring"), session_token=KEY)


@pytest.mark.parametrize(
    "value",
    [
        EnteredKey(KEY),
        KeyStore(find_paths({"HOME": "/home/user"}), {"OPENAI_API_KEY": KEY}),
        TypedKey("openai", KEY),
        ProxyServer(f"http://user:{KEY}@proxy", "HTTPS_PROXY", "http", "proxy", 80, has_login=True),
        UseKey("openai", KEY),
        Request(ModelSpec("openai", "gpt"), "", (), api_key=KEY),
        EnvironmentCredentials({"OPENAI_API_KEY": KEY}),
        Secret(KEY, "keyring"),
        endpoint(),
        Token(KEY, "project", "payer"),
        Proxy(f"http://user:{KEY}@proxy", "HTTPS_PROXY"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_secret_never_appears_in_a_repr(value: object) -> None:
    assert KEY not in repr(value)
    assert KEY not in pretty_repr(value)
    assert type(value).__name__ in repr(value)


def test_other_fields_appear_in_a_repr() -> None:
    assert repr(Secret(KEY, "keyring")) == "Secret(source='keyring', variable='')"
