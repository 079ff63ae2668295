from __future__ import annotations

import re
from pathlib import Path

import pytest
from fakes.workplace import Workplace
from hypothesis import given
from hypothesis import strategies as st

from harness.approval.matching import Target, affects
from harness.approval.places import Places
from harness.approval.rules import parse_rule
from harness.ports.tool import ToolOutput
from harness.views import DiffView, TextView
from harness.workspace.file_text import file_text
from harness.workspace.unified_diff import unified
from tools.apply_patch import ApplyPatchTool
from tools.patch.applying import apply_hunks
from tools.patch.parsing import parse_patch
from tools.patch.patch import PatchError

PATCH = ApplyPatchTool()
APP = """\
class Server:
    def start(self):
        self.open()
        self.run()

    def stop(self):
        self.open()
        self.close()
"""


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    (tmp_path / "project").mkdir()
    return Workplace(tmp_path / "project")


async def opened(place: Workplace, **files: str | bytes) -> None:
    for name, content in files.items():
        place.put(f"{name}.py", content)
        await place.workspace.read(f"{name}.py")


def files_of(place: Workplace) -> dict[str, str]:
    return {
        str(path.relative_to(place.root)): path.read_bytes().decode()
        for path in sorted(place.root.rglob("*"))
        if path.is_file()
    }


def patched(text: str, patch: str) -> str:
    (only,) = parse_patch(patch)
    return apply_hunks(file_text(text.encode()), only).file.text


async def test_patch_changes_adds_moves_and_removes_files(place: Workplace):
    await opened(place, app=APP, old="x = 1\n", gone="y = 2\n")
    (place.root / "old.py").chmod(0o755)
    text = """*** Begin Patch
*** Update File: app.py
@@ class Server
@@     def stop(self):
-        self.open()
+        self.flush()
         self.close()
*** Update File: old.py
*** Move to: lib/new.py
@@
-x = 1
+x = 2
*** Delete File: gone.py
*** Add File: docs/a.py
+# new
+
+z = 3
*** End Patch"""

    foreseen = await place.foresee(PATCH, patch=text)
    called = await place.call(PATCH, patch=text)

    assert called.lines == [
        "Patched 4 files:",
        "M app.py: now lines 7–8",
        "R old.py → lib/new.py: now line 1",
        "D gone.py",
        "A docs/a.py",
    ]
    assert files_of(place) == {
        "app.py": APP.replace("        self.open()\n        self.close", "        self.flush()\n        self.close"),
        "docs/a.py": "# new\n\nz = 3\n",
        "lib/new.py": "x = 2\n",
    }
    assert (place.root / "lib/new.py").stat().st_mode & 0o777 == 0o755
    assert isinstance(foreseen, TextView)
    assert foreseen == called.output.view
    assert "rename to lib/new.py" in foreseen.text
    assert "--- a/gone.py\n+++ /dev/null" in foreseen.text


async def test_patch_of_one_file_can_be_reviewed_by_hunks(place: Workplace):
    await opened(place, app=APP)
    patch = (
        "--- a/app.py\n+++ b/app.py\n@@ -3,2 +3,2 @@\n         self.open()\n-        self.run()\n+        self.go()\n"
    )

    view = await place.foresee(PATCH, patch=patch)
    assert isinstance(view, DiffView)
    arguments = PATCH.revised({"patch": patch}, view, APP.replace("self.run()", "self.walk()"))
    assert arguments is not None
    await place.call(PATCH, **arguments)

    assert files_of(place) == {"app.py": APP.replace("self.run()", "self.walk()")}


async def test_a_file_that_does_not_match_leaves_all_unchanged(place: Workplace):
    await opened(place, a="a = 1\n", b="beta_value = 1\n")
    before = files_of(place)
    sections = ("a.py\n-a = 1\n+a = 2\n", "b.py\n-beta_value = 9\n+x = 2\n")
    patch = "".join(f"*** Update File: {section}" for section in sections)

    foreseen = await place.foresee(PATCH, patch=patch)
    called = await place.call(PATCH, patch=patch)

    assert isinstance(foreseen, ToolOutput)
    assert called.output.is_error
    assert "b.py: the context of the hunk at line 5 of the patch is not in the file" in called.text
    assert "-beta_value = 1\n+beta_value = 9" in called.text
    assert files_of(place) == before


async def test_a_failed_write_restores_the_files_before_it(place: Workplace):
    await opened(place, a="a = 1\n", b="b = 1\n")
    place.put("folder/c.py", "c = 1\n")
    await place.workspace.read("folder/c.py")
    before = files_of(place)
    patch = (
        "*** Begin Patch\n*** Add File: made/new.py\n+n = 1\n*** Update File: a.py\n-a = 1\n+a = 2\n"
        "*** Delete File: b.py\n*** Update File: folder/c.py\n-c = 1\n+c = 2\n*** End Patch"
    )

    def block(path: Path) -> None:
        if path.name == "c.py":
            path.with_name("c.py").chmod(0o444)
            path.unlink()
            path.mkdir()

    place.workspace.on_change(block)
    called = await place.call(PATCH, patch=patch)

    assert called.output.is_error
    (place.root / "folder/c.py").rmdir()
    assert files_of(place) == {name: text for name, text in before.items() if name != "folder/c.py"}
    assert not (place.root / "made").exists()


async def test_unread_and_changed_files_and_paths_outside_are_refused(place: Workplace):
    place.put("unread.py", "u = 1\n")
    await opened(place, changed="c = 1\n", there="t = 1\n")
    place.put("changed.py", "c = 1\n# by another program\n")
    before = files_of(place)

    for patch, why in (
        ("*** Update File: unread.py\n-u = 1\n+u = 2\n", "has not been read"),
        ("*** Delete File: unread.py\n", "has not been read"),
        ("*** Update File: changed.py\n-c = 1\n+c = 2\n", "has changed on disk"),
        ("*** Add File: ../outside.py\n+x\n", "is outside the folders"),
        ("*** Add File: there.py\n+x\n", "exists already"),
        ("*** Update File: there.py\n*** Move to: unread.py\n-t = 1\n+t = 2\n", "exists already"),
        ("*** Update File: there.py\n t = 1\n", "changes nothing"),
        ("*** Update File: missing.py\n-x\n+y\n", "does not exist"),
    ):
        called = await place.call(PATCH, patch=f"*** Begin Patch\n{patch}*** End Patch")
        assert called.output.is_error
        assert why in called.text
    assert files_of(place) == before
    assert not (place.root.parent / "outside.py").exists()


@pytest.mark.parametrize(
    "patch",
    [
        "*** Begin Patch\n*** Update File: a.py\n@@\n-one\n+1\n two\n",
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.py\n-one\n+1\n two\n*** End Patch\nEOF\n",
        "```diff\n--- a.py\t2024-01-01\n+++ a.py\t2024-01-02\n@@ -1,9 +1,9 @@\n-one\n+1\n two\n```",
        "diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n@@ -7,2 +7,2 @@ x\n-one\n+1\n two\n\n",
        "*** Begin Patch\r\n*** Update File: a.py\r\n@@ -1 +1 @@\r\n-one\r\n+1\r\n*** End Patch\r\n",
        "*** begin patch\n*** Update File: a.py\n-one\n+1\n*** Update File: ./a.py\n 1\n two\n+2\n*** End Patch",
    ],
)
def test_forms_that_models_write_are_understood(patch: str):
    assert patched("one\ntwo\nthree\n", patch).startswith("1\ntwo\n")


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ("nothing", "this is not a patch"),
        ("*** Begin Patch\nhello\n*** End Patch", "line 2 of the patch: expected"),
        ("*** Begin Patch\n*** Update File: a\n@@\noops\n*** End Patch", "line 4 of the patch: a line begins with"),
        ("*** Begin Patch\n*** Add File: a\n+x\ny\n*** End Patch", "line 4 of the patch: each line of a new file"),
        ("*** Begin Patch\n*** Delete File: a\nx\n*** End Patch", "line 3 of the patch: a *** Delete File"),
        (
            "*** Begin Patch\n*** Update File: a\n*** End Patch",
            "line 2 of the patch: the section for a changes nothing",
        ),
        (
            "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: a\n*** End Patch",
            "line 4 of the patch: a has a section",
        ),
        ("@@ -1 +1 @@\n-a\n+b\n", "names no file"),
        ("--- a\n+++ a\n@@ -1 +1 @@\n", "line 3 of the patch: the hunk has no lines"),
        ("diff --git a/x b/x\nGIT binary patch\n", "binary files"),
    ],
)
def test_malformed_patch_is_explained_with_its_line(patch: str, why: str):
    with pytest.raises(PatchError, match=why.replace("*", r"\*")):
        parse_patch(patch)


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        ("@@ -7,1 +7,1 @@\n-        self.open()\n+        self.x()\n", 7),
        ("@@     def stop(self):\n-        self.open()\n+        self.x()\n", 7),
        ("     def stop(self):\n+        pass\n@@\n-        self.open()\n+        self.x()\n", 8),
        ("@@\n-        self.open()\n+        self.x()\n", None),
        ("@@ class Server:\n+        pass\n", None),
    ],
)
def test_hunk_with_several_places_needs_a_line_an_anchor_or_an_order(patch: str, result: int | None):
    patch = f"*** Begin Patch\n*** Update File: a.py\n{patch}*** End Patch"

    if result is None:
        with pytest.raises(PatchError, match=r"occurs 2 times|has no context"):
            patched(APP, patch)
    else:
        assert patched(APP, patch).splitlines()[result - 1] == "        self.x()"


@given(st.lists(st.sampled_from(["a", "b", "", "  c", "-- d", "+e"]), max_size=12), st.data())
def test_unified_diff_of_two_texts_turns_one_into_the_other(lines: list[str], data: st.DataObject):
    other = data.draw(st.lists(st.sampled_from([*lines, "new", "  x"]), max_size=12))
    ends = data.draw(st.tuples(st.sampled_from(["", "\n"]), st.sampled_from(["", "\n"])))
    old, new = "\n".join(lines) + ends[0], "\n".join(other) + ends[1]
    diff = unified(DiffView("a.txt", old, new))

    if diff and old:
        result, refusal = None, ""
        try:
            result = patched(old, diff)
        except PatchError as error:
            refusal = str(error)
        assert result == new or re.search("times, at lines|has no context", refusal)


@pytest.mark.parametrize(
    ("rule", "is_affected"),
    [
        ("edit_file(secret/**)", True),
        ("apply_patch(secret/**)", True),
        ("edit(secret/**)", True),
        ("edit_file", True),
        ("edit_file(other/**)", False),
        ("write_file(secret/**)", False),
    ],
)
@pytest.mark.parametrize(
    "section",
    ["Add File: secret/a.py\n+x", "Delete File: secret/a.py", "Update File: a.py\n*** Move to: secret/a.py\n-x\n+y"],
)
def test_rules_for_edits_apply_to_every_path_of_a_patch(rule: str, section: str, *, is_affected: bool):
    patch = f"*** Begin Patch\n*** Add File: b.py\n+b\n*** {section}\n*** End Patch"

    target = Target("apply_patch", PATCH.risk({"patch": patch}), Places(Path("/work")))

    assert affects(parse_rule(rule, "deny"), target) == is_affected
