"""What the tests of the doctor share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import TypeVar

import pytest
from fakes.model_server import ModelServer
from fakes.script import Script

from http_client.tls import CLIENT_CERTIFICATE, CLIENT_KEY, VARIABLES

T = TypeVar("T")
Start = Callable[[AbstractContextManager[T]], T]


@pytest.fixture(autouse=True)
def nothing_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is logged in anywhere, and the clouds' libraries ask no machine who it is."""
    for variable in list(os.environ):
        if variable.startswith(("AWS_", "AZURE_", "GOOGLE_", "LLM_", "LITELLM_", "OLLAMA_")):
            monkeypatch.delenv(variable)
    for variable in (*VARIABLES, CLIENT_CERTIFICATE, CLIENT_KEY):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(variable, os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def start() -> Iterator[Start[object]]:
    with ExitStack() as stack:
        yield stack.enter_context


@pytest.fixture
def anthropic(start: Start[ModelServer], monkeypatch: pytest.MonkeyPatch) -> Callable[[Script], ModelServer]:
    """A service in place of Anthropic's, for which a key is set."""

    def begin(script: Script) -> ModelServer:
        server = start(ModelServer(script))
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary-0123456789")
        return server

    return begin
