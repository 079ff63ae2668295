"""Key hints while the transcript has the focus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cinch_tui.keybindings.keymap import hint

if TYPE_CHECKING:
    from cinch_tui.transcript.block import TranscriptBlock

READING = ("In the conversation: ↑ ↓ scroll", "transcript.above selects a block", "transcript.leave back")
MARKING = ("↑ ↓ extend", "transcript.copy copy", "transcript.leave back")


def acting_keys(selected: TranscriptBlock | None, *, is_marking: bool) -> str:
    if is_marking:
        return hint(*MARKING)
    if selected is None:
        return hint(*READING)
    return hint(
        "transcript.leave back",
        "transcript.copy copy",
        *(("transcript.unfold open/fold",) if selected.foldable else ()),
        *(("transcript.open picture",) if selected.images else ()),
        "transcript.copy_code code",
        "transcript.mark mark",
        "transcript.links links",
        "transcript.stamps times",
    )
