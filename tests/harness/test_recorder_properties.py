"""Random histories of a session file that other programs damage while it is written: every message stays in it."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.talk import call, reply, result, tell
from msgspec.structs import replace

from harness.messages import AssistantMessage, Message, ModelMessage, Thinking, new_id, user
from harness.session.doctor import examine, repair
from harness.session.recorder import SessionRecorder
from harness.session.repaired import repaired_messages
from harness.session.resume import load_session

STEPS = 12


class Life:
    """A session with the messages that its current conversation must contain, in order."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.expected: list[ModelMessage] = []
        self.title = ""
        self.steps: list[str] = []
        self._folder = folder
        self.store = SessionRecorder(folder, folder, new_id(), on_problem=self.steps.append)
        self.talk()

    @property
    def path(self) -> Path:
        return self.store.path

    def talk(self) -> None:
        a, b = (call(new_id()) for _ in range(2))
        results = [result(each.id, "x" * self.chance.choice((1, 4_000))) for each in (a, b)]
        calls = reply("I look", a, b)
        calls = replace(calls, content=(Thinking("hm " * self.chance.choice((1, 2_000)), "signed"), *calls.content))
        messages = [user("go"), calls, *results, reply("done")]
        self.expected += messages
        if self.chance.random() < 0.5:
            messages[2:4] = reversed(results)
        tell(self.store, *messages)

    def open_call(self) -> None:
        """Record a call without a result, as before a crash."""
        messages = [user("go"), reply("I look", call(new_id()))]
        self.expected += messages
        tell(self.store, *messages)
        self.resume()

    def restart(self) -> None:
        self.expected.clear()
        self.store.restart()
        self.store.flush()

    def rename(self) -> None:
        self.title = f"title {len(self.steps)}"
        self.store.rename(self.title)

    def resume(self) -> None:
        self.store.close()
        loaded = load_session(self.path)
        repaired_messages(loaded, self.chance.choice((0, 1 << 30)))
        self.store = SessionRecorder(self._folder, self._folder, "", resumed=loaded, on_problem=self.steps.append)
        self.store.acquire()

    def truncate(self) -> None:
        os.truncate(self.path, self.chance.choice((0, self.chance.randrange(self.path.stat().st_size))))
        self.talk()

    def rewrite(self) -> None:
        self.path.write_bytes(b'{"type":"tag","tag":"' + b"x" * self.path.stat().st_size + b'"}\n')
        self.talk()

    def append(self) -> None:
        with self.path.open("ab") as file:
            file.write(self.chance.choice((b'{"type":"tag","tag":"t"}', b"no json\n", b'{"parentUuid":"torn')))
        self.talk()

    def delete(self) -> None:
        self.path.unlink()
        self.talk()

    def replace_by_copy(self) -> None:
        copy = self.path.with_suffix(".copy")
        shutil.copy(self.path, copy)
        copy.replace(self.path)
        self.talk()

    def check(self) -> None:
        session = load_session(self.path)
        messages = [each for each in session.messages if "The program ended" not in getattr(each, "text", "")]
        assert list(map(_essence, messages)) == list(map(_essence, self.expected)), self.steps
        assert session.title == self.title, self.steps


def _essence(message: Message) -> tuple[str, int, object]:
    """Return what a damaged file must still contain of a message: of long ones on disk, the text may be shorter."""
    calls = [each.id for each in message.tool_calls] if isinstance(message, AssistantMessage) else None
    return message.id, len(getattr(message, "content", ())), getattr(message, "call_id", calls)


@pytest.mark.parametrize("seed", range(20))
def test_session_file_contains_the_conversation_whatever_happens_to_it(tmp_path: Path, seed: int):
    life = Life(tmp_path, seed)
    operations: list[Callable[[], None]] = [
        *(life.talk, life.open_call, life.restart, life.rename, life.resume),
        *(life.truncate, life.rewrite, life.append, life.delete, life.replace_by_copy),
    ]

    for _ in range(STEPS):
        operation = life.chance.choice(operations)
        life.steps.append(operation.__name__)
        operation()
        life.store.flush()
        life.check()
    life.store.close()
    repair(examine(life.path))

    life.check()
    assert not examine(life.path).repairs
