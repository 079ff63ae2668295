"""Base of Textual messages with fields."""

from __future__ import annotations

from typing import Any, ClassVar, dataclass_transform

from textual.message import Message


@dataclass_transform(eq_default=False)
class DataMessage(Message):
    """Message whose annotated attributes are the parameters of its constructor.

    Unlike a dataclass, it compiles no code at import.
    """

    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._fields = tuple(cls.__annotations__)

    def __init__(self, *values: object, **named: object) -> None:
        super().__init__()
        self.__dict__.update(zip(self._fields, values, strict=False), **named)
