"""Test credentials for Amazon Bedrock."""

from __future__ import annotations

import pytest
from botocore.credentials import Credentials

KEY = "ABSK-very-secret-0123456789"
KEYS = Credentials("AKIAEXAMPLE0123456789", "wJalr/secret+key", "a-session-token==")
CLAUDE = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
STREAM = "application/vnd.amazon.eventstream"


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", KEY)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS.secret_key)
    monkeypatch.setenv("AWS_SESSION_TOKEN", KEYS.token)
