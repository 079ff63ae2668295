"""Gemini models in Google Cloud: project, location and authorization of requests."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Protocol

from msgspec.structs import replace

from harness.errors import AuthenticationFailed, ConfigError, NetworkError
from harness.structs import Redacted
from providers.endpoint import Endpoint
from providers.gemini.provider import GeminiProvider, Route, key_header
from providers.net.http_errors import plain
from providers.preset import Secret

CONTINENTS = ("us", "eu")
PROJECT_HINT = "name a Google Cloud project: export GOOGLE_CLOUD_PROJECT=…"
TOKEN = r"ya29\.|eyJ"
"""Prefixes of access tokens; API keys begin differently."""
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
LOGIN_HINT = "log in with: gcloud auth application-default login"


class VertexProvider(GeminiProvider):
    """Streams replies of Google Cloud's models, or of a gateway's if the base URL was changed."""

    version = "/v1beta1"
    # All projects have the same list.
    list_path = "/publishers/google/models?pageSize=200"

    def __init__(self, endpoint: Endpoint) -> None:
        """Read the environment; no login takes place yet.

        Raises:
            ConfigError: There is no way to authorize, or a required project is missing.
        """
        super().__init__(endpoint)
        self._is_googles = endpoint.is_vendors_own
        self._project = _from_environment("GOOGLE_CLOUD_PROJECT")
        self._location = _from_environment("GOOGLE_CLOUD_LOCATION") or "global"
        needs_login = endpoint.secret is None and self._is_googles
        if needs_login and not can_log_in():
            raise ConfigError(endpoint.preset.missing_login("Google Cloud login", "vertex"))
        self._login = Login() if needs_login else None
        if self._is_googles and _is_token(endpoint) and not self._project:
            raise ConfigError(f"{endpoint.preset.label}: {PROJECT_HINT}")

    async def route(self, key: str | None) -> Route:
        endpoint = self.endpoint
        if key is not None:
            return self._route_for(endpoint.with_key(key))
        if self._login is None:
            return self._route_for(endpoint)
        token = await self._login.token()
        endpoint = replace(endpoint, secret=Secret(token.value, "your Google Cloud login"))
        route = self._in_project(endpoint, self._project or token.project)
        return replace(route, headers={**route.headers, "x-goog-user-project": token.payer}) if token.payer else route

    def model_name(self, model_id: str) -> str:
        if model_id.startswith(("projects/", "publishers/")):
            return model_id
        publisher, _, name = model_id.removeprefix("models/").rpartition("/")
        return f"publishers/{publisher or 'google'}/models/{name}"

    def _route_for(self, endpoint: Endpoint) -> Route:
        if endpoint.secret is not None and not _is_token(endpoint):
            return Route(endpoint, key_header(endpoint), self.version)
        return self._in_project(endpoint, self._project)

    def _in_project(self, endpoint: Endpoint, project: str) -> Route:
        if self._is_googles:
            if not project:
                raise AuthenticationFailed(f"{endpoint.preset.label}: {PROJECT_HINT}")
            endpoint = replace(endpoint, base_url=_host(self._location))
        headers = {"content-type": "application/json", **endpoint.bearer_header}
        root = f"{self.version}/projects/{project}/locations/{self._location}" if project else self.version
        return Route(endpoint, headers, root)


def _is_token(endpoint: Endpoint) -> bool:
    secret = endpoint.secret
    return secret is not None and (endpoint.sends_bearer or re.match(TOKEN, secret.value) is not None)


def _host(location: str) -> str:
    if location == "global":
        return "https://aiplatform.googleapis.com"
    if location in CONTINENTS:
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"


def _from_environment(variable: str) -> str:
    value = os.environ.get(variable, "").strip()
    # It becomes part of a URL.
    if not re.fullmatch(r"[a-zA-Z0-9:._-]*", value):
        raise ConfigError(f"{variable} is {value!r}, which is not a valid Google Cloud name")
    return value


class GoogleCredentials(Protocol):
    """Credentials of google-auth, which has no types."""

    token: str | None
    valid: bool
    quota_project_id: str | None
    refresh: Callable[[object], None]


class Token(Redacted, frozen=True):
    """Access token, valid for an hour."""

    _hidden = ("value",)

    value: str
    project: str
    """Project of the login; may be empty."""

    payer: str
    """Project to be billed; may be empty."""


def can_log_in() -> bool:
    """Return True if google-auth is installed, without importing it."""
    try:
        return importlib.util.find_spec("google.auth") is not None
    except ModuleNotFoundError:
        return False


class Login:
    """Supplies tokens, and requests a new one before the last expires."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._credentials: GoogleCredentials | None = None
        self._project = ""

    async def token(self) -> Token:
        """Return a token that is valid for some minutes at least.

        Raises:
            AuthenticationFailed: There are no credentials, or they have expired.
            NetworkError: Google could not be reached.
        """
        return await asyncio.to_thread(self._fresh)

    def _fresh(self) -> Token:
        # Optional, and slow to import.
        from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError, TransportError

        try:
            with self._lock:
                return self._renewed()
        except DefaultCredentialsError as error:
            raise AuthenticationFailed(
                f"no Google Cloud credentials found; {LOGIN_HINT}: {plain(str(error))}"
            ) from error
        except TransportError as error:
            raise NetworkError(f"could not request a token from Google: {plain(str(error))}") from error
        except GoogleAuthError as error:
            raise AuthenticationFailed(
                f"the Google Cloud credentials were rejected; {LOGIN_HINT}: {plain(str(error))}"
            ) from error

    def _renewed(self) -> Token:
        credentials = self._credentials
        if credentials is None:
            credentials, project = import_module("google.auth").default(scopes=[SCOPE])
            self._credentials, self._project = credentials, project or ""
        if not credentials.valid:
            credentials.refresh(import_module("google.auth.transport.requests").Request())
        return Token(credentials.token or "", self._project, credentials.quota_project_id or "")
