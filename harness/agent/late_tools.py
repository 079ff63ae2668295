"""Tools of sources that connect and change while a session runs, such as MCP servers.

The declared tools stay the same for a whole session, because services cache a request by its beginning. What a source
offers at the first request is declared if it is small; everything else is found with `find_tools`, called with
`call_tool`, and announced by a reminder at the end of the conversation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from itertools import accumulate, chain

from msgspec import Struct

from harness.context.tokens import estimate_overhead
from harness.function_tools.names import is_remote_name
from harness.ports.tool import Tool, specs_of

DECLARED_SHARE = 0.1
"""Share of the context window that the tools of all sources may take together to be declared."""
MAX_DECLARED_TOKENS = 5_000
"""The same in tokens, for large windows."""
MAX_ANNOUNCED_CHARS = 1_500
"""Maximum length of the names in a reminder."""


async def _no_wait(names: Collection[str]) -> None:
    del names


class ToolSources:
    """Tools by source, shared by an agent and its subagents."""

    def __init__(self) -> None:
        self._tools: dict[str, tuple[Tool, ...]] = {}
        self.wait_ready: Callable[[Collection[str]], Awaitable[None]] = _no_wait
        """Waits until the sources are known and offer the tools with these names, for a limited time.

        Awaited before the first request of a session, and before a call of a tool that no source offers.
        """

    def set(self, source: str, tools: Sequence[Tool]) -> None:
        """Replace the tools of a source; without tools, it remains known."""
        self._tools[source] = tuple(tools)

    def remove(self, source: str) -> None:
        self._tools.pop(source, None)

    def reading(self) -> ToolSources:
        """Return a copy with those tools that change nothing."""
        found = ToolSources()
        found.wait_ready = self.wait_ready
        for source, tools in self._tools.items():
            found.set(source, [tool for tool in tools if not tool.mutates])
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sources."""
        return tuple(self._tools)

    @property
    def by_source(self) -> Mapping[str, tuple[Tool, ...]]:
        return self._tools

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All tools; of those with the same name, the first."""
        found: dict[str, Tool] = {}
        for tool in chain.from_iterable(self._tools.values()):
            found.setdefault(tool.name, tool)
        return tuple(found.values())


class _Frozen(Struct, frozen=True):
    """Declaration of a session."""

    session: str
    declared: tuple[Tool, ...]
    sources: tuple[str, ...]


class LateTools:
    """Tools of sources as one agent declares and announces them."""

    def __init__(self, sources: ToolSources | None = None) -> None:
        self.sources = sources or ToolSources()
        self._frozen: _Frozen | None = None
        self._restored: tuple[str, Sequence[str]] | None = None
        self._announced: dict[str, str] = {}
        """Sources by names of the tools that were announced."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All tools, including declared ones whose source has gone."""
        found = {tool.name: tool for tool in self.declared}
        return tuple((found | {tool.name: tool for tool in self.sources.tools}).values())

    @property
    def declared(self) -> tuple[Tool, ...]:
        """Tools that requests declare."""
        return self._frozen.declared if self._frozen else ()

    @property
    def searched(self) -> tuple[Tool, ...]:
        """Tools that the model has to search for."""
        declared = {tool.name for tool in self.declared}
        return tuple(tool for tool in self.sources.tools if tool.name not in declared)

    @property
    def source_names(self) -> tuple[str, ...]:
        """Sources at the beginning of the session."""
        return self._frozen.sources if self._frozen else self.sources.names

    @property
    def is_searchable(self) -> bool:
        """True if the search tools are declared for sources."""
        return bool(self.source_names or self.sources.names)

    async def freeze(self, session: str, window: int) -> None:
        """Fix the declaration of a session before its first request; later calls for the same session do nothing.

        Args:
            session: Id of the session, or of the one it was forked from.
            window: Context window in tokens; 0: unknown.
        """
        if self._frozen is not None and self._frozen.session == session:
            return
        wanted = self._restored[1] if self._restored and self._restored[0] == session else ()
        await self.sources.wait_ready([name for name in wanted if is_remote_name(name)])
        restored, self._restored = self._restored, None
        tools = self.sources.tools
        if restored is not None and restored[0] == session:
            tools = tuple(sorted((t for t in tools if t.name in restored[1]), key=lambda t: restored[1].index(t.name)))
        elif _exceeds(tools, _most_tokens(window)):
            tools = ()
        self._frozen = _Frozen(session, tools, self.sources.names)
        self._announced = {}

    async def wait_for(self, names: Iterable[str]) -> None:
        """Wait for the sources of tools that are called, if they are connecting."""
        known = {tool.name for tool in self.tools}
        if missing := [name for name in names if is_remote_name(name) and name not in known]:
            await self.sources.wait_ready(missing)

    def restore(self, session: str, names: Iterable[str]) -> None:
        """Let the resumed session declare the tools with these names, as before."""
        self._frozen = None
        self._restored = (session, tuple(names))

    def is_undeclared(self, name: str) -> bool:
        """Return True for the name of a tool of a source that is not declared, also if the source has gone."""
        if not self.is_searchable or any(tool.name == name for tool in self.declared):
            return False
        return is_remote_name(name) or any(tool.name == name for tool in self.sources.tools)

    def announcement(self) -> str:
        """Return a reminder of the tools that have appeared or gone since the last one; empty for no change."""
        declared = {tool.name for tool in self.declared}
        now = {
            tool.name: source
            for source, tools in self.sources.by_source.items()
            for tool in tools
            if tool.name not in declared
        }
        added = {name: source for name, source in now.items() if name not in self._announced}
        gone = {name: source for name, source in self._announced.items() if name not in now}
        self._announced = now
        parts = [
            f"Tools of {source} are available: {names}. Find them with find_tools, then use call_tool."
            for source, names in _by_source(added)
        ]
        parts += [f"Tools of {source} are no longer available: {names}." for source, names in _by_source(gone)]
        return f"[{' '.join(parts)}]" if parts else ""


def _most_tokens(window: int) -> float:
    return min(MAX_DECLARED_TOKENS, window * DECLARED_SHARE) if window else MAX_DECLARED_TOKENS


def _exceeds(tools: Iterable[Tool], most: float) -> bool:
    """Return True if tools take more tokens; the schemas of many need not all be built for that."""
    return any(total > most for total in accumulate(estimate_overhead("", specs_of((tool,))) for tool in tools))


def _by_source(names: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the names of each source as text, within the limit for all of them."""
    sources = dict.fromkeys(names.values())
    room = MAX_ANNOUNCED_CHARS // max(1, len(sources))
    return [(source, _shortened([name for name in names if names[name] == source], room)) for source in sources]


def _shortened(names: Sequence[str], room: int) -> str:
    shown: list[str] = []
    for name in names:
        room -= len(name) + 2
        if room < 0 and shown:
            break
        shown.append(name)
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
