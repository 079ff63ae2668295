"""10,000 sessions of 1 GB in total: listing, searching, and building and updating the index.

The texts are made of 60,000 words with the frequencies of natural language; each message has an identifier of its own.
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from measure import in_turn, report, seconds_of  # noqa: E402  the path comes first

from harness.messages import AssistantMessage, Cost, ModelMessage, Text, ToolCall, ToolResult, Usage, UserMessage  # noqa: E402
from harness.session.database import database_path  # noqa: E402
from harness.session.index import list_sessions  # noqa: E402
from harness.session.paths import find_files, project_dir  # noqa: E402
from harness.session.records import Envelope, LineBuilder, to_bytes  # noqa: E402
from harness.session.search import SearchQuery, search_sessions  # noqa: E402
from harness.session.search_index import update_index  # noqa: E402

SESSIONS, FOLDERS = 10_000, 100
BYTES = 1_000_000_000
WORDS, SENTENCES = 60_000, 20_000
YEAR = 365 * 86_400
START = 1_760_000_000.0
RUNS = 5


class Writer:
    """Writer of random conversations."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        letters, weights = "etaoinshrdlucmfwypvbgk", range(22, 0, -1)
        lengths = self._random.choices(range(2, 12), (2, 8, 12, 12, 10, 8, 6, 4, 2, 1), k=WORDS)
        self.words = ["".join(self._random.choices(letters, weights, k=length)) for length in lengths]
        frequencies = list(accumulate(1 / (rank + 2.7) for rank in range(WORDS)))
        self._sentences = [self._sentence(frequencies) for _ in range(SENTENCES)]

    def _sentence(self, frequencies: list[float]) -> str:
        count = self._random.randrange(6, 24)
        chosen = (bisect_left(frequencies, self._random.random() * frequencies[-1]) for _ in range(count))
        return " ".join(self.words[index] for index in chosen).capitalize() + "."

    def text(self, size: int) -> str:
        """Return a text of about this many characters, with an identifier of its own."""
        sentences = self._random.choices(self._sentences, k=max(1, size // 75))
        return f"{' '.join(sentences)} id{self._random.getrandbits(48):x}"

    def turn(self, number: int, moment: float) -> Iterator[ModelMessage]:
        call = ToolCall(f"call-{number}", "read_file", {"path": f"src/module{self._random.randrange(500)}.py"})
        usage = Usage(9_000, 300, cost=Cost(0.01, 0.002))
        yield UserMessage((Text(self.text(150)),), time=moment)
        yield AssistantMessage((Text(self.text(200)), call), "m-1", "scripted", usage, "tool_use", time=moment + 5)
        yield ToolResult(call.id, call.name, (Text(self.text(self._random.randrange(200, 9_000))),), time=moment + 6)
        yield AssistantMessage((Text(self.text(900)),), "m-1", "scripted", usage, time=moment + 20)

    def session(self, data_dir: Path, number: int, size: int) -> None:
        """Write a session of about this size, begun some time in the year before."""
        cwd = Path(f"/work/project{number % FOLDERS}")
        session_id = f"{self._random.getrandbits(32):08x}-0000-4000-8000-{number:012x}"
        path = project_dir(data_dir, cwd) / f"{session_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        moment, builder = START + YEAR * number / SESSIONS, LineBuilder(None)
        envelope, written, turn = Envelope(session_id, str(cwd), "main"), 0, 0
        with path.open("wb") as file:
            while written < size:
                for message in self.turn(turn, moment + 60 * turn):
                    written += sum(file.write(to_bytes(line)) for line in builder.lines(message, envelope))
                turn += 1


def sizes() -> list[int]:
    """Return sizes of sessions: most are short, some long."""
    chosen = random.Random(2)
    shares = [chosen.paretovariate(1.3) for _ in range(SESSIONS)]
    return [int(share * BYTES / sum(shares)) for share in shares]


def longest_wait(work: Callable[[], object]) -> float:
    """Return for how long `work` in a thread kept this one from running: the 99th percentile in milliseconds."""
    thread = threading.Thread(target=work)
    waits: list[float] = []
    thread.start()
    while thread.is_alive():
        before = time.perf_counter()
        time.sleep(0.002)
        waits.append(1_000 * (time.perf_counter() - before - 0.002))
    return sorted(waits)[int(len(waits) * 0.99)]


def build(data_dir: Path) -> None:
    waits: list[float] = []
    took = seconds_of(lambda: waits.append(longest_wait(lambda: update_index(data_dir))))
    reading = seconds_of(lambda: [Path(file.path).read_bytes() for file in find_files(data_dir, None)])
    report("index built", took, reading, unit="s", than="reading the files")
    print(f"index: {database_path(data_dir).stat().st_size / 1e6:.0f} MB; other threads waited p99 {waits[0]:.1f} ms")


def listing(data_dir: Path, *, of: str) -> None:
    def work() -> float:
        return 1_000 * seconds_of(lambda: list_sessions(data_dir, None))

    listed, found = in_turn(RUNS, work, lambda: 1_000 * seconds_of(lambda: find_files(data_dir, None)))
    report(f"{SESSIONS:,} sessions listed{of}", listed, found, unit="ms", than="finding the files", goal="≤ 200 ms")


def queries(words: list[str]) -> dict[str, SearchQuery]:
    common, frequent, rare = words[3], words[50], words[20_000]
    folder = Path("/work/project7")
    return {
        "the most frequent words": SearchQuery(f"{words[0]} {words[1]}"),
        "a common word": SearchQuery(common),
        "a frequent word in one folder": SearchQuery(frequent, folder),
        "a frequent word in one month": SearchQuery(
            frequent, since=START + YEAR / 2, until=START + YEAR / 2 + 2_592_000
        ),
        "three words": SearchQuery(f"{frequent} {words[400]} {words[3_000]}"),
        "a phrase": SearchQuery(f'"{words[0]} {words[1]}"'),
        "a rare word": SearchQuery(rare),
        "an incomplete word": SearchQuery(rare[:3]),
        "two letters": SearchQuery(rare[:2]),
        "with tool and file": SearchQuery(frequent, tool="read_file", file="module7.py"),
        "nothing": SearchQuery("xyzzyxyzzy"),
    }


def searching(data_dir: Path, words: list[str]) -> None:
    for name, query in queries(words).items():
        hits = search_sessions(data_dir, query)
        (took,) = in_turn(RUNS, partial(seconds_of, partial(search_sessions, data_dir, query)))
        print(f"search for {name}: {1_000 * took:.0f} ms, hits {len(hits)}   goal ≤ 200 ms")


def updating(data_dir: Path, writer: Writer) -> None:
    def nothing() -> float:
        return 1_000 * seconds_of(lambda: update_index(data_dir))

    def session() -> float:
        writer.session(data_dir, SESSIONS, 100_000)
        return nothing()

    new, none = in_turn(RUNS, session, nothing)
    report("index updated by a session of 100 KB", new, none, unit="ms", than="by nothing")


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        data_dir, writer = Path(home) / "data", Writer()
        for number, size in enumerate(sizes()):
            writer.session(data_dir, number, size)
        total = sum(file.size for file in find_files(data_dir, None))
        print(f"{SESSIONS:,} sessions, {total / 1e6:,.0f} MB")
        without = seconds_of(lambda: search_sessions(data_dir, SearchQuery(writer.words[20_000])))
        cold = seconds_of(lambda: list_sessions(data_dir, None))
        print(f"without an index: listed in {cold:.1f} s, searched in {without:.1f} s")
        listing(data_dir, of="")
        build(data_dir)
        listing(data_dir, of=" with an index")
        searching(data_dir, writer.words)
        updating(data_dir, writer)


if __name__ == "__main__":
    main()
