"""Base classes of structs."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from msgspec import Struct


def _tag_of(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class Tagged(Struct, frozen=True, tag=_tag_of):
    """Struct that `harness.codec` converts to JSON; its `type` there is the name of the class in snake case."""


class Redacted(Struct, frozen=True):
    """Struct whose repr omits some fields, so that secrets do not appear in logs and tracebacks."""

    _hidden: ClassVar[tuple[str, ...]] = ()
    """Names of the fields to omit."""

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Return the fields to show; rich would show all of them otherwise."""
        return [(name, getattr(self, name)) for name in self.__struct_fields__ if name not in self._hidden]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"
