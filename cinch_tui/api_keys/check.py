"""One small request with an API key, before the key is stored."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from cinch_tui.models.connecting import connect, endpoint_of
from cinch_tui.reports.formatting import app_hints
from harness.deltas import Done
from harness.errors import (
    AuthenticationFailed,
    CinchError,
    ConfigError,
    ModelNotFound,
    ModelThrottled,
    ProviderError,
    QuotaExhausted,
    RequestRejected,
)
from harness.lazy_dataclass import dataclass
from harness.messages import Usage, user
from harness.ports.provider import Model, Request
from providers import list_models
from providers.catalog import Preset, Secret

if TYPE_CHECKING:
    from providers import Credentials

PROMPT = "Say OK."
MAX_TOKENS = 16
"""The smallest output limit that every service accepts."""
CUT_SHORT = "max_tokens or model output limit was reached"
"""Part of the error of a model that spent all its tokens on thinking."""
TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class SmallAnswer:
    """Timing and usage of the smallest request; seconds since it was sent."""

    first: float
    whole: float
    usage: Usage


@dataclass(frozen=True, slots=True)
class KeyAccepted:
    """The service authenticated the key. `remark` is what it refused for another reason, such as no credit."""

    remark: str = ""


@dataclass(frozen=True, slots=True)
class KeyRefused:
    reason: str


@dataclass(frozen=True, slots=True)
class KeyUnchecked:
    """No answer that settles it: the service could not be reached, or the key lacks a right."""

    reason: str


KeyCheck: TypeAlias = KeyAccepted | KeyRefused | KeyUnchecked


@dataclass(frozen=True, slots=True)
class EnteredKey:
    """Credentials with one key that is not stored yet."""

    value: str = field(repr=False)

    def find(self, preset_name: str, variables: Sequence[str]) -> Secret:
        del preset_name, variables
        return Secret(self.value, "your input")


async def check_key(preset: Preset, secret: str, *, model_id: str = "", base_url: str = "") -> KeyCheck:
    """Send the smallest request with this key: to `model_id`, else to the preset's default model.

    Another service at `base_url` may not have that model; it is asked for the list of its models.
    """
    address = base_url or None
    credentials = EnteredKey(secret)
    model_id = model_id or ("" if base_url else preset.default_model)
    try:
        endpoint = endpoint_of(preset, address, credentials)
    except ConfigError as error:
        return KeyUnchecked(str(error))
    try:
        async with asyncio.timeout(TIMEOUT_S):
            if model_id:
                await _request(connect(f"{preset.name}/{model_id}", base_url=address, credentials=credentials))
            else:
                await list_models(preset.name, base_url=address, credentials=credentials)
    except TimeoutError:
        return KeyUnchecked(f"{endpoint.shown_url} did not answer within {TIMEOUT_S:g} s")
    except CinchError as error:
        return _result_of(error, endpoint.hide_key(app_hints(str(error))))
    return KeyAccepted()


def _result_of(error: CinchError, text: str) -> KeyCheck:
    match error:
        # A 403 is about rights, and the key may have them elsewhere.
        case AuthenticationFailed(status=status) if status != 403:
            return KeyRefused(text)
        # These come after authentication.
        case QuotaExhausted() | ModelThrottled() | ModelNotFound() | RequestRejected(status=400 | 422):
            return KeyAccepted(text)
        case _:
            return KeyUnchecked(text)


async def _request(model: Model) -> None:
    try:
        await smallest_request(model)
    finally:
        await model.provider.close()


async def smallest_request(model: Model) -> SmallAnswer:
    """Ask the model to say OK.

    Raises:
        ProviderError: the request failed.
    """
    request = Request(model.spec, "", (user(PROMPT),), max_tokens=MAX_TOKENS)
    begun = time.perf_counter()
    first, usage = 0.0, Usage()
    try:
        async for delta in model.provider.stream(request):
            first = first or time.perf_counter() - begun
            usage = delta.usage if isinstance(delta, Done) else usage
    except ProviderError as error:
        if CUT_SHORT not in str(error):
            raise
    whole = time.perf_counter() - begun
    return SmallAnswer(first or whole, whole, usage)


if TYPE_CHECKING:
    _: type[Credentials] = EnteredKey
