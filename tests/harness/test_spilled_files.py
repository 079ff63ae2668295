from __future__ import annotations

import os
import time
from pathlib import Path

from harness.execution.spill import KEPT_SECONDS, forget_old_spills


def test_only_old_spilled_files_are_removed(tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    output = tmp_path / "output"
    for folder in (elsewhere, output / "old", output / "new"):
        folder.mkdir(parents=True)
        (folder / "bash-1.txt").write_text("long")
    (output / "link").symlink_to(elsewhere)
    (output / "file").write_text("of somebody")
    long_ago = time.time() - KEPT_SECONDS - 60
    for path in (output / "old", output / "file", elsewhere):
        os.utime(path, (long_ago, long_ago))
    os.utime(output / "link", (long_ago, long_ago), follow_symlinks=False)

    forget_old_spills(output)

    assert sorted(path.name for path in output.iterdir()) == ["file", "link", "new"]
    assert (elsewhere / "bash-1.txt").exists()


def test_missing_spill_folder_is_not_an_error(tmp_path: Path):
    forget_old_spills(tmp_path / "never")

    assert not (tmp_path / "never").exists()
