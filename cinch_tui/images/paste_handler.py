"""Pastes other than plain text: images and dropped files."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from cinch_tui.images.dropped_files import dropped_paths, pasted_picture
from cinch_tui.images.image_loader import LoadedImage, attachments, is_picture, shot_of, shot_of_file
from cinch_tui.user_input import Attachment, UserInput
from harness.errors import CinchError

Piece: TypeAlias = str | LoadedImage
# Split like a shell: quoted, or with escaped blanks.
_PATH = re.compile(r"""(?<!\S)(?:'[^'\n]+'|"[^"\n]+"|(?:\\.|[^\s\\'"])+)(?!\S)""")
PASTED = "pasted"


class PasteHandler(Struct, frozen=True):
    """Content of a paste."""

    pieces: tuple[Piece, ...]
    """Texts and images in order."""
    refused: tuple[str, ...] = ()
    """Reasons for rejected images."""


async def taken_in(text: str, root: Path) -> PasteHandler | None:
    """Return the content of a paste; None if it is plain text."""
    if (data := pasted_picture(text)) is not None:
        found = await shown(data, PASTED)
        # Keep the text: the agent may be able to use it.
        return found if found.pieces else PasteHandler((text,), found.refused)
    paths = await asyncio.to_thread(dropped_paths, text, root)
    if not paths:
        return None
    pieces, refused = list[Piece](), list[str]()
    for path in paths:
        try:
            pieces.append(await _piece(path, root))
        except CinchError as error:
            refused.append(str(error))
            pieces.append(mention(path, root))
    return PasteHandler(tuple(pieces), tuple(refused))


async def shown(data: bytes, name: str) -> PasteHandler:
    try:
        return PasteHandler((await shot_of(data, name),))
    except CinchError as error:
        return PasteHandler((), (str(error),))


def mention(path: Path, root: Path) -> str:
    """Return the path as an `@` mention, relative to the project if inside."""
    named = str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
    folder = "/" if path.is_dir() else ""
    return f'@"{named}{folder}" ' if " " in named else f"@{named}{folder} "


async def with_pictures(text: str, root: Path, first: int = 1) -> tuple[UserInput, tuple[str, ...]]:
    """Attach the images whose paths are in a line, numbered from `first`; return reasons for rejected ones too."""
    said, images, refused, end = "", list[Attachment](), list[str](), 0
    for found in _PATH.finditer(text):
        paths = await asyncio.to_thread(dropped_paths, found[0], root)
        if len(paths) != 1 or not await asyncio.to_thread(is_picture, paths[0]):
            continue
        try:
            shot = await shot_of_file(paths[0], root)
        except CinchError as error:
            refused.append(str(error))
            continue
        images += attachments([shot], first + len(images))
        said += f"{text[end : found.end()]} {images[-1].mark}"
        end = found.end()
    return UserInput(said + text[end:], tuple(images)), tuple(refused)


async def _piece(path: Path, root: Path) -> Piece:
    return await shot_of_file(path, root) if await asyncio.to_thread(is_picture, path) else mention(path, root)
