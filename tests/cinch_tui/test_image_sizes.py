from __future__ import annotations

from base64 import b64decode
from io import BytesIO
from pathlib import Path

import pytest
from fakes.pictures import png
from PIL import Image as Picture

from cinch_tui.images.image_loader import LARGEST, LoadedImage, load_bytes
from cinch_tui.images.image_store import MOST, ImageStore
from harness.errors import CinchError
from harness.messages import Image

ORIENTATION = 0x0112


def saved(picture: Picture.Image, kind: str, **options: object) -> bytes:
    out = BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def opened(shot: LoadedImage) -> Picture.Image:
    return Picture.open(BytesIO(b64decode(shot.image.data)))


async def test_picture_that_services_refuse_is_made_smaller(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    large = png(2_400, 1_800, noise=True)
    assert len(large) > LARGEST

    shot = await load_bytes(large, "large.png")

    assert (shot.width, shot.height) == (2_000, 1_500)
    assert shot.image.media_type == "image/jpeg"
    assert opened(shot).size == (2_000, 1_500)


async def test_picture_that_is_too_wide_is_made_smaller():
    shot = await load_bytes(png(8_001, 8), "wide.png")

    assert (shot.width, shot.height) == (2_000, 2)


async def test_transparent_pixels_become_white_when_an_image_is_resized():
    shot = await load_bytes(saved(Picture.new("RGBA", (8_100, 100), (0, 0, 0, 0)), "PNG"), "clear.png")

    assert opened(shot).getpixel((5, 5)) == (255, 255, 255)


async def test_a_rotated_photo_is_upright_when_resized():
    turned = Picture.Exif()
    turned[ORIENTATION] = 6

    shot = await load_bytes(saved(Picture.new("RGB", (8_200, 4_100)), "JPEG", exif=turned), "photo.jpg")

    assert (shot.width, shot.height) == (1_000, 2_000)


async def test_large_picture_that_cannot_be_decoded_is_refused_with_what_services_take():
    with pytest.raises(CinchError, match=r"wide.png is too large \(8001 × 10 pixels, 0.0 MB\).*limits are 8000 pixels"):
        await load_bytes(png(8_001, 10)[:40], "wide.png")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
async def test_half_a_picture_is_refused(kind: str):
    whole = saved(Picture.effect_noise((200, 200), 50), kind)

    shot = await load_bytes(whole, "whole")
    with pytest.raises(CinchError, match="half is damaged"):
        await load_bytes(whole[: len(whole) // 2], "half")

    assert (shot.width, shot.height) == (200, 200)


async def test_error_names_the_format_of_a_file_that_is_no_image():
    with pytest.raises(CinchError, match=r"doc.png is a PDF document"):
        await load_bytes(b"%PDF-1.7", "doc.png")


def test_album_keeps_the_newest_and_finds_only_its_own(tmp_path: Path):
    album = ImageStore(tmp_path / "pictures")
    (tmp_path / "secret.png").write_bytes(png())

    names = [album.keep(Image("image/png", f"{number:08d}")) for number in range(MOST + 5)]

    assert len(list((tmp_path / "pictures").iterdir())) == MOST
    assert album.find(names[-1]) == Image("image/png", f"{MOST + 4:08d}")
    assert album.find("../secret.png") is None
    assert (tmp_path / "pictures" / names[-1]).stat().st_mode & 0o077 == 0


def test_image_store_on_a_failing_disk_keeps_nothing_and_raises_nothing(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")

    assert ImageStore(tmp_path / "file").keep(Image("image/png", "AAAA")) == ""
