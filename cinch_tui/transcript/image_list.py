"""Transcript list with images: decoded when visible, freed in the terminal when removed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual.message import Message

from cinch_tui.transcript.selectable_list import SelectableList

if TYPE_CHECKING:
    from cinch_tui.transcript.block import Block
    from cinch_tui.transcript.image import Cells, Picture
    from cinch_tui.transcript.layout import Row

# Terminals limit image memory to a few hundred megabytes for all windows.
MOST_HELD = 40


class Gallery:
    """Images stored in the terminal by number, with their size in cells."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._held: dict[int, Cells] = {}
        self.is_in_tmux = False
        """Sequences must be wrapped for passthrough."""

    def tell(self, sequence: str) -> None:
        from cinch_tui.terminal.multiplexers import wrapped

        self._write(wrapped(sequence, "tmux") if self.is_in_tmux else sequence)

    def holds(self, number: int, cells: Cells) -> bool:
        return self._held.get(number) == cells

    def place(self, number: int, cells: Cells) -> bool:
        """Display a stored image in another size; return False if it is not stored."""
        from cinch_tui.transcript.kitty_graphics import placing, taking_away

        if number not in self._held:
            return False
        self._held[number] = cells
        self.tell(taking_away(number))
        self.tell(placing(number, cells))
        return True

    def send(self, number: int, png: bytes, cells: Cells) -> None:
        from cinch_tui.transcript.kitty_graphics import placing, sending

        for sequence in sending(number, png):
            self.tell(sequence)
        self.tell(placing(number, cells))
        self._held[number] = cells
        if len(self._held) > MOST_HELD:
            self.free(next(iter(self._held)))

    def free(self, number: int) -> None:
        from cinch_tui.transcript.kitty_graphics import freeing

        if self._held.pop(number, None) is not None:
            self.tell(freeing(number))

    def clear(self) -> None:
        for number in tuple(self._held):
            self.free(number)

    def forget(self) -> None:
        """Forget all images without deleting them: the terminal has lost them."""
        self._held.clear()


class ImageList(SelectableList):
    @dataclass(eq=False, repr=False)
    class PictureSeen(Message, namespace="transcript"):
        """The first image became visible."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self.gallery: Gallery | None = None
        self._decoding: set[Picture] = set()
        self._has_seen_a_picture = False

    def show_pictures_again(self) -> None:
        """Transmit the images again after another program used the terminal."""
        if self.gallery is not None:
            self.gallery.forget()
            self._schedule()

    def drop(self, block: Block) -> None:
        self._free(block)
        super().drop(block)

    def clear(self) -> None:
        if self.gallery is not None:
            self.gallery.clear()
        super().clear()

    def on_unmount(self) -> None:
        if self.gallery is not None:
            self.gallery.clear()

    def _free(self, block: Block) -> None:
        if self.gallery is not None:
            for picture in block.pictures:
                self.gallery.free(picture.number)

    def _show(self, rows: list[Row]) -> None:
        seen = {row.block for row in rows if row.block.pictures}
        if seen:
            self._look_at_pictures(rows)
        super()._show(rows)

    def _look_at_pictures(self, rows: list[Row]) -> None:
        # Late import: images are rare.
        from cinch_tui.transcript.image_block import PicturePart

        if not self._has_seen_a_picture:
            self._has_seen_a_picture = True
            self.post_message(self.PictureSeen())
        look, width = self._page.look, self._page.width
        for block, part in {(row.block, row.block.parts[row.part]): None for row in rows}:
            if isinstance(part, PicturePart) and (cells := part.cells(look, width)):
                self._want(block, part.picture, cells)

    def _want(self, block: Block, picture: Picture, cells: Cells) -> None:
        """Start decoding unless the image is available."""
        if self._is_there(picture, cells) or picture in self._decoding:
            return
        self._decoding.add(picture)
        self.run_worker(partial(self._decode, block, picture, cells), group="pictures")

    def _is_there(self, picture: Picture, cells: Cells) -> bool:
        if self.ways.images == "blocks":
            return len(picture.points) == 2 * cells.rows and len(picture.points[0]) == cells.columns
        gallery = self.gallery
        return gallery is None or gallery.holds(picture.number, cells) or gallery.place(picture.number, cells)

    async def _decode(self, block: Block, picture: Picture, cells: Cells) -> None:
        # Late import: the decoder is large.
        from cinch_tui.transcript.image_decoding import BrokenPictureError, as_png, as_points

        way = self.ways.images
        try:
            if way == "blocks":
                picture.points = await asyncio.to_thread(as_points, picture, cells)
            else:
                png = await asyncio.to_thread(as_png, picture, cells)
                if self.gallery is not None and block.index >= 0:
                    self.gallery.send(picture.number, png, cells)
        except BrokenPictureError:
            picture.is_broken = True
        finally:
            self._decoding.discard(picture)
        if way == "blocks" or picture.is_broken:
            block.redraw()
        self.changed(block)
