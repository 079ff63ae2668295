"""Storage for images of drafts and earlier prompts: files named by content hash."""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cinch_tui.config.paths import write_private
from cinch_tui.user_input import Attachment

if TYPE_CHECKING:
    from harness.messages import Image

MOST = 100
_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}

logger = logging.getLogger(__name__)


class ImageStore:
    """Image directory. Disk errors only lose images of earlier prompts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep_all(self, images: Iterable[Attachment]) -> dict[str, str]:
        """Save images; return their names by mark."""
        names = {each.mark: self.keep(each.image) for each in images}
        return {mark: name for mark, name in names.items() if name}

    def find_all(self, names: Mapping[str, str]) -> tuple[Attachment, ...]:
        """Return the images that still exist."""
        found = ((mark, self.find(name)) for mark, name in names.items())
        return tuple(Attachment(mark, image) for mark, image in found if image)

    def keep(self, image: Image) -> str:
        """Save an image and return its name; empty on failure."""
        # Late import: images are rare, and this module is loaded before the first paint.
        import hashlib

        name = hashlib.sha256(image.data.encode()).hexdigest()[:32] + _SUFFIXES.get(image.media_type, ".bin")
        path = self._folder / name
        try:
            if path.exists():
                path.touch()
            else:
                write_private(path, base64.b64decode(image.data))
                self._thin_out()
        except (OSError, binascii.Error) as error:
            logger.warning("the image cannot be saved: %s", error)
            return ""
        return name

    def find(self, name: str) -> Image | None:
        """Return the image with this name, if it exists."""
        from harness.messages import Image  # not before the first paint

        kind = next((kind for kind, suffix in _SUFFIXES.items() if name.endswith(suffix)), "")
        # Valid names contain no path separator.
        if not kind or "/" in name or "\\" in name:
            return None
        try:
            return Image(kind, base64.b64encode((self._folder / name).read_bytes()).decode("ascii"))
        except OSError:
            return None

    def _thin_out(self) -> None:
        """Delete the oldest images."""
        kept = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime)
        for path in kept[:-MOST]:
            path.unlink(missing_ok=True)
