from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.views import DiffView
from harness.workspace.hunks import Hunk, Sides, applied, hunks_of, lines_of

texts = st.lists(st.sampled_from(["a", "b", "c", "", "  d", "é\tf", "x\r", "\u2028"]), max_size=25).map("\n".join)
subsets = st.sets(st.integers(0, 12))


def view_of(old: str, new: str) -> DiffView:
    return DiffView("x", old, new)


@given(texts, texts)
def test_all_hunks_give_the_new_text_and_no_hunks_the_old(old: str, new: str):
    view = view_of(old, new)

    assert applied(view, range(len(hunks_of(view)))) == new
    assert applied(view, ()) == old


@given(texts, texts)
def test_selected_hunks_of_crlf_text_keep_their_line_endings(old: str, new: str):
    old, new = (text.replace("\r", "").replace("\n", "\r\n") for text in (old, new))
    view = view_of(old, new)

    for number in range(len(hunks_of(view))):
        assert "\n" not in (applied(view, {number}) or "").replace("\r\n", "")


@pytest.mark.requires_program("patch")
@given(texts, texts, subsets)
@settings(max_examples=60, deadline=None)
def test_any_subset_of_hunks_matches_patch(old: str, new: str, chosen: set[int]):
    view = view_of(old, new)
    hunks = hunks_of(view)
    taken = [number for number in range(len(hunks)) if number in chosen]

    with TemporaryDirectory() as folder:
        file = Path(folder, "file")
        file.write_bytes(old.encode())
        script = patch_of(Sides.of(view), [hunks[number] for number in taken])
        made = subprocess.run(
            ["patch", "--binary", "--no-backup-if-mismatch", "-s", str(file)], input=script.encode(), check=False
        )

        assert made.returncode == 0
        assert applied(view, taken) == (file.read_bytes().decode() if file.exists() else "")


def patch_of(sides: Sides, hunks: list[Hunk]) -> str:
    """Return a unified diff without context; each hunk is relative to those before it."""
    shift = 0
    parts: list[str] = ["--- file\n+++ file\n"] if hunks else []
    for hunk in hunks:
        old, new = sides.old[hunk.old_from : hunk.old_to], sides.new[hunk.new_from : hunk.new_to]
        # An empty side is numbered by the line before it.
        old_at, new_at = hunk.old_from + bool(old), hunk.old_from + shift + bool(new)
        parts.append(f"@@ -{old_at},{len(old)} +{new_at},{len(new)} @@\n")
        parts += [f"{sign}{line}" for sign, side in (("-", old), ("+", new)) for line in map(ended, side)]
        shift += len(new) - len(old)
    return "".join(parts)


def ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def test_changes_one_line_apart_are_one_hunk():
    old = "1\n2\n3\n4\n5\n6\n"

    near = hunks_of(view_of(old, old.replace("2", "two").replace("4", "four")))
    far = hunks_of(view_of(old, old.replace("2", "two").replace("5", "five")))

    assert near == [Hunk(1, 4, 1, 4)]
    assert far == [Hunk(1, 2, 1, 2), Hunk(4, 5, 4, 5)]


def test_hunks_of_long_texts_are_separated_by_the_lines_that_occur_once_in_both():
    old, new = ([f"{side} {number}\n" for number in range(600)] for side in ("old", "new"))
    # The brace occurs several times, so only the line before it identifies its place.
    old[300:300], new[300:300] = ["common\n", "}\n"], ["common\n", "}\n"]
    old[10], new[500], new[550] = "}\n", "}\n", "}\n"
    view = view_of("".join(old), "".join(new))

    hunks = hunks_of(view)

    assert hunks == [Hunk(0, 300, 0, 300), Hunk(302, 602, 302, 602)]
    assert applied(view, {0, 1}) == view.new
    assert applied(view, {1}) == "".join([*old[:302], *new[302:]])


@pytest.mark.parametrize(
    ("old", "new", "all_taken", "none_taken"), [(None, "a\n", "a\n", None), ("a\n", None, None, "a\n")]
)
def test_created_or_deleted_file_is_one_hunk(
    old: str | None, new: str | None, all_taken: str | None, none_taken: str | None
):
    view = DiffView("x", old, new)

    assert len(hunks_of(view)) == 1
    assert (applied(view, {0}), applied(view, ())) == (all_taken, none_taken)


def test_carriage_returns_are_hidden_only_if_both_sides_use_them_throughout():
    assert Sides.of(view_of("a\r\nb\r\n", "a\r\nc\r\n")).new == ["a\n", "c\n"]
    assert Sides.of(view_of("a\r\nb\r\n", "a\r\nb\n")) == Sides(["a\r\n", "b\r\n"], ["a\r\n", "b\n"])


def test_only_a_line_feed_ends_a_line():
    assert lines_of("a\u2028b\x0c\rc\nd") == ["a\u2028b\x0c\rc\n", "d"]
