from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from fakes.recording_host import RecordingSession
from fakes.talk import reply, tell, written

from cinch_tui.config.options import Options
from cinch_tui.plain.session_lists import pick_session
from cinch_tui.saved_sessions import SessionChoice
from harness.messages import new_id, user
from harness.session.journal import Journal
from harness.session.recorder import SessionRecorder


class Asked:
    """Chooses given lines and records the lists."""

    def __init__(self, *answers: int | None) -> None:
        self.lists: list[list[str]] = []
        self._answers = list(answers)

    async def find(self, title: str, lines: Sequence[str]) -> int | None:
        del title
        self.lists.append(list(lines))
        return self._answers.pop(0)


@pytest.fixture
def session(tmp_path: Path) -> RecordingSession:
    session = RecordingSession([])
    options = SimpleNamespace(cwd=tmp_path, paths=SimpleNamespace(data=tmp_path / "data"))
    session.options = cast("Options", options)
    return session


async def test_sessions_of_all_folders_name_their_folder(session: RecordingSession, tmp_path: Path):
    written(tmp_path, user("here"), reply("fine"))
    other = SessionRecorder(tmp_path / "data", tmp_path / "other", new_id())
    tell(other, user("there"), reply("fine"))
    other.close()
    asked = Asked(0, None)

    chosen = await pick_session(session, "all", asked.find)
    await pick_session(session, "", asked.find)

    assert chosen == SessionChoice(other.path.stem)
    assert [line.split(",")[0] for line in asked.lists[0]] == ["there", "here"]
    assert str(tmp_path / "other") in asked.lists[0][0]
    assert [line.split(",")[0] for line in asked.lists[1]] == ["here"]


async def test_found_message_is_opened_in_its_session(session: RecordingSession, tmp_path: Path):
    answer = reply("leopards have spots")
    path = written(tmp_path, user("which animal?"), answer)
    asked = Asked(0)

    chosen = await pick_session(session, "leopards", asked.find)

    assert chosen == SessionChoice(f"{path.stem}@{answer.id}")
    assert asked.lists[0][0].startswith("leopards have spots, assistant")


async def test_session_open_elsewhere_is_offered_read_only(session: RecordingSession, tmp_path: Path):
    path = written(tmp_path, user("here"), reply("fine"))
    journal = Journal(path, print)
    journal.acquire()

    chosen = await pick_session(session, "", Asked(0, 0).find)
    copied = await pick_session(session, "", Asked(0, 1).find)

    journal.close()
    assert (chosen, copied) == (SessionChoice(path.stem, read_only=True), SessionChoice(path.stem))


async def test_search_without_matches_is_reported(session: RecordingSession):
    assert await pick_session(session, "nothing", Asked().find) is None
    assert session._calls == [("notice", "No matches for 'nothing'.", "info")]
