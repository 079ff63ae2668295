"""Whether a service answers: the cheapest request that a run would make, and the way there where it fails."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from cinch_tui.api_keys.check import smallest_request
from cinch_tui.doctor.findings import Finding
from cinch_tui.doctor.network import SECONDS, ConnectionCheck
from cinch_tui.doctor.remedies import remedy_for
from cinch_tui.doctor.route import route_to
from cinch_tui.models.connecting import connect, endpoint_of
from harness.agent.cost import with_price
from harness.errors import (
    AuthenticationFailed,
    ConfigError,
    ModelNotFound,
    ModelOverloaded,
    ModelThrottled,
    NetworkError,
    ProviderError,
    QuotaExhausted,
    RequestRejected,
)
from harness.lazy_dataclass import dataclass
from providers import list_models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cinch_tui.doctor.targets import Target
    from providers.endpoint import Endpoint

UNLISTED = (404, 405, 501)
"""How a service refuses that has no list of its models."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: for an answer, for that of a model that may have to be loaded first, for each step on the way."""

    answer: float = 20.0
    local: float = 60.0
    step: float = SECONDS


def check_setup(target: Target) -> Finding:
    """What there is to say of a service without asking it."""
    name = target.preset.name
    try:
        endpoint = endpoint_of(target.preset, target.base_url or None, target)
        if target.model_id:
            # Says what is missing besides a key, such as an extra.
            connect(target.name, base_url=target.base_url or None, credentials=target)
    except ConfigError as error:
        return Finding("bad", name, target.problem or str(error), _about_setup(error, target), "setup")
    model = target.name if target.is_chosen else "not asked"
    return Finding("ok", name, f"{model}{_by_key(target)}{_by_way(endpoint)}")


async def check_service(target: Target, patience: Timeouts) -> list[Finding]:
    """What there is to say of one service, by its steps where it fails."""
    name = target.preset.name
    if target.problem:
        return [Finding("bad", name, target.problem)]
    try:
        endpoint = endpoint_of(target.preset, target.base_url or None, target)
        found = await _asked(target, endpoint, patience)
    except ConfigError as error:
        return [Finding("bad", name, str(error), _about_setup(error, target), "setup")]
    # A refusal may quote what it refuses.
    return [
        replace(each.about(name), message=endpoint.hide_key(each.message), remedy=endpoint.hide_key(each.remedy))
        for each in found
    ]


async def _asked(target: Target, endpoint: Endpoint, patience: Timeouts) -> list[Finding]:
    seconds = patience.local if endpoint.preset.is_local or endpoint.is_loopback else patience.answer
    try:
        async with asyncio.timeout(seconds):
            return [await (_answered(target, endpoint) if target.model_id else _listed(target, endpoint))]
    except TimeoutError:
        silence = NetworkError(f"{endpoint.shown_url} gave no answer within {seconds:g} s")
        return await _failed(target, endpoint, silence, patience)
    except ProviderError as error:
        return await _failed(target, endpoint, error, patience)


async def _answered(target: Target, endpoint: Endpoint) -> Finding:
    model = connect(target.name, base_url=target.base_url or None, credentials=target)
    # What has to be loaded here is not to be counted as waiting for the service.
    warm: Callable[[], None] | None = getattr(model.provider, "warm", None)
    if warm:
        await asyncio.to_thread(warm)
    try:
        answer = await smallest_request(model)
        facts = await model.info.load()
    finally:
        await model.provider.close()
    cost = with_price(answer.usage, facts.price).cost
    said = f"{target.model_id} answered, first after {_ms(answer.first)}, all after {_ms(answer.whole)}"
    price = f", for ${cost.total:.6f}" if cost is not None else ""
    return Finding("ok", "", said + price + _by_key(target) + _by_way(endpoint), step="answer")


async def _listed(target: Target, endpoint: Endpoint) -> Finding:
    names = await list_models(target.preset.name, base_url=target.base_url or None, credentials=target)
    name = target.preset.name
    if not names:
        mend = target.preset.remedies.get("empty", f"name a model that it has: cinch doctor {name}/NAME")
        return Finding("note", "", f"{endpoint.shown_url} answers and serves no models", mend, "models")
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    told = f"serves {shown}{_by_key(target)}{_by_way(endpoint)}"
    mend = "" if target.preset.is_local else _ask_one(target)
    return Finding("ok", "", told, mend, "models")


async def _failed(target: Target, endpoint: Endpoint, error: ProviderError, patience: Timeouts) -> list[Finding]:
    """What the request failed of, and how far the way to the service is open."""
    if _may_be_of_the_clock(endpoint, error):
        walk = _walk(endpoint, error, patience)
        return [_refusal(target, error), *(await walk.clock() if walk else [])]
    walk = _walk(endpoint, error, patience) if _is_of_the_way(error) else None
    steps = await walk.findings() if walk else []
    if not any(step.level == "bad" for step in steps):
        return [*steps, _refusal(target, error)]
    silent = target.preset.remedies.get("silent", "").replace("MODEL", target.model_id or "MODEL")
    if silent and endpoint.is_loopback:
        steps[-1] = replace(steps[-1], remedy=silent)
    return steps


def _may_be_of_the_clock(endpoint: Endpoint, error: ProviderError) -> bool:
    """Whether a login was refused: unlike a key, what it signs is only good at its time."""
    is_login = endpoint.secret is None and not endpoint.preset.key_required
    return is_login and isinstance(error, AuthenticationFailed) and error.status is not None


def _is_of_the_way(error: ProviderError) -> bool:
    """Whether the network failed, and not what came over it."""
    if error.status is not None:
        return False
    from httpx import TransportError

    return isinstance(error, NetworkError) or any(isinstance(cause, TransportError) for cause in _causes(error))


def _walk(endpoint: Endpoint, error: ProviderError, patience: Timeouts) -> ConnectionCheck | None:
    route = route_to(_address(endpoint, error))
    if route is None:
        return None
    # Slow to import, and most often the way is open.
    from providers.net.tls import ssl_context, unused_context

    try:
        trust = ssl_context(os.environ) if route.meets_tls else unused_context()
    except RequestRejected:
        # The request has failed of that, and says so.
        return None
    return ConnectionCheck(route, trust, patience.step)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _address(endpoint: Endpoint, error: ProviderError) -> str:
    """Where the request went: a service may choose another host than its usual one, by region."""
    from httpx import RequestError

    asked = (cause for cause in _causes(error) if isinstance(cause, RequestError))
    with suppress(StopIteration, RuntimeError):
        return str(next(asked).request.url)
    return endpoint.base_url


def _refusal(target: Target, error: ProviderError) -> Finding:
    """A service that has no time now, or lacks the model that only we chose, is no fault of the set-up."""
    if not target.model_id and error.status in UNLISTED:
        return Finding("note", "", f"it answers and does not list its models: {error}", _ask_one(target), "models")
    is_passing = isinstance(error, ModelThrottled | ModelOverloaded)
    is_our_choice = isinstance(error, ModelNotFound) and target.is_own_default
    level = "note" if is_passing or is_our_choice else "bad"
    return Finding(level, "", str(error), remedy_for(error, target), _step(error))


def _ask_one(target: Target) -> str:
    return f"to have a model asked: cinch doctor {target.preset.name}/NAME"


def _step(error: ProviderError) -> str:
    match error:
        case AuthenticationFailed():
            return "key"
        case QuotaExhausted():
            return "account"
        case ModelNotFound():
            return "model"
        case _:
            return "answer"


def _about_setup(error: ConfigError, target: Target) -> str:
    is_of_address = "base URL" in str(error) and target.address_source
    return f"correct it: it is{target.address_from}" if is_of_address else ""


def _by_key(target: Target) -> str:
    return f"; key from {target.secret.source}" if target.secret else ""


def _by_way(endpoint: Endpoint) -> str:
    """What of the way is not as usual."""
    route = route_to(endpoint.base_url)
    at = "" if endpoint.is_vendors_own and not endpoint.is_loopback else f"; at {endpoint.shown_url}"
    return f"{at}; through the proxy {route.proxy.address}, from {route.proxy.source}" if route and route.proxy else at


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms"
