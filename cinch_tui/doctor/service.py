"""Check of one service: a minimal request; if it fails, a connection check and remedies."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from cinch_tui.api_keys.provider_key import smallest_request
from cinch_tui.doctor.connection import SECONDS, ConnectionCheck, causes, route_to
from cinch_tui.doctor.findings import Finding
from cinch_tui.doctor.targets import Target
from cinch_tui.models.connecting import connect, endpoint_of
from harness import errors
from harness.agent.limits import with_price
from providers import list_models
from providers.endpoint import Endpoint

UNLISTED = (404, 405, 501)
"""Status codes of services that do not list their models."""
FORBIDDEN = 403
NO_SUCH_PLACE = 404
A_PAGE = "returned a web page"
"""Part of the error if a proxy or portal answers instead of the service."""


class Timeouts(Struct, frozen=True):
    """Time limits, in seconds."""

    answer: float = 20.0
    """Answer of a remote service."""

    local: float = 60.0
    """Answer of a local server, which may have to load the model first."""

    step: float = SECONDS
    """One connection step."""


def check_setup(target: Target) -> Finding:
    """Check a service without sending a request."""
    name = target.preset.name
    try:
        endpoint = endpoint_of(target.preset, target.base_url or None, target)
        if target.model_id:
            # Detects other problems, such as a missing optional dependency.
            connect(target.name, base_url=target.base_url or None, credentials=target)
    except errors.ConfigError as error:
        return Finding("bad", name, target.problem or str(error), _setup_remedy(error, target), "setup")
    model = target.name if target.is_chosen else "not checked"
    return Finding("ok", name, f"{model}{_key_text(target)}{_route_text(endpoint)}")


async def check_service(target: Target, timeouts: Timeouts) -> list[Finding]:
    """Send a request to a service and return the findings, with the connection steps if it fails."""
    name = target.preset.name
    if target.problem:
        return [Finding("bad", name, target.problem)]
    try:
        endpoint = endpoint_of(target.preset, target.base_url or None, target)
        found = await _request(target, endpoint, timeouts)
    except errors.ConfigError as error:
        return [Finding("bad", name, str(error), _setup_remedy(error, target), "setup")]
    # An error message may quote the key.
    return [
        replace(each, subject=name, message=endpoint.hide_key(each.message), remedy=endpoint.hide_key(each.remedy))
        for each in found
    ]


async def _request(target: Target, endpoint: Endpoint, timeouts: Timeouts) -> list[Finding]:
    seconds = timeouts.local if endpoint.preset.is_local or endpoint.is_loopback else timeouts.answer
    try:
        async with asyncio.timeout(seconds):
            return [await (_answered(target, endpoint) if target.model_id else _listed(target, endpoint))]
    except TimeoutError:
        silence = errors.NetworkError(f"{endpoint.shown_url} did not answer within {seconds:g} s")
        return await _failed(target, endpoint, silence, timeouts)
    except errors.ProviderError as error:
        return await _failed(target, endpoint, error, timeouts)


async def _answered(target: Target, endpoint: Endpoint) -> Finding:
    model = connect(target.name, base_url=target.base_url or None, credentials=target)
    # Time to load local code must not count as response time.
    warm: Callable[[], None] | None = getattr(model.provider, "warm", None)
    if warm:
        await asyncio.to_thread(warm)
    try:
        answer = await smallest_request(model)
        facts = await model.info.load()
    finally:
        await model.provider.close()
    cost = with_price(answer.usage, facts.price).cost
    message = f"{target.model_id} answered: first token after {_ms(answer.first)}, complete after {_ms(answer.whole)}"
    price = f", for ${cost.total:.6f}" if cost is not None else ""
    return Finding("ok", "", message + price + _key_text(target) + _route_text(endpoint), step="answer")


async def _listed(target: Target, endpoint: Endpoint) -> Finding:
    names = await list_models(target.preset.name, base_url=target.base_url or None, credentials=target)
    name = target.preset.name
    if not names:
        remedy = target.preset.remedies.get("empty", f"check a model of it: cinch doctor {name}/NAME")
        return Finding("note", "", f"{endpoint.shown_url} lists no models", remedy, "models")
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    message = f"serves {shown}{_key_text(target)}{_route_text(endpoint)}"
    remedy = "" if target.preset.is_local else _model_hint(target)
    return Finding("ok", "", message, remedy, "models")


async def _failed(target: Target, endpoint: Endpoint, error: errors.ProviderError, timeouts: Timeouts) -> list[Finding]:
    """Return the error of the request, and the connection steps if it was a network error."""
    is_skew = _may_be_clock_skew(endpoint, error)
    connection = _connection_check(endpoint, error, timeouts) if is_skew or _is_network_error(error) else None
    if is_skew:
        return [_refusal(target, error), *(await connection.clock() if connection else [])]
    steps = await connection.findings() if connection else []
    if not any(step.level == "bad" for step in steps):
        return [*steps, _refusal(target, error)]
    silent = target.preset.remedies.get("silent", "").replace("MODEL", target.model_id or "MODEL")
    if silent and endpoint.is_loopback:
        steps[-1] = replace(steps[-1], remedy=silent)
    return steps


def _may_be_clock_skew(endpoint: Endpoint, error: errors.ProviderError) -> bool:
    """Return True if a login was rejected: unlike keys, signatures depend on the clock."""
    is_login = endpoint.secret is None and not endpoint.preset.key_required
    return is_login and isinstance(error, errors.AuthenticationFailed) and error.status is not None


def _is_network_error(error: errors.ProviderError) -> bool:
    """Return True for an error of the network, not of the service."""
    if error.status is not None:
        return False
    from httpx import TransportError

    return isinstance(error, errors.NetworkError) or any(isinstance(cause, TransportError) for cause in causes(error))


def _connection_check(endpoint: Endpoint, error: errors.ProviderError, timeouts: Timeouts) -> ConnectionCheck | None:
    route = route_to(_address(endpoint, error))
    if route is None:
        return None
    # Slow to import and rarely needed.
    from http_client.tls import ssl_context, unused_context

    try:
        trust = ssl_context(os.environ) if route.meets_tls else unused_context()
    except errors.RequestRejected:
        # The request failed with the same error and reports it.
        return None
    return ConnectionCheck(route, trust, timeouts.step)


def _address(endpoint: Endpoint, error: errors.ProviderError) -> str:
    """Return the URL of the request: a service may use another host, for example by region."""
    from httpx import RequestError

    asked = (cause for cause in causes(error) if isinstance(cause, RequestError))
    with suppress(StopIteration, RuntimeError):
        return str(next(asked).request.url)
    return endpoint.base_url


def _refusal(target: Target, error: errors.ProviderError) -> Finding:
    """Return the finding for an error; overload, or a missing default model, is not a problem of the setup."""
    if not target.model_id and error.status in UNLISTED:
        return Finding("note", "", f"the service does not list its models: {error}", _model_hint(target), "models")
    is_passing = isinstance(error, errors.ModelThrottled | errors.ModelOverloaded)
    is_our_choice = isinstance(error, errors.ModelNotFound) and target.is_own_default
    step, remedy = _step_and_remedy(error, target)
    return Finding("note" if is_passing or is_our_choice else "bad", "", str(error), remedy, step)


def _model_hint(target: Target) -> str:
    return f"to check a model: cinch doctor {target.preset.name}/NAME"


def _step_and_remedy(error: errors.ProviderError, target: Target) -> tuple[str, str]:
    """Return the step that failed and what to do about it; the remedy is empty if the error message says it."""
    match error:
        case errors.AuthenticationFailed():
            return "key", _key_remedy(error, target)
        case errors.QuotaExhausted():
            label = target.preset.label
            return "account", f"add credit or raise the limit of your account with {label}, or use another provider"
        case errors.ModelNotFound():
            return "model", _model_remedy(target)
        case errors.ModelThrottled() | errors.ModelOverloaded():
            wait = f"in {error.retry_after:,.0f} s" if error.retry_after else "in a minute"
            return "answer", f"connection and key are valid; try again {wait}"
        case errors.NetworkError():
            return "answer", _network_remedy(target)
        case errors.ContextWindowOverflow():
            return "answer", "the context window is too small: use another model"
        case errors.RequestRejected() | errors.StreamError():
            return "answer", _request_remedy(error, target)
        case _:
            return "answer", ""


def _setup_remedy(error: errors.ConfigError, target: Target) -> str:
    is_of_address = "base URL" in str(error) and target.address_source
    return f"correct the base URL{target.address_from}" if is_of_address else ""


def _key_text(target: Target) -> str:
    return f"; key from {target.secret.source}" if target.secret else ""


def _route_text(endpoint: Endpoint) -> str:
    """Describe an unusual address or proxy; empty for the default."""
    route = route_to(endpoint.base_url)
    at = "" if endpoint.is_vendors_own and not endpoint.is_loopback else f"; at {endpoint.shown_url}"
    return f"{at}; through the proxy {route.proxy.address}, from {route.proxy.source}" if route and route.proxy else at


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms"


def _key_remedy(error: errors.AuthenticationFailed, target: Target) -> str:
    own = target.preset.remedies.get("rights", "")
    if error.status == FORBIDDEN and own:
        return own
    variable = target.secret.variable if target.secret else ""
    if variable:
        return f"set another: export {variable}=…, or unset it to use the key stored with #key {target.preset.name}"
    if target.secret is None and not target.preset.key_required:
        return ""
    return f"type #key {target.preset.name} in the app, or: export {target.preset.key_variables[0]}=…"


def _model_remedy(target: Target) -> str:
    own = target.preset.remedies.get("model", "").replace("MODEL", target.model_id)
    listing = f"cinch models {target.preset.name} lists what it serves"
    return f"{own}; {listing}" if own else f"{listing}; then: cinch doctor {target.preset.name}/NAME"


def _network_remedy(target: Target) -> str:
    if target.preset.is_local:
        return "loading a large model takes time: try again, or check the log of its server"
    return "the connection works, so the service has a problem or a proxy drops responses: try again later"


def _request_remedy(error: errors.RequestRejected | errors.StreamError, target: Target) -> str:
    if isinstance(error, errors.RequestRejected) and error.status is None:
        # Rejected before anything was sent.
        return "correct the value, or unset the variable"
    if A_PAGE in str(error):
        return f"ask the administrator of your network to allow {target.preset.label}; a browser shows the whole page"
    if not target.address_source:
        return f"to report a bug, record the request: cinch -p hi -m {target.name} --record bug.jsonl"
    if error.status in (None, NO_SUCH_PLACE):
        usual = f"; the default is {target.preset.base_url}" if target.preset.base_url else ""
        return f"check the base URL{target.address_from}{usual}"
    return f"check that the server at the base URL{target.address_from} supports the API of {target.preset.label}"
