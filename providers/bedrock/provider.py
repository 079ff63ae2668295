"""Provider for Amazon Bedrock's Converse API, with the model list of an account in a region."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.deltas import Delta
from harness.errors import ModelNotFound, ProviderError, RequestRejected
from harness.messages import JsonValue, ModelSpec
from harness.ports.provider import Provider, Request
from providers.bedrock.backend import BedrockBackend, UnsignedRequest
from providers.bedrock.decode import ConverseDecoder
from providers.bedrock.encode import CACHING, LIFETIME, SCHEMA, TEMPERATURE, THINKING, encode
from providers.bedrock.frames import FrameDecoder
from providers.bedrock.traits import traits_of
from providers.endpoint import Endpoint
from providers.http_provider import HttpProvider, add_new, with_degradation, with_suggestions
from providers.model_catalog.listing import entries_of, listed
from providers.model_catalog.metadata import ListedModel, ModelMetadata
from providers.net.stream import deltas
from providers.net.transport import Transport, json_bytes
from providers.wire.turns import ids_with_thinking

# Features that models reject, by the text of their error.
REJECTABLE = (
    (r"\bttl\b", LIFETIME),
    (r"cachepoint|prompt caching|cache_control", CACHING),
    (r"temperature", TEMPERATURE),
    (r"thinking|reasoning|effort|output_config\.effort|extraneous key", THINKING),
)
REFUSED_SCHEMA = r"outputconfig|textformat|output_config\.format|schema|structured output"
# A thinking model continues a turn whose tool calls another model made.
MISSING_THINKING = r"expected .{0,3}thinking"
REFUSED_SIGNATURE = r"thinking.*signature|signature.*thinking|reasoning.*signature"
MODELS = "/foundation-models?byOutputModality=TEXT"
PROFILES = "/inference-profiles?maxResults=1000"
"""Newer models are available only through an inference profile, which distributes requests over regions."""


class BedrockProvider(HttpProvider):
    """Streams replies of the models in one region.

    If a model rejects an optional part of a request, the part is left out from then on.
    """

    def __init__(self, backend: BedrockBackend) -> None:
        self._backend = backend
        super().__init__(Transport(backend.endpoint, {}))
        self._without: dict[str, set[str]] = {}
        self._unreadable: set[str] = set()

    async def listed(self) -> list[ListedModel]:
        return await self._list_with_key(None)

    def supports_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        del with_tools
        return traits_of(spec) != traits_of(replace(spec, thinking="off"))

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        without_now: set[str] = set()
        ask, suggest = partial(self._ask, request, without_now), partial(self._better_named, request)
        async with aclosing(with_degradation(ask, partial(self._adapts, request, without_now), suggest)) as answer:
            async for delta in answer:
                yield delta

    async def _ask(self, request: Request, without_now: set[str]) -> AsyncGenerator[Delta]:
        model_id = request.spec.model_id
        body = encode(request, without_now | self._without.get(model_id, set()), self._unreadable)
        path = self._backend.path_to(model_id)
        asked = UnsignedRequest("POST", self._backend.endpoint.base_url + path, json_bytes(body))
        transport = await self._for(asked, request.api_key)
        async with aclosing(
            deltas(transport, path, body, ConverseDecoder(transport.endpoint), FrameDecoder())
        ) as answer:
            async for delta in answer:
                yield delta

    async def _for(self, asked: UnsignedRequest, key: str | None) -> Transport:
        endpoint, headers = await self._backend.authorize(asked, key)
        return self._transport.with_credentials(endpoint, headers)

    async def _list_with_key(self, key: str | None) -> list[ListedModel]:
        return models_in(await self._listed(PROFILES, key), await self._listed(MODELS, key))

    async def _listed(self, what: str, key: str | None) -> JsonValue:
        url = self._backend.listing(what)
        return await (await self._for(UnsignedRequest("GET", url), key)).get(url)

    async def _better_named(self, request: Request, error: ModelNotFound) -> ModelNotFound:
        try:
            known = await self._list_with_key(request.api_key)
        except ProviderError:
            return error
        return with_suggestions(error, [model.id for model in known], request.spec.model_id)

    def _adapts(self, request: Request, without_now: set[str], error: RequestRejected) -> bool:
        """Return True if the next request will leave out what this one was rejected for."""
        refusal = str(error).lower()
        without = self._without.setdefault(request.spec.model_id, set())
        if re.search(MISSING_THINKING, refusal):
            return add_new(without_now, {THINKING})
        if re.search(REFUSED_SIGNATURE, refusal):
            return add_new(self._unreadable, ids_with_thinking(request.messages))
        if request.output_schema and re.search(REFUSED_SCHEMA, refusal) and SCHEMA not in without:
            return add_new(without, {SCHEMA})
        refused = next(
            (part for pattern, part in REJECTABLE if part not in without and re.search(pattern, refusal)), None
        )
        return refused is not None and add_new(without, {refused})


def models_in(profiles: JsonValue, models: JsonValue) -> list[ListedModel]:
    """Return the usable models: the profiles, then the models that can be invoked without one."""
    known = {model.id: model.metadata for model in listed(models)}
    # A profile's name is the model's with a region prefix.
    profiles_listed = [
        ListedModel(name, known.get(name.partition(".")[2], ModelMetadata())) for name in _profile_ids(profiles)
    ]
    profile_only = set(_profile_only(models))
    return [*profiles_listed, *(ListedModel(name, each) for name, each in known.items() if name not in profile_only)]


def _profile_ids(profiles: JsonValue) -> Iterator[str]:
    entries = profiles.get("inferenceProfileSummaries") if isinstance(profiles, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        match entry:
            case {"inferenceProfileId": str(name)}:
                yield name
            case _:
                pass


def _profile_only(models: JsonValue) -> Iterator[str]:
    """Yield the models that state how they can be invoked, but not on demand."""
    for entry in entries_of(models):
        match entry:
            case {"modelId": str(name), "inferenceTypesSupported": list() as types} if "ON_DEMAND" not in types:
                yield name
            case _:
                pass


def open_bedrock(endpoint: Endpoint) -> BedrockProvider:
    return BedrockProvider(BedrockBackend(endpoint))


if TYPE_CHECKING:
    _: type[Provider] = BedrockProvider
