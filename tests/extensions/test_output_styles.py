"""Output styles in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from extensions.locations import BUNDLED, Root
from extensions.output_styles import MAX_BYTES, load_styles
from harness.instructions.loading import OutputStyle


def write(root: Path, name: str, text: str) -> Root:
    path = root / "output-styles" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return Root(root, "user")


def test_style_of_claude_code_is_read(tmp_path: Path):
    text = "---\nname: Pirate Captain\ndescription: Arr\nkeep-coding-instructions: true\n---\n\nSpeak like one.\n"
    root = write(tmp_path, "pirate.md", text)

    loaded = load_styles([root])

    assert loaded.styles == (OutputStyle("Pirate Captain", "Speak like one.", "Arr", keeps_coding=True),)
    assert loaded.find("pirate captain") is loaded.styles[0]
    assert loaded.find("") is None


def test_style_without_metadata_has_the_name_of_its_file_and_replaces_coding_instructions(tmp_path: Path):
    (style,) = load_styles([write(tmp_path, "teacher.md", "Teach.")]).styles

    assert (style.name, style.text, style.keeps_coding) == ("teacher", "Teach.", False)


def test_first_root_with_a_name_counts_and_plugins_have_their_own_names(tmp_path: Path):
    near = write(tmp_path / "near", "a.md", "near")
    far = write(tmp_path / "far", "other.md", "---\nname: A\n---\nfar")
    plugin = Root(write(tmp_path / "plugin", "a.md", "plugin").path, "plugin", plugin="tools")

    styles = load_styles([near, far, plugin]).styles

    assert [(each.name, each.text) for each in styles] == [("a", "near"), ("tools:a", "plugin")]


def test_unusable_styles_are_skipped_with_a_reason(tmp_path: Path):
    root = write(tmp_path, "large.md", "x" * (MAX_BYTES + 1))
    (tmp_path / "output-styles/binary.md").write_bytes(b"\xff\xfe\xfa")

    loaded = load_styles([root])

    assert loaded.styles == ()
    assert [problem.partition(" is skipped: ")[2] for problem in loaded.problems] == [
        "it is not UTF-8 text",
        "it is a file of 20,001 bytes; the limit is 20,000",
    ]


@pytest.mark.parametrize("name", ["concise", "explanatory", "learning"])
def test_styles_of_cinch_add_to_the_coding_instructions(name: str):
    style = load_styles([BUNDLED]).find(name)

    assert style is not None
    assert style.keeps_coding
    assert style.description
    assert len(style.text) < 2_000
