"""Dialect with the names of cinch: only the choice of tools depends on the model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from harness.deltas import Delta
from harness.ports.dialect import Dialect
from harness.ports.provider import Provider, Request
from harness.ports.tool import Tool


class OwnNames(Dialect):
    """A dialect with the names of cinch."""

    def __init__(self, name: str = "cinch", replaced: Mapping[str, Set[str]] = {}) -> None:
        """Create a dialect.

        Args:
            name: Its name.
            replaced: Names of tools that are not offered with another one, by the name of that one.
        """
        self._name = name
        self._replaced = replaced

    @property
    def name(self) -> str:
        return self._name

    def offered(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        hidden = {name for tool in tools for name in self._replaced.get(tool.name, ())}
        return [tool for tool in tools if tool.name not in hidden] if hidden else tools

    def name_of(self, tool: str) -> str:
        return tool

    def call_error(self, text: str, tool: str) -> str:
        return text

    def stream(self, provider: Provider, request: Request) -> AsyncIterator[Delta]:
        return provider.stream(request)


if TYPE_CHECKING:
    _: type[Dialect] = OwnNames
