from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import pydoc
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, replace
from types import ModuleType
from typing import Any, ClassVar

import pytest

from harness import AgentOptions, lazy_dataclass

MAKERS: list[Callable[..., Any]] = [dataclasses.dataclass, lazy_dataclass.dataclass]


@lazy_dataclass.dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2


@lazy_dataclass.dataclass(frozen=True, slots=True, kw_only=True)
class Named(Point):
    name: str
    seen: list[str] = field(default_factory=list[str], compare=False, repr=False)


def made_by(make: Callable[..., Any], **flags: bool) -> Any:
    """Return a class with every feature ours use: defaults, factories, keywords, excluded fields, post-init code."""

    class Sample:
        first: int
        second: str = "two"
        third: list[int] = field(default_factory=list[int])
        hidden: int = field(default=4, repr=False, compare=False)
        derived: int = field(init=False, default=0, compare=False)
        late: str = field(default="l", kw_only=True)
        shared: ClassVar[int] = 7

        def __post_init__(self) -> None:
            object.__setattr__(self, "derived", self.first * 2)

    return make(**flags)(Sample)


def own_constructor(cls: type[Any]) -> object:
    return vars(cls)["__init__"]


@pytest.mark.parametrize("flags", [{"frozen": True, "slots": True}, {"slots": True}, {}, {"eq": False}])
def test_instances_match_the_standard_decorator(flags: dict[str, bool]) -> None:
    theirs, ours = (made_by(make, **flags) for make in MAKERS)

    for args, more in [((1,), {}), ((1, "b", [3], 5), {"late": "x"}), ((), {"first": 2, "third": [1]})]:
        assert repr(ours(*args, **more)) == repr(theirs(*args, **more))
        assert dataclasses.asdict(ours(*args, **more)) == dataclasses.asdict(theirs(*args, **more))
    assert ours.__match_args__ == theirs.__match_args__
    assert [each.name for each in fields(ours)] == [each.name for each in fields(theirs)]
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours(1).third is not ours(1).third
    assert (ours(1) == ours(1)) is (theirs(1) == theirs(1))
    assert (ours(1) == ours(2), ours(1) == theirs(1)) == (False, False)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("args", [(), (1, "b", [], 4, 5)])
def test_invalid_arguments_are_rejected(make: Callable[..., Any], args: tuple[object, ...]) -> None:
    with pytest.raises(TypeError, match=r"__init__\(\)"):
        made_by(make)(*args)
    with pytest.raises(TypeError, match="unexpected keyword argument 'fourth'"):
        made_by(make)(1, fourth=4)


def test_frozen_instance_is_immutable() -> None:
    point = Point(1)

    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x  # pyright: ignore[reportAttributeAccessIssue]
    assert (point, replace(point, x=5), hash(point)) == (Point(1, 2), Point(5), hash(Point(1)))


def test_mutable_instance_has_no_hash() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(made_by(lazy_dataclass.dataclass)(1))


def test_fields_are_inherited() -> None:
    named = Named(x=1, name="n")

    assert repr(named) == "Named(x=1, y=2, name='n')"
    assert named == Named(x=1, name="n", seen=["compared by nobody"])
    assert named != Point(1)


def test_copy_is_equal() -> None:
    named = Named(x=1, name="n", seen=["s"])

    for copied in (copy.copy(named), copy.deepcopy(named), pickle.loads(pickle.dumps(named))):
        assert dataclasses.asdict(copied) == dataclasses.asdict(named)


def test_signature_is_available_before_the_first_instance() -> None:
    theirs, ours, others = (made_by(make, frozen=True, slots=True) for make in [*MAKERS, lazy_dataclass.dataclass])

    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert str(inspect.signature(type("Heir", (ours,), {}))) == str(inspect.signature(theirs))
    assert str(inspect.signature(others.__init__)) == str(inspect.signature(theirs.__init__))


def test_help_shows_the_agent_parameters() -> None:
    shown = pydoc.render_doc(AgentOptions)

    assert shown.count("limits: 'Limits' = Limits(max_turns=") == 2  # above, and at its constructor
    assert "*args" not in shown


def test_subclass_constructor_signature_is_shown() -> None:
    class Square(Point):
        def __init__(self, side: int) -> None:
            super().__init__(side, side)

    assert str(inspect.signature(Square)) == "(side: 'int') -> 'None'"
    assert (Square(3).x, Square(3).y) == (3, 3)


def test_wrapped_constructor_stays_wrapped() -> None:
    sample = made_by(lazy_dataclass.dataclass)
    inner, seen = sample.__init__, list[int]()

    def counted(self: object, first: int) -> None:
        seen.append(first)
        inner(self, first)

    sample.__init__ = counted

    assert [sample(1).first, sample(2).first] == seen == [1, 2]


def test_standard_dataclass_can_inherit() -> None:
    @dataclasses.dataclass(frozen=True)
    class Deep(Point):
        z: int = 3

    assert repr(Deep(1)).endswith("Deep(x=1, y=2, z=3)")
    assert replace(Deep(1), y=7) == Deep(1, 7)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        Deep(1).x = 2  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("frozen", [True, False])
def test_mixing_frozen_and_unfrozen_raises(make: Callable[..., Any], frozen: bool) -> None:
    base = made_by(lazy_dataclass.dataclass, frozen=frozen)

    with pytest.raises(TypeError, match="cannot inherit"):
        make(frozen=not frozen)(type("Heir", (base,), {}))


def test_plain_subclass_can_add_attributes() -> None:
    class Pinned(Point):
        pin = ""

    pinned = Pinned(1)
    pinned.pin = "red"
    del pinned.pin

    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        pinned.x = 2  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("slots", [True, False])
def test_non_init_field_has_its_default(make: Callable[..., Any], slots: bool) -> None:
    class Tally:
        name: str
        count: int = field(init=False, default=0)
        seen: list[str] = field(init=False, default_factory=list[str])

    tally = make(slots=slots)(Tally)("n")

    assert (tally.count, tally.seen) == (0, [])


@pytest.mark.parametrize("make", MAKERS)
def test_field_hash_option_is_respected(make: Callable[..., Any]) -> None:
    class Place:
        name: str
        weight: int = field(default=0, hash=False)
        seen: int = field(default=0, compare=False, hash=True)

    place = make(frozen=True)(Place)

    assert hash(place("a", 1)) == hash(place("a", 2))
    assert hash(place("a", 1, 1)) != hash(place("a", 1, 2))
    assert place("a", 1, 1) == place("a", 1, 2)


@pytest.mark.parametrize("make", MAKERS)
def test_field_can_have_any_name(make: Callable[..., Any]) -> None:
    class Letter:
        self: str
        field: int = 1
        names: list[int] = dataclasses.field(default_factory=list[int])

    assert repr(make(Letter)(self="me")).endswith("Letter(self='me', field=1, names=[])")


def test_nan_field_compares_equal_by_identity() -> None:
    nowhere = made_by(lazy_dataclass.dataclass)(float("nan"))

    assert nowhere == copy.copy(nowhere)
    assert Point(nowhere.first) == Point(nowhere.first)


@pytest.mark.parametrize("make", MAKERS)
def test_field_order_without_defaults_is_checked(make: Callable[..., Any]) -> None:
    class Late:
        first: int = 1
        second: int

    with pytest.raises(TypeError, match="non-default argument 'second' follows default argument"):
        make(Late)


@pytest.mark.parametrize("make", MAKERS)
def test_custom_setattr_is_called(make: Callable[..., Any]) -> None:
    seen: list[str] = []

    class Watched:
        name: str

        def __setattr__(self, name: str, value: object) -> None:
            seen.append(name)

    make(Watched)("n")

    assert seen == ["name"]


def test_own_methods_are_kept() -> None:
    @lazy_dataclass.dataclass(frozen=True)
    class Folded:
        name: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Folded) and self.name.lower() == other.name.lower()

        def __repr__(self) -> str:
            return self.name

    assert Folded("A") == Folded("a")
    assert (repr(Folded("A")), hash(Folded("A"))) == ("A", hash(Folded("A")))


def test_recursive_repr_terminates() -> None:
    sample = made_by(lazy_dataclass.dataclass)(1)
    sample.third.append(sample)

    assert "third=[...]" in repr(sample)


def test_module_is_prepared_before_its_first_instances() -> None:
    module = ModuleType("made")
    module.Sample = made_by(lazy_dataclass.dataclass, frozen=True)  # pyright: ignore[reportAttributeAccessIssue]
    waiting = own_constructor(module.Sample)

    lazy_dataclass.compile_now(module)

    ready = own_constructor(module.Sample)
    assert ready is not waiting
    assert module.Sample(1) == module.Sample(1)
    assert own_constructor(module.Sample) is ready


def test_no_function_is_compiled_before_the_first_instance() -> None:
    code = (
        "import dataclasses, harness.lazy_dataclass, harness.messages\n"
        "made = []\n"
        "def watched(owner, name, nth):\n"
        "    real = getattr(owner, name)\n"
        "    setattr(owner, name, lambda *rest, **more: made.append(rest[nth]) or real(*rest, **more))\n"
        "if hasattr(dataclasses, '_FuncBuilder'): watched(dataclasses._FuncBuilder, 'add_fn', 1)\n"
        "else: watched(dataclasses, '_create_fn', 0)\n"
        "import harness.events, harness.agent.agent\n"
        "raise SystemExit(len(made))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
