from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.views import DiffView
from harness.workspace.unified_diff import unified

lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "d"]), max_size=30)
# Only the last line may have no end.
texts = lines.map(
    lambda each: "".join(line if line.endswith("\n") else f"{line}\n" for line in each[:-1]) + (each or [""])[-1]
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts, texts)
def test_git_takes_it_and_makes_the_same_change(tmp_path: Path, old: str, new: str) -> None:
    file = tmp_path / "dir" / "name.txt"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(old.encode())
    change = unified(DiffView("dir/name.txt", old, new))

    if change:
        subprocess.run(["git", "apply", "-"], input=change.encode(), cwd=tmp_path, check=True, capture_output=True)

    assert file.read_bytes() == new.encode()
    assert bool(change) == (old != new)


def test_a_new_file_is_reported_as_one() -> None:
    assert unified(DiffView("a.py", None, "x\n")) == "--- /dev/null\n+++ b/a.py\n@@ -0,0 +1,1 @@\n+x\n"
