"""Transcript list with images, and with the start banner while it is empty."""

from __future__ import annotations

import asyncio
from functools import partial

from textual.message import Message
from textual.strip import Strip

from cinch_tui.app.start_banner import StartBanner
from cinch_tui.transcript.block import TranscriptBlock
from cinch_tui.transcript.image import Cells, TranscriptImage
from cinch_tui.transcript.layout import ScreenRow
from cinch_tui.transcript.lines import plain_line
from cinch_tui.transcript.painting import paint_line
from cinch_tui.transcript.searchable_list import SearchableList
from cinch_tui.transcript.terminal_images import TerminalImageStore


class ImageList(SearchableList):
    """Images are decoded when visible, and freed in the terminal when removed."""

    class ImageSeen(Message, namespace="transcript"):
        """The first image became visible."""

    terminal_images: TerminalImageStore | None = None
    _banner: StartBanner | None = None
    _has_seen_an_image = False

    def __init__(self) -> None:
        super().__init__()
        self._decoding: set[TranscriptImage] = set()

    @property
    def banner(self) -> StartBanner | None:
        """Shown as long as there are no blocks."""
        return self._banner

    @banner.setter
    def banner(self, banner: StartBanner | None) -> None:
        self._banner = banner
        if not self._rows:
            self.refresh()

    def render_line(self, y: int) -> Strip:
        if self._rows or self._banner is None:
            return super().render_line(y)
        width, styles = self.size.width, self._layout.styles
        lines = self._banner.lines(width)
        style = styles.on_base("heading" if y == 0 else "muted")
        return paint_line(plain_line(lines[y] if y < len(lines) else "", style), width, styles.base)

    def resend_images(self) -> None:
        """Transmit the images again after another program used the terminal."""
        if self.terminal_images is not None:
            self.terminal_images.forget()
            self._schedule()

    def drop(self, block: TranscriptBlock) -> None:
        if self.terminal_images is not None:
            for image in block.images:
                self.terminal_images.free(image.number)
        super().drop(block)

    def clear(self) -> None:
        if self.terminal_images is not None:
            self.terminal_images.clear()
        super().clear()

    def on_unmount(self) -> None:
        if self.terminal_images is not None:
            self.terminal_images.clear()

    def _show(self, rows: list[ScreenRow]) -> None:
        if any(row.block.images for row in rows):
            self._load_images(rows)
        if self._banner and bool(rows) != bool(self._rows):
            self.refresh()
        super()._show(rows)

    def _load_images(self, rows: list[ScreenRow]) -> None:
        # Late import: images are rare.
        from cinch_tui.transcript.image_block import ImagePart

        if not self._has_seen_an_image:
            self._has_seen_an_image = True
            self.post_message(self.ImageSeen())
        styles, width = self._layout.styles, self._layout.width
        for block, part in {(row.block, row.block.parts[row.part]): None for row in rows}:
            if isinstance(part, ImagePart) and (cells := part.cells(styles, width)):
                self._want(block, part.image, cells)

    def _want(self, block: TranscriptBlock, image: TranscriptImage, cells: Cells) -> None:
        """Start decoding unless the image is available."""
        if self._is_there(image, cells) or image in self._decoding:
            return
        self._decoding.add(image)
        self.run_worker(partial(self._decode, block, image, cells), group="images")

    def _is_there(self, image: TranscriptImage, cells: Cells) -> bool:
        if self.options.images == "blocks":
            return len(image.pixels) == 2 * cells.rows and len(image.pixels[0]) == cells.columns
        store = self.terminal_images
        return store is None or store.contains(image.number, cells) or store.place(image.number, cells)

    async def _decode(self, block: TranscriptBlock, image: TranscriptImage, cells: Cells) -> None:
        # Late import: the decoder is large.
        from cinch_tui.images.decoding import ImageDecodingError, as_pixels, as_png

        mode = self.options.images
        try:
            if mode == "blocks":
                image.pixels = await asyncio.to_thread(as_pixels, image, cells)
            else:
                png = await asyncio.to_thread(as_png, image, cells)
                if self.terminal_images is not None and block.index >= 0:
                    self.terminal_images.send(image.number, png, cells)
        except ImageDecodingError:
            image.is_broken = True
        finally:
            self._decoding.discard(image)
        if mode == "blocks" or image.is_broken:
            block.invalidate()
        self.changed(block)
