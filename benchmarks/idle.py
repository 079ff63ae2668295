"""Memory of cinch at rest, and its activity there and while it waits, beside the smallest Textual app."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from fakes.model_server import Hang, Reply  # noqa: E402  the path comes first
from measure import memory, process_tree, report  # noqa: E402
from stage import Script, cinch, smallest  # noqa: E402
from terminal import Watched  # noqa: E402

SECONDS = 10
THAN = "the smallest Textual app"


@dataclass(frozen=True, slots=True)
class Figures:
    """Memory in megabytes, and activity per second."""

    memory: float
    cpu: float
    written: float
    frames: float


def observed(app: Watched) -> Figures:
    cpu, written, frames = app.cpu(), app.written, app.frames
    app.watch(SECONDS)
    counts = app.cpu() - cpu, app.written - written, app.frames - frames
    return Figures(app.memory(), *(count / SECONDS for count in counts))


def compare(name: str, ours: Figures, theirs: Figures, frames: str) -> None:
    report(f"{name}, of a core", ours.cpu * 100, theirs.cpu * 100 or 0.1, unit="%", than=THAN, goal="≤ 0.5 %")
    report("  to the terminal", ours.written, theirs.written, unit="bytes/s", than=THAN)
    report("  painted", ours.frames, theirs.frames, unit="frames/s", than=THAN, goal=frames)


def main() -> None:
    with smallest() as app:
        reference = observed(app)
    command = ("bash", {"command": "make test"})
    script = Script([Hang(), Reply("I run the tests.", calls=[command])])
    with cinch(script) as app:
        at_rest = observed(app)
        report("memory at rest", at_rest.memory, reference.memory, unit="MB", than=THAN, goal="≤ 50 MB")
        for process in process_tree(app.pid):
            name = Path(f"/proc/{process}/comm").read_text().strip()
            print(f"  process {name}: {memory(process):.1f} MB")
        compare("at rest", at_rest, reference, "≤ 2, the cursor's")
        app.type("go\r")
        app.watch(1)
        compare("waiting for a model", observed(app), reference, "≤ 6, the spinner's 4 among them")
        app.type("\x1b")
        app.watch(1)
        app.type("again\r")
        app.watch(3)
        compare("waiting for an approval", observed(app), reference, "≤ 2")


if __name__ == "__main__":
    main()
