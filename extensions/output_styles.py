"""Output styles: how a model writes its replies. Format: `output-styles` of Claude Code."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from extensions.front_matter import parse_document
from extensions.index_text import one_line, reason, shortened, shown
from extensions.locations import ExtensionFile, Root, extension_files
from harness.errors import NotAFile
from harness.instructions.loading import OutputStyle
from harness.workspace.disk import read_small_text

MAX_BYTES = 20_000
"""Maximum size of an output style, in bytes."""
DEFAULT = "default"
"""Name for no output style."""
_MAX_NAME = 64
_MAX_DESCRIPTION = 200


class LoadedStyles(Struct, frozen=True):
    """Output styles of an agent."""

    styles: tuple[OutputStyle, ...] = ()
    """The styles by name; the first of several with the same name counts."""
    problems: tuple[str, ...] = ()
    """Problems to report to the user."""

    def find(self, name: str) -> OutputStyle | None:
        """Return the style with a name, without regard to case."""
        return next((each for each in self.styles if each.name.lower() == name.lower()), None)


def load_styles(roots: Sequence[Root]) -> LoadedStyles:
    """Read all output styles. Never raises; files that cannot be read are listed in `problems`.

    Args:
        roots: Folders with extensions, the strongest first.
    """
    found: dict[str, OutputStyle] = {}
    problems: list[str] = []
    for file in extension_files("output style", roots):
        try:
            style = _read_style(file)
        except (NotAFile, OSError, UnicodeDecodeError) as error:
            problems.append(f"{shown(file.path)} is skipped: {reason(error)}")
            continue
        found.setdefault(style.name.lower(), style)
    return LoadedStyles(tuple(found[name] for name in sorted(found)), tuple(problems))


def _read_style(file: ExtensionFile) -> OutputStyle:
    document = parse_document(read_small_text(file.path, MAX_BYTES))
    name = one_line(document.text("name"))[:_MAX_NAME] or file.path.stem
    return OutputStyle(
        f"{file.root.plugin}:{name}" if file.root.plugin else name,
        document.body.strip(),
        shortened(one_line(document.text("description")), _MAX_DESCRIPTION),
        keeps_coding=document.flag("keep-coding-instructions", default=False),
    )
