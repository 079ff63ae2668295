"""Limits of the trash that delete_file fills."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.workplace import Workplace

from harness.workspace import trash as trash_module
from harness.workspace.moving import restore
from tools.delete import DeleteTool

DELETE = DeleteTool()


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    (tmp_path / "project").mkdir()
    return Workplace(tmp_path / "project")


async def test_trash_forgets_the_oldest_beyond_its_size(place: Workplace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trash_module, "MAX_TOTAL_BYTES", 10)
    for name, size in (("a", 6), ("b", 6), ("c", 50)):
        place.put(name, "x" * size)
        await place.call(DELETE, path=name)

    left = [each.name for each in place.context.spill_dir.rglob("content/*")]

    assert left == ["c"]


async def test_restored_entries_do_not_count_in_the_trash(place: Workplace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trash_module, "MAX_TOTAL_BYTES", 20)
    for name in ("a", "b", "c"):
        place.put(name, "x" * 9)
        await place.call(DELETE, path=name)
        if name == "b":
            (kept,) = place.context.spill_dir.rglob("content/b")
            await restore(place.workspace, kept, place.root / "b")

    left = sorted(each.name for each in place.context.spill_dir.rglob("content/*"))

    assert left == ["a", "c"]
