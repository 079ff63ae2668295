"""Bedrock's address and region, and the authorization of requests: an API key or a signature.

Environment variables and the profile's region are read as in Amazon's own programs.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import threading
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast
from urllib.parse import quote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from harness.errors import AuthenticationFailed, ConfigError, NetworkError
from providers.endpoint import Endpoint
from providers.net.http_errors import plain
from providers.preset import Secret

REGION_IN_HOST = r"bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\."
AMAZONS_HOST = r"\.(amazonaws\.com(\.cn)?|api\.aws)$"
DEFAULT_REGION = "us-east-1"
SERVICE = "bedrock"
LOGIN_HINT = "log in with: aws sso login, or give a key: export AWS_BEARER_TOKEN_BEDROCK=…"


class BedrockBackend:
    """Amazon's service in a region, or a gateway if the base URL was changed."""

    def __init__(self, endpoint: Endpoint, environment: Mapping[str, str] | None = None) -> None:
        """Read the environment; nothing is sent yet.

        Raises:
            ConfigError: There is neither a key nor a way to sign, or the region name is invalid.
        """
        variables = os.environ if environment is None else environment
        region = _region(endpoint, variables)
        base_url = _host(region) if endpoint.is_vendors_own else endpoint.base_url
        self.endpoint = replace(endpoint, base_url=base_url)
        self._is_amazons = re.search(AMAZONS_HOST, urlsplit(base_url).hostname or "") is not None
        if endpoint.secret is None and self._is_amazons and not can_sign():
            raise ConfigError(endpoint.preset.missing_login("AWS credentials", "bedrock"))
        self._signer = Signer(region, looks_again=self._is_amazons) if can_sign() else None

    def path_to(self, model_id: str) -> str:
        return f"/model/{quote(model_id, safe='')}/converse-stream"

    def listing(self, what: str) -> str:
        """Return the address of a list, which is on another host."""
        return f"{self.endpoint.base_url.replace('bedrock-runtime', 'bedrock', 1)}{what}"

    async def authorize(self, asked: UnsignedRequest, key: str | None) -> tuple[Endpoint, Mapping[str, str]]:
        """Return the headers for a request, with this key or the configured credentials, and the endpoint they belong
        to.

        Raises:
            ProviderError: There are no credentials to send.
        """
        endpoint = self.endpoint if key is None else self.endpoint.with_key(key)
        headers = {"content-type": "application/json"}
        if endpoint.secret is not None or self._signer is None:
            return endpoint, headers | endpoint.bearer_header
        signed = await self._signer.sign(asked, headers)
        if signed is not None:
            signed_headers, key_id = signed
            secret, token = Secret(key_id, "your AWS credentials"), signed_headers.get("x-amz-security-token", "")
            return replace(endpoint, secret=secret, session_token=token), signed_headers
        if self._is_amazons:
            raise AuthenticationFailed(f"no AWS credentials found; {LOGIN_HINT}")
        return endpoint, headers


def _host(region: str) -> str:
    return f"https://bedrock-runtime.{region}.amazonaws.com{'.cn' if region.startswith('cn-') else ''}"


def _region(endpoint: Endpoint, variables: Mapping[str, str]) -> str:
    in_host = re.search(REGION_IN_HOST, endpoint.base_url)
    if in_host and not endpoint.is_vendors_own:
        return in_host[1]
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        if region := variables.get(variable, "").strip():
            # It becomes part of a host name.
            if not re.fullmatch(r"[a-z0-9-]+", region):
                raise ConfigError(f"{variable} is {region!r}, which is not an AWS region")
            return region
    return _profiles_region(variables) or DEFAULT_REGION


def _profiles_region(variables: Mapping[str, str]) -> str:
    # Imported here: rarely needed.
    from configparser import ConfigParser, Error

    profile = variables.get("AWS_PROFILE") or variables.get("AWS_DEFAULT_PROFILE") or "default"
    path = Path(variables.get("AWS_CONFIG_FILE") or "~/.aws/config").expanduser()
    parser = ConfigParser(interpolation=None)
    try:
        parser.read(path, encoding="utf-8")
    except (Error, OSError, UnicodeDecodeError):
        return ""
    sections = (f"profile {profile}", profile)
    found = next((parser[name].get("region", "") for name in sections if parser.has_section(name)), "")
    return found if re.fullmatch(r"[a-z0-9-]+", found) else ""


class FrozenCredentials(Protocol):
    access_key: str
    secret_key: str
    token: str | None


class Credentials(Protocol):
    def get_frozen_credentials(self) -> FrozenCredentials: ...


class Session(Protocol):
    def get_credentials(self) -> Credentials | None: ...


class SignedRequest(Protocol):
    headers: Mapping[str, str]


class UnsignedRequest(Struct, frozen=True):
    """Request as it will be sent."""

    method: str
    url: str
    content: bytes = b""


def can_sign() -> bool:
    """Return True if botocore is installed, without importing it."""
    return importlib.util.find_spec("botocore") is not None


class Signer:
    """Signs requests for one region; credentials are cached and renewed before they expire.

    Args:
        region: Region of the service.
        looks_again: Search again before each request if there were no credentials: the user may log in meanwhile.
    """

    def __init__(self, region: str, *, looks_again: bool) -> None:
        self._region = region
        self._looks_again = looks_again
        self._lock = threading.Lock()
        self._has_looked = False
        self._credentials: Credentials | None = None

    async def sign(self, asked: UnsignedRequest, headers: Mapping[str, str]) -> tuple[Mapping[str, str], str] | None:
        """Return the headers with a signature, and the id of the credentials; None if there are none.

        Raises:
            AuthenticationFailed: The credentials have expired, or a profile does not exist.
            NetworkError: New credentials could not be requested.
        """
        # Finding and renewing credentials may read files, run programs and send requests.
        return await asyncio.to_thread(self._signed, asked, headers)

    def _signed(self, asked: UnsignedRequest, headers: Mapping[str, str]) -> tuple[Mapping[str, str], str] | None:
        # Optional, and slow to import.
        exceptions = import_module("botocore.exceptions")
        try:
            with self._lock:
                frozen = self._frozen()
        except exceptions.HTTPClientError as error:
            raise NetworkError(f"could not request AWS credentials: {plain(str(error))}") from error
        except (exceptions.BotoCoreError, exceptions.ClientError) as error:
            raise AuthenticationFailed(f"the AWS credentials are invalid; {LOGIN_HINT}: {plain(str(error))}") from error
        if frozen is None:
            return None
        request = import_module("botocore.awsrequest").AWSRequest(asked.method, asked.url, dict(headers), asked.content)
        import_module("botocore.auth").SigV4Auth(frozen, SERVICE, self._region).add_auth(request)
        # botocore has no types.
        signed = cast("SignedRequest", request)
        return {name.lower(): value for name, value in signed.headers.items()}, frozen.access_key

    def _frozen(self) -> FrozenCredentials | None:
        if not self._has_looked:
            # botocore has no types.
            session = cast("Session", import_module("botocore.session").Session())
            self._credentials = session.get_credentials()
            self._has_looked = self._credentials is not None or not self._looks_again
        return self._credentials.get_frozen_credentials() if self._credentials else None
