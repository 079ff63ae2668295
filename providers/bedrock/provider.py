"""Provider for Amazon Bedrock's Converse API, with the model list of an account in a region."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Set

from msgspec.structs import replace

from harness.deltas import Delta
from harness.errors import ModelNotFound, ProviderError, RequestRejected
from harness.messages import JsonValue, ModelSpec
from harness.ports.provider import Request
from providers.anthropic.thinking import MISSING_THINKING
from providers.bedrock.backend import BedrockBackend, UnsignedRequest
from providers.bedrock.decode import ConverseDecoder
from providers.bedrock.encode import SCHEMA, TEMPERATURE, THINKING, encode
from providers.bedrock.frames import FrameDecoder
from providers.bedrock.traits import traits_of
from providers.endpoint import Endpoint
from providers.http_provider import HttpProvider, RejectedFeatures, add_new, with_suggestions
from providers.model_catalog.listing import entries_of, listed, name_of
from providers.model_catalog.metadata import ListedModel, ModelMetadata
from providers.net.stream import deltas
from providers.net.transport import Transport, json_bytes
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
MODELS = "/foundation-models?byOutputModality=TEXT"
PROFILES = "/inference-profiles?maxResults=1000"
"""Newer models are available only through an inference profile, which distributes requests over regions."""


class BedrockProvider(HttpProvider):
    """Streams replies of the models in one region.

    If a model rejects an optional part of a request, the part is left out from then on.
    """

    def __init__(self, backend: BedrockBackend) -> None:
        # Headers depend on the request, which they sign.
        super().__init__(backend.endpoint, lambda _: {})
        self._backend = backend
        self._rejected = RejectedFeatures()
        self._unreadable: set[str] = set()

    async def listed(self) -> list[ListedModel]:
        return await self._list_with_key(None)

    def supports_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        return traits_of(spec) != traits_of(replace(spec, thinking="off"))

    async def _send(self, request: Request, without: Set[str]) -> AsyncGenerator[Delta]:
        model_id = request.spec.model_id
        body = encode(request, without | self._rejected.of(model_id), self._unreadable)
        path = self._backend.path_to(model_id)
        unsigned = UnsignedRequest("POST", self._backend.endpoint.base_url + path, json_bytes(body))
        transport = await self._authorized(unsigned, request.api_key)
        return deltas(transport, path, body, ConverseDecoder(transport.endpoint), FrameDecoder())

    async def _authorized(self, unsigned: UnsignedRequest, key: str | None) -> Transport:
        return self._transport.with_credentials(*await self._backend.authorize(unsigned, key))

    async def _list_with_key(self, key: str | None) -> list[ListedModel]:
        return models_in(await self._list(PROFILES, key), await self._list(MODELS, key))

    async def _list(self, what: str, key: str | None) -> JsonValue:
        url = self._backend.listing(what)
        return await (await self._authorized(UnsignedRequest("GET", url), key)).get(url)

    async def _with_suggestions(self, request: Request, error: ModelNotFound) -> ModelNotFound:
        try:
            known = await self._list_with_key(request.api_key)
        except ProviderError:
            return error
        return with_suggestions(error, [model.id for model in known], request.spec.model_id)

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
    profile_only = {name_of(entry) for entry in entries_of(models) if not _is_on_demand(entry)}
    return [*invoked, *(ListedModel(name, each) for name, each in known.items() if name not in profile_only)]


def _is_on_demand(entry: JsonValue) -> bool:
    """Return True unless a model states how it can be invoked, and not on demand."""
    types = as_object(entry).get("inferenceTypesSupported")
    return not isinstance(types, list) or "ON_DEMAND" in types


def open_bedrock(endpoint: Endpoint) -> BedrockProvider:
    return BedrockProvider(BedrockBackend(endpoint))
