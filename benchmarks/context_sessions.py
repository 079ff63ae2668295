"""Recorded-style sessions for `context.py`: a developer and a model that reads, searches, edits and tests a project.

The sessions are the same in every run of one checkout. Files and search results come from the folder they run in; the
output of test runs is written beside them. Each session plants facts: demands of the user, decisions of the model, and
findings in output, each with a unique word that is looked for in the last request.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

SESSIONS = tuple((f"session {number}", turns) for number, turns in enumerate(
    (60, 80, 100, 120, 150, 180, 210, 240, 280, 320, 360, 400), 1
))  # fmt: skip
"""Names and numbers of turns."""
OUTPUTS = ".recorded"
"""Folder of recorded output."""
_SMALLEST, _LARGEST = 1_500, 12_000
"""Sizes of files that are read, in bytes."""
_DEMANDS = (
    "Whatever you do, keep the public name {} as it is; other teams import it.",
    "One more rule for all of this work: nothing may write to the folder {}.",
    "The deadline is fixed and the release is called {}; mention it in the changelog at the end.",
)
_DECISIONS = (
    "Decision: the new code goes into {}, because two callers need it.",
    "Decision: we drop the old format {} and convert it when it is loaded.",
    "Decision: errors get the code {} so that callers can tell them apart.",
)
_FINDINGS = (
    "Finding: the failure only occurs with seed {}.",
    "Finding: the slow part is the function {}.",
)
_SYLLABLES = ("ba", "ke", "lo", "mi", "nu", "pa", "ri", "so", "tu", "ve", "xa", "zo")


class Call(Struct, frozen=True):
    """A tool call of a recorded turn."""

    tool: str
    arguments: dict[str, object]


class Turn(Struct, frozen=True):
    """One reply of the model."""

    text: str
    calls: tuple[Call, ...] = ()


class Task(Struct, frozen=True):
    """A prompt and the replies until the model is done."""

    prompt: str
    turns: tuple[Turn, ...]


class Session(Struct, frozen=True):
    """A conversation with the words that must survive it."""

    name: str
    tasks: tuple[Task, ...]
    demands: tuple[str, ...]
    decisions: tuple[str, ...]
    findings: tuple[str, ...]

    @property
    def turns(self) -> int:
        return sum(len(task.turns) for task in self.tasks)


def record(name: str, turns: int, project: Path) -> Session:
    """Write the recorded output of a session below `project`, and return the session."""
    return _Recorder(name, project).session(turns)


class _Recorder:
    def __init__(self, name: str, project: Path) -> None:
        self._random = random.Random(name)
        self._project = project
        self._sources = {path.relative_to(project): path.read_text(encoding="utf-8") for path in _files(project)}
        self._read: list[Path] = []
        self._edits = 0
        self._outputs = 0
        self._demands: list[str] = []
        self._decisions: list[str] = []
        self._findings: list[str] = []
        (project / OUTPUTS).mkdir(exist_ok=True)
        # The output of a command that reads a file would be taken for content, which is never compressed.
        (project / OUTPUTS / "test.sh").write_text(f"cat {OUTPUTS}/$1.txt\n")

    def session(self, turns: int) -> Session:
        name = f"{turns} turns"
        tasks: list[Task] = []
        while (left := turns - sum(len(task.turns) for task in tasks)) > 0:
            tasks.append(self._task(min(left, self._random.randint(8, 30))))
        return Session(name, tuple(tasks), tuple(self._demands), tuple(self._decisions), tuple(self._findings))

    def _task(self, turns: int) -> Task:
        focus = self._random.sample(sorted(self._sources), 5)
        names = ", ".join(str(path) for path in focus[:2])
        prompt = f"Please improve the handling of errors in {names}, with tests. {self._words(30)}"
        if self._random.random() < 0.5:
            prompt += "\n" + self._planted(_DEMANDS, self._demands)
        replies = [self._turn(focus) for _ in range(turns - 1)]
        summary = f"Done. {self._words(60)}"
        if self._random.random() < 0.7:
            summary += "\n" + self._planted(_DECISIONS, self._decisions)
        return Task(prompt, (*replies, Turn(summary)))

    def _turn(self, focus: Sequence[Path]) -> Turn:
        text = self._words(self._random.choice((0, 8, 25)))
        kind = self._random.random()
        if kind < 0.40:
            calls = tuple(self._reading(focus) for _ in range(self._random.choice((1, 1, 2))))
        elif kind < 0.55:
            calls = (self._search(),)
        elif kind < 0.75:
            calls = (self._test_run(),)
        else:
            calls = (self._edit(focus),)
        if self._random.random() < 0.06:
            text += " " + self._planted(_DECISIONS, self._decisions)
        return Turn(text, calls)

    def _reading(self, focus: Sequence[Path]) -> Call:
        again = self._read and self._random.random() < 0.3
        path = self._random.choice(self._read[-6:] if again else list(focus))
        self._read.append(path)
        arguments: dict[str, object] = {"path": str(path)}
        if self._random.random() < 0.2:
            arguments |= {"offset": 1 + self._random.randint(0, 3) * 50, "limit": 100}
        return Call("read_file", arguments)

    def _search(self) -> Call:
        path = self._random.choice(sorted(self._sources))
        words = [word for word in self._sources[path].split() if word.isidentifier() and len(word) > 11]
        return Call("grep", {"pattern": self._random.choice(words or ["return"]), "output_mode": "content"})

    def _edit(self, focus: Sequence[Path]) -> Call:
        path = self._random.choice(self._read[-4:] or list(focus))
        text = self._sources[path]
        old = self._random.choice(
            [line for line in text.split("\n") if len(line) > 20 and text.count(f"{line}\n") == 1]
        )
        self._edits += 1
        new = f"{old}  # change {self._edits}"
        self._sources[path] = text.replace(f"{old}\n", f"{new}\n")
        return Call("edit_file", {"path": str(path), "old_string": f"{old}\n", "new_string": f"{new}\n"})

    def _test_run(self) -> Call:
        self._outputs += 1
        output = self._project / OUTPUTS / f"{self._outputs}.txt"
        output.write_text("\n".join(self._test_output()) + "\n", encoding="utf-8")
        return Call("bash", {"command": f"sh {OUTPUTS}/test.sh {self._outputs}", "description": "Run the tests"})

    def _test_output(self) -> Iterator[str]:
        count = self._random.choice((20, 60, 150))
        module = f"tests/test_{self._word()}.py"
        yield f"collected {count} items"
        for number in range(count):
            yield f"{module}::test_{self._word()}_{self._word()} PASSED [{100 * number // count:>3}%]"
        if self._random.random() < 0.5:
            path = self._random.choice(sorted(self._sources))
            yield "=================================== FAILURES ==================================="
            yield from self._sources[path].split("\n")[10:60]
            yield f"E   AssertionError: {self._words(12)}"
            if self._random.random() < 0.3:
                yield self._planted(_FINDINGS, self._findings)
        yield f"====== {count} tests in {self._random.random() * 9:.2f}s ======"

    def _planted(self, sentences: Sequence[str], kept: list[str]) -> str:
        word = "".join(self._random.choice(_SYLLABLES) for _ in range(5)) + f"_{len(kept)}"
        kept.append(word)
        return self._random.choice(sentences).format(word)

    def _word(self) -> str:
        return "".join(self._random.choice(_SYLLABLES) for _ in range(3))

    def _words(self, count: int) -> str:
        return " ".join(self._word() for _ in range(count))


def _files(project: Path) -> list[Path]:
    found = (path for path in project.rglob("*.py") if _SMALLEST < path.stat().st_size < _LARGEST)
    return sorted(found)
