"""Boundary to provider packages: validation, and containment of their errors."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from typing import get_args

import msgspec

from harness.deltas import Delta
from harness.entry_points import describe_error
from harness.errors import CinchError, ConfigError, StreamError
from harness.ports.provider import Request
from providers.endpoint import Endpoint
from providers.net.http_errors import plain
from providers.plugins import ProviderPlugin
from providers.preset import Preset
from providers.service import Service, open_stream

logger = logging.getLogger(__name__)

VERBS = ("stream", "close", "warm", "models")


class GuardedService(Service):
    """A package's service, whose errors never do more than fail a request.

    Errors during streaming pass through: `harness.agent.model_call` expects them of every provider. Returned values are
    validated, since a wrong one would fail later and elsewhere.
    """

    def __init__(self, name: str, service: Service) -> None:
        self.name = name
        self._service = service

    def warm(self) -> None:
        try:
            self._service.warm()
        except Exception as error:  # noqa: BLE001 third-party code
            logger.warning("%s cannot be warmed: %s", self.name, describe_error(error))

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        async with open_stream(self._service, request) as deltas:
            async for delta in deltas:
                if not _is_sound(delta):
                    raise StreamError(f"{self.name} sent an invalid delta: {plain(repr(delta))}")
                yield delta

    async def models(self) -> list[str]:
        try:
            return list(await self._service.models())
        except CinchError:
            raise
        except Exception as error:  # third-party code
            raise StreamError(f"{self.name} cannot list its models: {describe_error(error)}") from error

    async def close(self) -> None:
        try:
            await self._service.close()
        except Exception as error:  # noqa: BLE001 third-party code
            logger.warning("%s cannot be closed: %s", self.name, describe_error(error))


def open_guarded(plugin: ProviderPlugin, endpoint: Endpoint) -> Service:
    """Return the service of a plugin with its own protocol.

    Raises:
        ConfigError: It cannot be created.
    """
    name = plugin.preset.name
    if plugin.open is None:
        raise ConfigError(f"{name}: unknown protocol {plugin.preset.protocol!r}")
    try:
        service = plugin.open(endpoint)
    except CinchError:
        raise
    except Exception as error:  # third-party code
        raise ConfigError(f"the provider {name} could not be started: {describe_error(error)}") from error
    missing = [verb for verb in VERBS if not callable(getattr(service, verb, None))]
    if missing:
        raise ConfigError(f"the provider {name} could not be started: it has no {' and no '.join(missing)}")
    return GuardedService(name, service)


def _is_sound(delta: object) -> bool:
    """Return True if this is a delta whose fields have the declared types."""
    if not isinstance(delta, get_args(Delta)):
        return False
    try:
        return msgspec.convert(msgspec.to_builtins(delta, enc_hook=str), type(delta)) == delta
    except msgspec.ValidationError:
        return False


def find_fault(plugin: ProviderPlugin, name: str, protocols: Collection[str]) -> str | None:
    """Return what prevents a plugin from being the provider of that name, or None."""
    return next(_faults(plugin, name, protocols), None)


def _faults(plugin: ProviderPlugin, name: str, protocols: Collection[str]) -> Iterator[str]:
    preset = plugin.preset
    if preset.name != name:
        yield f"its entry point is named {name!r} but its preset {preset.name!r}"
    is_builtin = preset.protocol in protocols
    if plugin.open is None and not is_builtin:
        yield f"it has no code for the protocol {preset.protocol!r}; built-in protocols are {', '.join(protocols)}"
    if plugin.open is not None and is_builtin:
        yield f"it has its own code for the built-in protocol {preset.protocol!r}: use another protocol name"
    yield from _faults_of_the_preset(preset)


def _faults_of_the_preset(preset: Preset) -> Iterator[str]:
    for field in ("key_variables", "bearer_variables", "shared_variables", "families"):
        if not _is_texts(getattr(preset, field)):
            yield f"{field} must be a tuple of strings"
    if not preset.label:
        yield "its label is empty"
    if preset.key_required and not preset.variables:
        yield "it requires a key, but key_variables is empty; or set key_required=False"
    if not re.match(r"https?://.", preset.base_url) and (preset.base_url or not preset.base_url_variable):
        yield "base_url must begin with http:// or https://, or be empty if base_url_variable is set"
    if not _is_texts([*preset.headers, *preset.headers.values()]):
        yield "headers must be strings"
    for field in ("own_urls", "native_schema", "native_search"):
        yield from _faults_of_the_pattern(field, getattr(preset, field))


def _faults_of_the_pattern(field: str, pattern: str) -> Iterator[str]:
    try:
        re.compile(pattern)
    except re.error as error:
        yield f"{field} is not a valid regular expression: {error}"


def _is_texts(values: Sequence[object]) -> bool:
    # A single string is a sequence of its characters.
    return not isinstance(values, str) and all(isinstance(each, str) for each in values)
