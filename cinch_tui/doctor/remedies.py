"""Remedies for errors of a service, one sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import (
    AuthenticationFailed,
    CinchError,
    ContextWindowOverflow,
    ModelNotFound,
    ModelOverloaded,
    ModelThrottled,
    NetworkError,
    QuotaExhausted,
    RequestRejected,
    StreamError,
)

if TYPE_CHECKING:
    from cinch_tui.doctor.targets import Target

FORBIDDEN = 403
NO_SUCH_PLACE = 404
A_PAGE = "returned a web page"
"""Part of the error if a proxy or portal answers instead of the service."""


def remedy_for(error: CinchError, target: Target) -> str:
    """Return what to do about an error; empty if its message says it."""
    match error:
        case AuthenticationFailed():
            return _key_remedy(error, target)
        case QuotaExhausted():
            return f"add credit or raise the limit of your account with {target.preset.label}, or use another provider"
        case ModelThrottled() | ModelOverloaded():
            wait = f"in {error.retry_after:,.0f} s" if error.retry_after else "in a minute"
            return f"connection and key are valid; try again {wait}"
        case ModelNotFound():
            return _model_remedy(target)
        case NetworkError():
            return _network_remedy(target)
        case ContextWindowOverflow():
            return "the context window is too small: use another model"
        case RequestRejected() | StreamError():
            return _request_remedy(error, target)
        case _:
            return ""


def _key_remedy(error: AuthenticationFailed, target: Target) -> str:
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


def _request_remedy(error: RequestRejected | StreamError, target: Target) -> str:
    if isinstance(error, RequestRejected) and error.status is None:
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
