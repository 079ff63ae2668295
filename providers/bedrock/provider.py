"""Provider for Amazon Bedrock's Converse API, with the model list of an account in a region."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Mapping, Set
from pathlib import Path
from urllib.parse import quote, urlsplit

from msgspec.structs import replace

from harness.deltas import Delta
from harness.errors import AuthenticationFailed, ConfigError, RequestRejected
from harness.messages import JsonValue, ModelSpec
from harness.ports.provider import Request
from providers.anthropic.thinking import MISSING_THINKING
from providers.bedrock.decode import ConverseDecoder
from providers.bedrock.encode import SCHEMA, TEMPERATURE, THINKING, encode
from providers.bedrock.frames import FrameDecoder
from providers.bedrock.signing import LOGIN_HINT, Signer, can_sign
from providers.bedrock.traits import traits_of
from providers.endpoint import Endpoint
from providers.http_provider import HttpProvider, add_new
from providers.model_catalog.listing import entries_of, listed, name_of
from providers.model_catalog.metadata import ListedModel, ModelMetadata
from providers.net.stream import deltas
from providers.net.transport import json_bytes
from providers.preset import Secret
from providers.wire.caching import REJECTABLE_MARKS
from providers.wire.citations import as_object, objects
from providers.wire.turns import ids_with_thinking

# Features that models reject, by the text of their error.
REJECTABLE = (
    *REJECTABLE_MARKS,
    (r"temperature", TEMPERATURE),
    (r"thinking|reasoning|effort|output_config\.effort|extraneous key", THINKING),
)
REFUSED_SCHEMA = r"outputconfig|textformat|output_config\.format|schema|structured output"
REFUSED_SIGNATURE = r"thinking.*signature|signature.*thinking|reasoning.*signature"
REGION_IN_HOST = r"bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\."
AMAZONS_HOST = r"\.(amazonaws\.com(\.cn)?|api\.aws)$"
DEFAULT_REGION = "us-east-1"
MODELS = "/foundation-models?byOutputModality=TEXT"
PROFILES = "/inference-profiles?maxResults=1000"
"""Newer models are available only through an inference profile, which distributes requests over regions."""


class BedrockProvider(HttpProvider):
    """Streams replies of the models in one region of Amazon's service, or of a gateway if the base URL was changed.

    If a model rejects an optional part of a request, the part is left out from then on. Environment variables and the
    profile's region are read as in Amazon's own programs.
    """

    def __init__(self, endpoint: Endpoint, environment: Mapping[str, str] | None = None) -> None:
        """Read the environment; nothing is sent yet.

        Raises:
            ConfigError: There is neither a key nor a way to sign, or the region name is invalid.
        """
        region = _region(endpoint, os.environ if environment is None else environment)
        host = f"https://bedrock-runtime.{region}.amazonaws.com{'.cn' if region.startswith('cn-') else ''}"
        base_url = host if endpoint.is_vendors_own else endpoint.base_url
        self._is_amazons = re.search(AMAZONS_HOST, urlsplit(base_url).hostname or "") is not None
        if endpoint.secret is None and self._is_amazons and not can_sign():
            raise ConfigError(endpoint.preset.missing_login("AWS credentials", "bedrock"))
        self._signer = Signer(region, looks_again=self._is_amazons) if can_sign() else None
        # Headers depend on the request, which they sign.
        super().__init__(replace(endpoint, base_url=base_url), lambda _: {})

    async def authorize(
        self, method: str, url: str, key: str | None, content: bytes = b""
    ) -> tuple[Endpoint, Mapping[str, str]]:
        """Return the headers for a request, with this key or the configured credentials, and the endpoint they belong
        to.

        Raises:
            ProviderError: There are no credentials to send.
        """
        endpoint = self.endpoint if key is None else self.endpoint.with_key(key)
        headers = {"content-type": "application/json"}
        if endpoint.secret is not None or self._signer is None:
            return endpoint, headers | endpoint.bearer_header
        signed = await self._signer.sign(method, url, headers, content)
        if signed is not None:
            signed_headers, key_id = signed
            secret, token = Secret(key_id, "your AWS credentials"), signed_headers.get("x-amz-security-token", "")
            return replace(endpoint, secret=secret, session_token=token), signed_headers
        if self._is_amazons:
            raise AuthenticationFailed(f"no AWS credentials found; {LOGIN_HINT}")
        return endpoint, headers

    def listing(self, what: str) -> str:
        """Return the address of a list, which is on another host."""
        return f"{self.endpoint.base_url.replace('bedrock-runtime', 'bedrock', 1)}{what}"

    async def listed(self) -> list[ListedModel]:
        return await self._list_with_key(None)

    def supports_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        return traits_of(spec) != traits_of(replace(spec, thinking="off"))

    async def _send(self, request: Request, without: Set[str]) -> AsyncGenerator[Delta]:
        model_id = request.spec.model_id
        body, path = encode(request, without | self._rejected.of(model_id), self._unreadable), path_to(model_id)
        authorized = await self.authorize("POST", self.endpoint.base_url + path, request.api_key, json_bytes(body))
        transport = self._transport.with_credentials(*authorized)
        return deltas(transport, path, body, ConverseDecoder(transport.endpoint), FrameDecoder())

    async def _list_with_key(self, key: str | None) -> list[ListedModel]:
        return models_in(await self._list(PROFILES, key), await self._list(MODELS, key))

    async def _list(self, what: str, key: str | None) -> JsonValue:
        url = self.listing(what)
        return await self._transport.with_credentials(*await self.authorize("GET", url, key)).get(url)

    async def _known_names(self, request: Request) -> list[str]:
        return [model.id for model in await self._list_with_key(request.api_key)]

    def _adapts(self, request: Request, without: set[str], error: RequestRejected) -> bool:
        text = str(error).lower()
        if re.search(MISSING_THINKING, text):
            return add_new(without, {THINKING})
        if re.search(REFUSED_SIGNATURE, text):
            return add_new(self._unreadable, ids_with_thinking(request.messages))
        schema = ((REFUSED_SCHEMA, SCHEMA),) if request.output_schema else ()
        return self._rejected.learn(request.spec.model_id, error, (*schema, *REJECTABLE))


def models_in(profiles: JsonValue, models: JsonValue) -> list[ListedModel]:
    """Return the usable models: the profiles, then the models that can be invoked without one."""
    known = {model.id: model.metadata for model in listed(models)}
    summaries = objects(as_object(profiles).get("inferenceProfileSummaries"))
    names = [name for summary in summaries if isinstance(name := summary.get("inferenceProfileId"), str)]
    # A profile's name is the model's with a region prefix.
    invoked = [ListedModel(name, known.get(name.partition(".")[2], ModelMetadata())) for name in names]
    uses = {name_of(entry): as_object(entry).get("inferenceTypesSupported") for entry in entries_of(models)}
    profile_only = {name for name, types in uses.items() if isinstance(types, list) and "ON_DEMAND" not in types}
    return [*invoked, *(ListedModel(name, each) for name, each in known.items() if name not in profile_only)]


def path_to(model_id: str) -> str:
    return f"/model/{quote(model_id, safe='')}/converse-stream"


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
