"""200 skills and 200 commands at a start: processor time to read their names, and tokens of the index of skills.

They are read in a thread; on the event loop, only the index is put together. The skills have the forms of metadata that
published ones have.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from measure import in_turn, report  # noqa: E402  the path comes first

from extensions.commands import load_commands  # noqa: E402
from extensions.locations import Root  # noqa: E402
from extensions.skills import load_skills, skills_section  # noqa: E402
from harness.context.tokens import estimate_text  # noqa: E402

COUNT = 200
RUNS = 50
DESCRIPTION = "Do task {0} of this project as its documents describe it, when the user asks for it."
LONG = f"{DESCRIPTION} Informed by long experience with such tasks, their usual mistakes and how to avoid each." * 3
METADATA = (
    f"description: {DESCRIPTION}",
    f'description: "{DESCRIPTION}"\nlicense: MIT',
    f"description: >-\n  {DESCRIPTION}\n  Not for other tasks.\nallowed-tools:\n  - Read\n  - Bash(git log:*)",
    f"description: {DESCRIPTION} It needs: a document.\nallowed-tools: Read, Grep\ndisable-model-invocation: false",
    f'description: >\n  {LONG}\n  Use it often.\nlicense: MIT\nmetadata:\n  author: somebody\n  version: "1.0.0"',
    f"description: {LONG}\norigin: elsewhere\nversion: 2.1.0",
)


def write(folder: Path) -> None:
    for number in range(COUNT):
        skill = folder / "skills" / f"skill-{number}"
        skill.mkdir(parents=True)
        metadata = METADATA[number % len(METADATA)].format(number)
        text = f"---\nname: skill-{number}\n{metadata}\n---\n{'One step of the task.' * 100}\n"
        (skill / "SKILL.md").write_text(text)
        command = folder / "commands" / f"group-{number % 5}" / f"command-{number}.md"
        command.parent.mkdir(parents=True, exist_ok=True)
        command.write_text(text)


def bare_reads(folder: Path) -> None:
    """Read the files of the skills without looking at them."""
    for each in os.scandir(folder / "skills"):
        descriptor = os.open(f"{each.path}/SKILL.md", os.O_RDONLY)
        os.read(descriptor, 8_192)
        os.close(descriptor)


def milliseconds(work: Callable[[], object]) -> Callable[[], float]:
    def taken() -> float:
        began = time.thread_time()
        work()
        return (time.thread_time() - began) * 1e3

    return taken


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write(folder)
        roots = [Root(folder, "user")]
        loaded = load_skills(roots).skills
        skills, index, commands, bare = in_turn(
            RUNS,
            milliseconds(lambda: load_skills(roots)),
            milliseconds(lambda: skills_section(loaded)),
            milliseconds(lambda: load_commands(roots)),
            milliseconds(lambda: bare_reads(folder)),
        )
        report(f"{COUNT} skills", skills, bare, unit="ms", than="reading their files", goal="≤ 5 ms")
        report("index of them, on the event loop", index, bare, unit="ms", than="reading their files")
        report(f"{COUNT} commands", commands, bare, unit="ms", than="reading as many files")
        print(f"index of {COUNT} skills: {estimate_text(skills_section(loaded))} tokens, goal ≤ 1,500")


if __name__ == "__main__":
    main()
