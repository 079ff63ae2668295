"""Sessions in a database: a second agent continues the conversation of the first, as after a restart."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from tempfile import TemporaryDirectory
from typing import Any

from which_model import which_model

from harness import Agent, SessionMissing, SessionStore

MODEL = which_model("Nice to meet you, Ada.", "Your name is Ada.")
TABLE = "CREATE TABLE IF NOT EXISTS lines (id INTEGER PRIMARY KEY, session TEXT NOT NULL, lines BLOB NOT NULL)"


class SqliteSessions(SessionStore):
    def __init__(self, path: str) -> None:
        self._path = path

    async def append(self, session_id: str, lines: bytes) -> None:
        await self._run("INSERT INTO lines (session, lines) VALUES (?, ?)", session_id, lines)

    async def read(self, session_id: str) -> bytes:
        rows = await self._run("SELECT lines FROM lines WHERE session = ? ORDER BY id", session_id)
        if not rows:
            raise SessionMissing(f"session {session_id} does not exist")
        return b"".join(lines for (lines,) in rows)

    async def list_ids(self) -> list[str]:
        return [name for (name,) in await self._run("SELECT session FROM lines GROUP BY session ORDER BY max(id) DESC")]

    async def delete(self, session_id: str) -> None:
        if not await self._run("DELETE FROM lines WHERE session = ? RETURNING id", session_id):
            raise SessionMissing(f"session {session_id} does not exist")

    async def _run(self, sql: str, *values: str | bytes) -> list[tuple[Any, ...]]:
        def run() -> list[tuple[Any, ...]]:
            with closing(sqlite3.connect(self._path)) as database, database:
                return database.execute(TABLE).execute(sql, values).fetchall()

        return await asyncio.to_thread(run)


async def main() -> None:
    with TemporaryDirectory() as folder:
        sessions = SqliteSessions(f"{folder}/sessions.db")
        for prompt in ("My name is Ada.", "What is my name?"):
            async with Agent(MODEL, system_prompt="You answer in one sentence.") as agent:
                is_continued = await agent.open_session(sessions, "customer-42")
                result = await agent.prompt(prompt)
                print("continued:" if is_continued else "new:", result.text)
        print(await sessions.list_ids())


asyncio.run(main())
