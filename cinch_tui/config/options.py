"""What the command line asks for besides settings: what to do now, where, and with which session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from cinch_tui.config.layers import Sources
from cinch_tui.config.paths import Paths
from cinch_tui.user_input import Attachment, UserInput, append_marks
from harness.lazy_dataclass import dataclass

OutputFormat: TypeAlias = Literal["text", "json", "stream-json", "events"]
OUTPUT_FORMATS: tuple[OutputFormat, ...] = ("text", "json", "stream-json", "events")


@dataclass(frozen=True, slots=True)
class Continue:
    """Go on with the newest session of this folder."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Go on with a session; an empty id lets the person pick one."""

    session_id: str = ""


SessionChoice: TypeAlias = Literal["new"] | Continue | Resume


@dataclass(frozen=True, slots=True)
class Options:
    """One start of cinch. `notices` is what the person should be told about the configuration, `sources` is where it
    was read."""

    cwd: Path
    paths: Paths
    environ: Mapping[str, str]
    sources: Sources
    prompt: str = ""
    images: tuple[Attachment, ...] = ()
    headless: bool = False
    output_format: OutputFormat = "text"
    session_choice: SessionChoice = "new"
    fork: bool = False
    keep_session: bool = True
    add_dirs: tuple[Path, ...] = ()
    system: str = ""
    verbose: bool = False
    notices: tuple[str, ...] = ()

    @property
    def first_input(self) -> UserInput:
        """The first prompt, with its images."""
        return append_marks(self.prompt, self.images)
