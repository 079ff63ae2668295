"""Replacement for `dataclasses.dataclass` that compiles no methods before the first instance is created.

The standard decorator compiles six functions for each frozen class, which takes most of a millisecond. With hundreds of
classes, most of them never instantiated in a run, that was close to half of the start-up time.
"""

from __future__ import annotations

import dataclasses
from abc import update_abstractmethods
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from operator import attrgetter
from reprlib import recursive_repr
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

C = TypeVar("C")
_is_creating: ContextVar[bool] = ContextVar("_is_creating", default=False)


def _lazy(
    cls: type[C] | None = None, /, *, frozen: bool = False, slots: bool = False, kw_only: bool = False, eq: bool = True
) -> type[C] | Callable[[type[C]], type[C]]:
    """Return a dataclass like `dataclasses.dataclass`, without `InitVar`. Bases must not be standard frozen classes.

    Instances are compared as tuples of their fields, as in the standard library up to 3.12.
    """

    def decorated(plain: type[C]) -> type[C]:
        own = set(vars(plain))
        if "__eq__" in own and plain.__hash__ is None:
            own.discard("__hash__")  # Python sets it to None in a class that defines __eq__
        # Without a docstring, the standard decorator would generate a signature with `inspect`.
        plain.__doc__ = plain.__doc__ or plain.__name__
        _check_bases(plain, frozen=frozen)
        within = _is_creating.set(True)
        try:
            made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(plain)
        finally:
            _is_creating.reset(within)
        for name, method in _methods_of(made, _Params(eq=eq, kw_only=kw_only, slots=slots, is_frozen=frozen)).items():
            if name not in own:
                setattr(made, name, method)
        return update_abstractmethods(made)

    return decorated if cls is None else decorated(cls)


# Type checkers see the standard decorator, whose rules they know.
if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _lazy


def compile_now(module: ModuleType) -> None:
    """Compile the classes of a module in advance, from a background thread."""
    for cls in vars(module).values():
        if isinstance(cls, type) and isinstance(init := vars(cls).get("__init__"), _Init):
            init.compiled()


class _Params(SimpleNamespace):
    """Parameters that the standard decorator reads from a base class.

    While one of our classes is created, its bases count as not frozen, because the standard decorator would otherwise
    compile the freezing methods at once.
    """

    init = repr = match_args = True
    order = unsafe_hash = weakref_slot = False

    @property
    def frozen(self) -> bool:
        return self.is_frozen and not _is_creating.get()


class _Init:
    """Descriptor that compiles `__init__` on first access: to create an instance, or to read its signature."""

    def __init__(self, cls: type[Any], params: _Params) -> None:
        self._cls = cls
        self._params = params

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        return self.compiled().__get__(instance, owner)

    def compiled(self) -> Any:
        made = _compiled_init(self._cls, self._params)
        if vars(self._cls).get("__init__") is self:
            self._cls.__init__ = made
        return made


class _Fresh:
    """Marks, in a signature, a default that is created anew for each instance."""

    def __repr__(self) -> str:
        return "<factory>"


_FRESH = _Fresh()


def _check_bases(plain: type[Any], *, frozen: bool) -> None:
    bases = [params.frozen for base in plain.__mro__[1:] if (params := vars(base).get("__dataclass_params__"))]
    if not frozen and any(bases):
        raise TypeError("cannot inherit non-frozen dataclass from a frozen one")
    if frozen and not all(bases):
        raise TypeError("cannot inherit frozen dataclass from a non-frozen one")


def _check_defaults(all_fields: Sequence[Field[Any]]) -> None:
    optional = ""
    for field in all_fields:
        if field.init and not field.kw_only:
            if field.default is not MISSING or field.default_factory is not MISSING:
                optional = field.name
            elif optional:
                raise TypeError(f"non-default argument {field.name!r} follows default argument {optional!r}")


def _methods_of(made: type[Any], params: _Params) -> dict[str, Any]:
    all_fields = fields(made)
    _check_defaults(all_fields)
    methods: dict[str, Any] = {"__dataclass_params__": params, "__init__": _Init(made, params), "__repr__": _repr}
    if params.eq:
        compared = [field.name for field in all_fields if field.compare]
        hashed = [field.name for field in all_fields if (field.compare if field.hash is None else field.hash)]
        methods["__eq__"] = _eq_by(_key(compared))
        methods["__hash__"] = _hash_by(_key(hashed)) if params.is_frozen else None
    if params.is_frozen:
        methods |= _freezing(made)
        methods |= {"__getstate__": _state_of, "__setstate__": _set_state} if params.slots else {}
    return methods


def _compiled_init(cls: type[Any], params: _Params) -> Any:
    """Compile the same `__init__` as the standard decorator."""
    given = [field for field in fields(cls) if field.init]
    own = "__dataclass_self__" if any(field.name == "self" for field in given) else "self"
    names: dict[str, Any] = {"__dataclass_set__": object.__setattr__, "__dataclass_fresh__": _FRESH}
    assign = f"__dataclass_set__({own}, {{!r}}, {{}})" if params.is_frozen else f"{own}.{{}} = {{}}"
    values = [(field.name, _value(field, names, slots=params.slots)) for field in fields(cls)]
    body = [assign.format(name, value) for name, value in values if value]
    if hasattr(cls, "__post_init__"):
        body.append(f"{own}.__post_init__()")
    positional = [_parameter(field) for field in given if not field.kw_only]
    keywords = [_parameter(field) for field in given if field.kw_only]
    parameters = ", ".join([own, *positional, *(["*", *keywords] if keywords else [])])
    source = f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"])
    exec(source, names)  # built from field names, which are identifiers
    made = names["__init__"]
    made.__module__, made.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
    made.__annotations__ = {field.name: field.type for field in given} | {"return": None}
    return made


def _value(field: Field[Any], names: dict[str, Any], *, slots: bool) -> str:
    """Return the expression for a field's value; empty if the class or `__post_init__` sets it."""
    default = f"__dataclass_default_{field.name}__"
    if field.default_factory is not MISSING:
        names[default] = field.default_factory
        fresh = f"{default}()"
        return f"{fresh} if {field.name} is __dataclass_fresh__ else {field.name}" if field.init else fresh
    if field.default is not MISSING:
        names[default] = field.default
        if not field.init:
            return default if slots else ""
    return field.name if field.init else ""


def _parameter(field: Field[Any]) -> str:
    if field.default_factory is not MISSING:
        return f"{field.name}=__dataclass_fresh__"
    return field.name if field.default is MISSING else f"{field.name}=__dataclass_default_{field.name}__"


def _key(names: Sequence[str]) -> Callable[[object], tuple[object, ...]]:
    """Return the comparison key of a class."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda _: ()
    only = attrgetter(names[0])
    return lambda self: (only(self),)


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


def _freezing(cls: type[Any]) -> dict[str, Any]:
    """Return the methods that freeze a class; attributes added by a subclass stay mutable."""
    frozen: dict[str, Any] = cls.__dataclass_fields__

    def __setattr__(self: Any, name: str, value: object) -> None:  # noqa: N807 a method of the class
        if type(self) is cls or name in frozen:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807 a method of the class
        if type(self) is cls or name in frozen:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _state_of(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
