"""Gemini models in Google Cloud (Vertex AI, now the Gemini Enterprise Agent Platform).

Authorized by a login for a project and a location, or by an API key, which implies both. `GOOGLE_CLOUD_PROJECT` and
`GOOGLE_CLOUD_LOCATION` are read as in Google's own SDK.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.errors import AuthenticationFailed, ConfigError
from providers.catalog import Secret
from providers.endpoint import Endpoint
from providers.gemini.backend import Route, key_header, unversioned
from providers.gemini.login import Login, can_log_in

if TYPE_CHECKING:
    from providers.gemini.backend import Backend

VERSION = "/v1beta1"
CONTINENTS = ("us", "eu")
PROJECT_HINT = "name a Google Cloud project: export GOOGLE_CLOUD_PROJECT=…"
TOKEN = r"ya29\.|eyJ"
"""Prefixes of access tokens; API keys begin differently."""


class VertexBackend:
    """Google Cloud's service, or a gateway if the base URL was changed."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Read the environment; no login takes place yet.

        Raises:
            ConfigError: There is no way to authorize, or a required project is missing.
        """
        self._is_googles = endpoint.is_vendors_own
        self._project = _from_environment("GOOGLE_CLOUD_PROJECT")
        self._location = _from_environment("GOOGLE_CLOUD_LOCATION") or "global"
        self.endpoint = replace(endpoint, base_url=unversioned(endpoint.base_url))
        self._login = self._login_for(endpoint)
        if self._is_googles and _is_token(endpoint) and not self._project:
            raise ConfigError(f"{endpoint.preset.label}: {PROJECT_HINT}")

    async def route(self, key: str | None) -> Route:
        if key is not None:
            return self._route_for(self.endpoint.with_key(key))
        if self._login is None:
            return self._route_for(self.endpoint)
        token = await self._login.token()
        endpoint = replace(self.endpoint, secret=Secret(token.value, "your Google Cloud login"))
        route = self._in_project(endpoint, self._project or token.project)
        return replace(route, headers={**route.headers, "x-goog-user-project": token.payer}) if token.payer else route

    def model_name(self, model_id: str) -> str:
        if model_id.startswith(("projects/", "publishers/")):
            return model_id
        publisher, _, name = model_id.removeprefix("models/").rpartition("/")
        return f"publishers/{publisher or 'google'}/models/{name}"

    def listing(self, route: Route) -> str:
        del route
        # All projects have the same list.
        return f"{VERSION}/publishers/google/models?pageSize=200"

    def _login_for(self, endpoint: Endpoint) -> Login | None:
        if endpoint.secret is not None or not self._is_googles:
            return None
        if not can_log_in():
            looked = " or ".join(endpoint.preset.variables)
            raise ConfigError(
                f"no key for {endpoint.preset.label}: nothing in {looked}; to use your Google Cloud login instead, "
                "install the extra: pip install 'cinch-tui[vertex]'"
            )
        return Login()

    def _route_for(self, endpoint: Endpoint) -> Route:
        if endpoint.secret is not None and not _is_token(endpoint):
            return Route(endpoint, key_header(endpoint), VERSION)
        return self._in_project(endpoint, self._project)

    def _in_project(self, endpoint: Endpoint, project: str) -> Route:
        if self._is_googles:
            if not project:
                raise AuthenticationFailed(f"{endpoint.preset.label}: {PROJECT_HINT}")
            endpoint = replace(endpoint, base_url=_host(self._location))
        headers = {"content-type": "application/json", **endpoint.bearer_header}
        root = f"{VERSION}/projects/{project}/locations/{self._location}" if project else VERSION
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


if TYPE_CHECKING:
    _: type[Backend] = VertexBackend
