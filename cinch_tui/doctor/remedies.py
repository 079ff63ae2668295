"""What a person can do about each way in which a service refuses, in one sentence."""

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
A_PAGE = "a web page answered"
"""Said where something on the way answers instead of the service."""


def remedy_for(error: CinchError, target: Target) -> str:
    """What to do about it; empty where its own text says all there is to say."""
    match error:
        case AuthenticationFailed():
            return _about_the_key(error, target)
        case QuotaExhausted():
            return f"add credit or raise the limit of your account with {target.preset.label}, or take another provider"
        case ModelThrottled() | ModelOverloaded():
            wait = f"in {error.retry_after:,.0f} s" if error.retry_after else "in a minute"
            return f"the way and the key are good: try again {wait}"
        case ModelNotFound():
            return _about_the_model(target)
        case NetworkError():
            return _about_silence(target)
        case ContextWindowOverflow():
            return "the model reads too little to work with: take another"
        case RequestRejected() | StreamError():
            return _about_the_request(error, target)
        case _:
            return ""


def _about_the_key(error: AuthenticationFailed, target: Target) -> str:
    own = target.preset.remedies.get("rights", "")
    if error.status == FORBIDDEN and own:
        return own
    variable = target.secret.variable if target.secret else ""
    if variable:
        return f"set another: export {variable}=…, or unset it to use the key stored with #key {target.preset.name}"
    if target.secret is None and not target.preset.key_required:
        return ""
    return f"type #key {target.preset.name} in the app, or: export {target.preset.key_variables[0]}=…"


def _about_the_model(target: Target) -> str:
    own = target.preset.remedies.get("model", "").replace("MODEL", target.model_id)
    listing = f"cinch models {target.preset.name} lists what it serves"
    return f"{own}; {listing}" if own else f"{listing}; then: cinch doctor {target.preset.name}/NAME"


def _about_silence(target: Target) -> str:
    if target.preset.is_local:
        return "a large model takes long to load: try again, or see what its server writes"
    return "the way is open, so it is the service's own trouble, or a proxy that cuts answers: try again later"


def _about_the_request(error: RequestRejected | StreamError, target: Target) -> str:
    if isinstance(error, RequestRejected) and error.status is None:
        # What is wrong was found before anything was sent.
        return "correct it, or unset the variable"
    if A_PAGE in str(error):
        return f"ask whoever runs your network to allow {target.preset.label}; a browser shows the whole page"
    if not target.address_source:
        return f"for a report: cinch -p hi -m {target.name} --record bug.jsonl"
    if error.status in (None, NO_SUCH_PLACE):
        usual = f"; the usual one is {target.preset.base_url}" if target.preset.base_url else ""
        return f"check the base URL{target.address_from}{usual}"
    return f"does the server at the base URL{target.address_from} speak as {target.preset.label} does?"
