from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, replace
from types import ModuleType
from typing import Any, ClassVar

import pytest

from harness import lazy_dataclass

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
    """One with all that our classes have: defaults, fresh values, keywords, what is left out, and work afterwards."""

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


@pytest.mark.parametrize("flags", [{"frozen": True, "slots": True}, {"slots": True}, {}, {"eq": False}])
def test_instances_are_those_of_the_standard_decorator(flags: dict[str, bool]) -> None:
    theirs, ours = (made_by(make, **flags) for make in MAKERS)

    for args, more in [((1,), {}), ((1, "b", [3], 5), {"late": "x"}), ((), {"first": 2, "third": [1]})]:
        assert repr(ours(*args, **more)) == repr(theirs(*args, **more))
        assert dataclasses.asdict(ours(*args, **more)) == dataclasses.asdict(theirs(*args, **more))
    assert ours.__match_args__ == theirs.__match_args__
    assert [each.name for each in fields(ours)] == [each.name for each in fields(theirs)]
    assert ours(1).third is not ours(1).third
    assert (ours(1) == ours(1)) is (theirs(1) == theirs(1))
    assert (ours(1) == ours(2), ours(1) == theirs(1)) == (False, False)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("args", [(), (1, "b", [], 4, 5)])
def test_arguments_that_do_not_fit_are_refused(make: Callable[..., Any], args: tuple[object, ...]) -> None:
    with pytest.raises(TypeError, match=r"__init__\(\)"):
        made_by(make)(*args)
    with pytest.raises(TypeError, match="unexpected keyword argument 'fourth'"):
        made_by(make)(1, fourth=4)


def test_what_is_frozen_stays_as_it_is() -> None:
    point = Point(1)

    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x  # pyright: ignore[reportAttributeAccessIssue]
    assert (point, replace(point, x=5), hash(point)) == (Point(1, 2), Point(5), hash(Point(1)))


def test_what_can_change_has_no_hash() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(made_by(lazy_dataclass.dataclass)(1))


def test_fields_are_inherited() -> None:
    named = Named(x=1, name="n")

    assert repr(named) == "Named(x=1, y=2, name='n')"
    assert named == Named(x=1, name="n", seen=["compared by nobody"])
    assert named != Point(1)


def test_a_copy_is_equal() -> None:
    named = Named(x=1, name="n", seen=["s"])

    for copied in (copy.copy(named), copy.deepcopy(named), pickle.loads(pickle.dumps(named))):
        assert dataclasses.asdict(copied) == dataclasses.asdict(named)


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


def test_what_holds_itself_can_be_shown() -> None:
    sample = made_by(lazy_dataclass.dataclass)(1)
    sample.third.append(sample)

    assert "third=[...]" in repr(sample)


def test_a_module_is_made_ready_before_its_first_instances() -> None:
    module = ModuleType("made")
    module.Sample = made_by(lazy_dataclass.dataclass, frozen=True)  # pyright: ignore[reportAttributeAccessIssue]
    waiting = module.Sample.__init__

    lazy_dataclass.compile_now(module)

    ready = module.Sample.__init__
    assert ready is not waiting
    assert module.Sample(1) == module.Sample(1)
    assert module.Sample.__init__ is ready


def test_no_function_is_compiled_before_an_instance_is_made() -> None:
    code = (
        "import dataclasses, harness.lazy_dataclass, harness.messages\n"
        "made = []\n"
        "compiled = dataclasses._create_fn if hasattr(dataclasses, '_create_fn') else None\n"
        "if compiled:\n"
        "    dataclasses._create_fn = lambda *rest, **more: made.append(rest[0]) or compiled(*rest, **more)\n"
        "import harness.events, harness.agent\n"
        "raise SystemExit(len(made))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
