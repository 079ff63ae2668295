"""API key of one provider: checked with one small request, stored, and applied to the running agent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from cinch_tui.assembly.assembly import Assembly
from cinch_tui.models.connecting import connect, endpoint_of
from cinch_tui.reports.formatting import app_hints
from harness import errors
from harness.deltas import Done
from harness.messages import Usage, user
from harness.ports.provider import Model, Request
from harness.structs import Redacted
from providers import Credentials, list_models
from providers.installed import each_preset
from providers.preset import EnvironmentCredentials, Preset, Secret

PROMPT = "Say OK."
MAX_TOKENS = 16
"""The smallest output limit that every service accepts."""
CUT_SHORT = "max_tokens or model output limit was reached"
"""Part of the error of a model that spent all its tokens on thinking."""
TIMEOUT_S = 20.0


class SmallAnswer(Struct, frozen=True):
    """Timing and usage of the smallest request; seconds since it was sent."""

    first: float
    whole: float
    usage: Usage


class KeyAccepted(Struct, frozen=True):
    """The service authenticated the key. `remark` is what it refused for another reason, such as no credit."""

    remark: str = ""


class KeyRefused(Struct, frozen=True):
    reason: str


class KeyUnchecked(Struct, frozen=True):
    """No answer that settles it: the service could not be reached, or the key lacks a right."""

    reason: str


KeyCheck: TypeAlias = KeyAccepted | KeyRefused | KeyUnchecked


class EnteredKey(Redacted, frozen=True):
    """Credentials with one key that is not stored yet."""

    _hidden = ("value",)

    value: str

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
    except errors.ConfigError as error:
        return KeyUnchecked(str(error))
    try:
        async with asyncio.timeout(TIMEOUT_S):
            if model_id:
                await _request(connect(f"{preset.name}/{model_id}", base_url=address, credentials=credentials))
            else:
                await list_models(preset.name, base_url=address, credentials=credentials)
    except TimeoutError:
        return KeyUnchecked(f"{endpoint.shown_url} did not answer within {TIMEOUT_S:g} s")
    except errors.CinchError as error:
        return _result_of(error, endpoint.hide_key(app_hints(str(error))))
    return KeyAccepted()


def _result_of(error: errors.CinchError, text: str) -> KeyCheck:
    match error:
        # A 403 is about rights, and the key may have them elsewhere.
        case errors.AuthenticationFailed(status=status) if status != 403:
            return KeyRefused(text)
        # These come after authentication.
        case (
            errors.QuotaExhausted()
            | errors.ModelThrottled()
            | errors.ModelNotFound()
            | errors.RequestRejected(status=400 | 422)
        ):
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
    except errors.ProviderError as error:
        if CUT_SHORT not in str(error):
            raise
    whole = time.perf_counter() - begun
    return SmallAnswer(first or whole, whole, usage)


def provider_key(assembly: Assembly, name: str) -> ProviderKey:
    """Return the key of the provider with this name.

    Raises:
        ConfigError: no provider that takes keys has this name.
    """
    known = {preset.name: preset for preset in each_preset() if preset.variables}
    if name not in known:
        raise errors.ConfigError(f"there is no provider {name!r}; there are {', '.join(known)}")
    return ProviderKey(assembly, known[name])


class ProviderKey(Struct, frozen=True):
    """The API key of one provider, for the agent of `assembly`."""

    assembly: Assembly
    preset: Preset

    @property
    def label(self) -> str:
        return self.preset.label

    @property
    def environment_key(self) -> Secret | None:
        """The key in the environment, which takes precedence over a stored one."""
        return EnvironmentCredentials(self.assembly.keys.environ).find(self.preset.name, self.preset.variables)

    @property
    def note(self) -> str:
        """Warning about an environment variable that takes precedence, shown before a key is entered; may be empty."""
        found = self.environment_key
        return f"{found.variable} is set in the environment and wins over a stored key." if found else ""

    async def check(self, secret: str) -> KeyCheck:
        """Check the key with one small request: to the model in use if it is this provider's, else to the default."""
        spec = self.assembly.agent.state.model.spec
        if spec.provider != self.preset.name:
            return await check_key(self.preset, secret)
        return await check_key(self.preset, secret, model_id=spec.model_id, base_url=spec.base_url)

    async def store(self, secret: str, verdict: KeyCheck) -> str:
        """Store the key and use it from the next request on; return a report for the user.

        Raises:
            ConfigError: the key could not be stored.
        """
        keys, name, label = self.assembly.keys, self.preset.name, self.preset.label
        place = await asyncio.to_thread(keys.store, name, secret)
        report = [f"{_verdict(verdict, label)} It is stored in {place}."]
        found = self.environment_key
        if found and found.value != secret:
            report.append(await self._compare_with_environment(found, secret))
        spec = self.assembly.agent.state.model.spec
        if spec.provider == name:
            self.assembly.agent.set_model(self.assembly.connect(spec.name, spec.thinking))
            if not found or keys.overrides(name):
                report.append(f"{spec.name} uses it from the next request on.")
        return " ".join(report)

    async def _compare_with_environment(self, found: Secret, secret: str) -> str:
        variable = found.variable
        if isinstance(await self.check(found.value), KeyRefused):
            self.assembly.keys.use_now(self.preset.name, secret)
            return (
                f"The key in {variable} was rejected, so this process uses the new one; "
                f"unset {variable} or correct it before the next start."
            )
        return f"{variable} is set in the environment and wins over the stored key; unset it to use the stored key."


def _verdict(verdict: KeyCheck, label: str) -> str:
    match verdict:
        case KeyAccepted(remark) if remark:
            return f"{label} accepted the key, but refused the test request: {remark.rstrip('.')}."
        case KeyAccepted():
            return f"{label} accepted the key."
        case _:
            return f"The key for {label} was not checked."


if TYPE_CHECKING:
    _: type[Credentials] = EnteredKey
