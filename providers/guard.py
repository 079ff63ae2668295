"""Between us and a provider that is not ours: what it may not be, and what it does when it fails."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, get_args

from harness.deltas import BlockDelta, BlockEnd, BlockKind, BlockStart, Delta, Done
from harness.errors import CinchError, ConfigError, StreamError
from harness.messages import Cost, StopReason, Usage
from harness.ports.provider import Request
from providers.catalog import Preset
from providers.endpoint import Endpoint
from providers.net.http_errors import plain
from providers.plugins import ProviderPlugin
from providers.service import Service

logger = logging.getLogger(__name__)

VERBS = ("stream", "close", "warm", "models")


class GuardedService:
    """Another package's service, none of whose failures is more than a failed request.

    Errors raised while it streams pass through: `harness.agent.model_call` expects them of every provider. The values
    it returns are checked here, since a wrong one would fail later and elsewhere.
    """

    def __init__(self, name: str, service: Service) -> None:
        self.name = name
        self._service = service

    def warm(self) -> None:
        try:
            self._service.warm()
        except Exception as error:  # noqa: BLE001 a stranger's code
            logger.warning("%s cannot be warmed: %s", self.name, describe_error(error))

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        deltas = self._service.stream(request)
        try:
            async for delta in deltas:
                if not _is_sound(delta):
                    raise StreamError(f"{self.name} sent a delta that is none: {plain(repr(delta))}")
                yield delta
        finally:
            # It was opened here, and would otherwise be closed when somebody collects it.
            if isinstance(deltas, AsyncGenerator):
                await deltas.aclose()

    async def models(self) -> list[str]:
        try:
            return list(await self._service.models())
        except CinchError:
            raise
        except Exception as error:  # a stranger's code
            raise StreamError(f"{self.name} cannot tell its models: {describe_error(error)}") from error

    async def close(self) -> None:
        try:
            await self._service.close()
        except Exception as error:  # noqa: BLE001 a stranger's code
            logger.warning("%s cannot be closed: %s", self.name, describe_error(error))


def open_guarded(plugin: ProviderPlugin, endpoint: Endpoint) -> Service:
    """The service of a plugin that speaks a protocol of its own.

    Raises:
        ConfigError: it cannot be made.
    """
    name = plugin.preset.name
    if plugin.open is None:
        raise ConfigError(f"{name}: nobody speaks {plugin.preset.protocol!r}")
    try:
        service = plugin.open(endpoint)
    except CinchError:
        raise
    except Exception as error:  # a stranger's code
        raise ConfigError(f"the provider {name} could not be started: {describe_error(error)}") from error
    missing = [verb for verb in VERBS if not callable(getattr(service, verb, None))]
    if missing:
        raise ConfigError(f"the provider {name} could not be started: it has no {' and no '.join(missing)}")
    return GuardedService(name, service)


def _is_sound(delta: object) -> bool:
    match delta:
        case BlockDelta(int(), str()) | BlockEnd(int(), str() | None, str() | None, tuple()):
            return True
        case BlockStart(int(), kind, str(), str()):
            return kind in get_args(BlockKind)
        case Done(reason, Usage() as usage, str(), str() | None):
            return reason in get_args(StopReason) and _counts(usage)
        case _:
            return False


def _counts(usage: Usage) -> bool:
    held = {field.name: getattr(usage, field.name) for field in fields(usage)}
    cost = held.pop("cost")
    return all(isinstance(number, int) for number in held.values()) and isinstance(cost, Cost | None)


def find_fault(plugin: ProviderPlugin, name: str, protocols: Collection[str]) -> str | None:
    """What keeps a plugin from being the provider of that name."""
    return next(_faults(plugin, name, protocols), None)


def describe_error(error: BaseException) -> str:
    """What was raised, in one line that is fit for a terminal."""
    return plain(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


def _faults(plugin: ProviderPlugin, name: str, protocols: Collection[str]) -> Iterator[str]:
    preset = plugin.preset
    if preset.name != name:
        yield f"its entry point is called {name!r} and its preset {preset.name!r}"
    known = preset.protocol in protocols
    if plugin.open is None and not known:
        yield f"it has no code for the protocol {preset.protocol!r}, and cinch speaks {', '.join(protocols)}"
    if plugin.open is not None and known:
        yield f"it has code of its own for {preset.protocol!r}, which cinch speaks: its own protocol needs another name"
    yield from _faults_of_the_preset(preset)


def _faults_of_the_preset(preset: Preset) -> Iterator[str]:
    for field in ("key_variables", "bearer_variables", "shared_variables", "families"):
        if not _is_texts(getattr(preset, field)):
            yield f"{field} must be a tuple of texts"
    if not preset.label:
        yield "its label is empty"
    if preset.key_required and not preset.variables:
        yield "it wants a key, and key_variables names no variable for it; or say key_required=False"
    if not re.match(r"https?://.", preset.base_url) and (preset.base_url or not preset.base_url_variable):
        yield "base_url must begin with http:// or https://, or be empty beside a base_url_variable"
    if not _is_texts([*preset.headers, *preset.headers.values()]):
        yield "headers must be texts"
    for field in ("own_urls", "native_schema"):
        yield from _faults_of_the_pattern(field, getattr(preset, field))


def _faults_of_the_pattern(field: str, pattern: str) -> Iterator[str]:
    try:
        re.compile(pattern)
    except re.error as error:
        yield f"{field} is no regular expression: {error}"


def _is_texts(values: Sequence[object]) -> bool:
    # One text would be taken for its letters.
    return not isinstance(values, str) and all(isinstance(each, str) for each in values)


if TYPE_CHECKING:
    _: type[Service] = GuardedService
