"""`dataclass` as in the standard library, but no class has a method compiled for it before an instance is made.

The standard decorator compiles six functions for each frozen class, which takes most of a millisecond; we have hundreds
of classes, so that they were close to half of a start, and most are never instantiated in a run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from operator import attrgetter
from reprlib import recursive_repr
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

C = TypeVar("C")
_UNSET: Any = object()
_WAITING = "__init_when_needed__"


def _lazy(
    cls: type[C] | None = None, /, *, frozen: bool = False, slots: bool = False, kw_only: bool = False, eq: bool = True
) -> type[C] | Callable[[type[C]], type[C]]:
    """As `dataclasses.dataclass`, without `InitVar`. What inherits from a class made so is to be made so too."""

    def decorated(plain: type[C]) -> type[C]:
        # Python gives a class that says what is equal no hash.
        own = {name for name, value in vars(plain).items() if value is not None}
        # For a class without one, the standard decorator has `inspect` write a signature.
        plain.__doc__ = plain.__doc__ or plain.__name__
        made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(plain)
        methods: dict[str, Any] = {"__init__": _init_when_needed(made), "__repr__": _repr}
        if eq:
            key = _key_of(made)
            methods["__eq__"] = _eq_by(key)
            methods["__hash__"] = _hash_by(key) if frozen else None
        if frozen:
            methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
            methods |= {"__getstate__": _state_of, "__setstate__": _set_state} if slots else {}
        for name, method in methods.items():
            if name not in own:
                setattr(made, name, method)
        return made

    return decorated if cls is None else decorated(cls)


# For a type checker it is the standard one, whose every rule it knows.
if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _lazy


def compile_now(module: ModuleType) -> None:
    """Have the classes of a module made ready for their first instances, which somebody waits for; for a thread."""
    for cls in vars(module).values():
        if isinstance(cls, type) and getattr(vars(cls).get("__init__"), "__name__", "") == _WAITING:
            cls.__init__ = _compiled_init(cls)


def _init_when_needed(cls: type[Any]) -> Callable[..., None]:
    def __init__(self: object, *args: object, **kwargs: object) -> None:  # noqa: N807 a method of the class
        cls.__init__ = made = _compiled_init(cls)
        made(self, *args, **kwargs)

    __init__.__name__ = _WAITING
    return __init__


def _compiled_init(cls: type[Any]) -> Callable[..., None]:
    """The `__init__` that the standard decorator would have made."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_UNSET": _UNSET}
    positional: list[str] = []
    keywords: list[str] = []
    body: list[str] = []
    for field in fields(cls):
        value = field.name
        if field.default_factory is not MISSING:
            names[f"_new_{field.name}"] = field.default_factory
            value = f"_new_{field.name}()"
            value = f"{value} if {field.name} is _UNSET else {field.name}" if field.init else value
        if field.init:
            (keywords if field.kw_only else positional).append(_parameter(field, names))
        if field.init or field.default_factory is not MISSING:
            body.append(f"_set(self, {field.name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ["self", *positional, *(["*", *keywords] if keywords else [])]
    source = f"def __init__({', '.join(parameters)}):\n " + "\n ".join(body or ["pass"])
    exec(source, names)  # of the names of fields, which are identifiers
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _parameter(field: Field[Any], names: dict[str, Any]) -> str:
    if field.default_factory is not MISSING:
        return f"{field.name}=_UNSET"
    if field.default is MISSING:
        return field.name
    names[f"_default_{field.name}"] = field.default
    return f"{field.name}=_default_{field.name}"


def _key_of(cls: type[Any]) -> Callable[[object], object]:
    """What two instances are compared by."""
    compared = [field.name for field in fields(cls) if field.compare]
    return attrgetter(*compared) if compared else lambda _: ()


def _eq_by(key: Callable[[object], object]) -> Callable[[object, object], bool]:
    def __eq__(self: object, other: object) -> bool:  # noqa: N807 a method of the class
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash_by(key: Callable[[object], object]) -> Callable[[object], int]:
    def __hash__(self: object) -> int:  # noqa: N807 a method of the class
        return hash(key(self))

    return __hash__


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: object, name: str, value: object) -> None:
    del self, value
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> None:
    del self
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state_of(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
