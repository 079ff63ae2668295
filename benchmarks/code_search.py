"""Repository map and `grep` on large trees, compared with parsing alone and with ripgrep.

python benchmarks/code_search.py [FOLDER]: maps FOLDER instead of a generated project of 5,000 files.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "tests")]

from fakes.workplace import Workplace  # noqa: E402  the path comes first
from measure import in_turn, report, seconds_of  # noqa: E402

from tools.grep import GrepTool  # noqa: E402
from tools.repo_map import MapTool  # noqa: E402
from tools.ripgrep import ripgrep_path  # noqa: E402
from tools.symbols.languages import grammar  # noqa: E402

SOURCE_FILES = 5_000
TREE_FILES = 100_000
RUNS = 5
WORDS = ("alpha", "beta", "cache", "data", "event", "field", "graph", "handle", "index", "join", "key", "line", "map")


def names(chance: random.Random, count: int) -> list[str]:
    return ["_".join(chance.choices(WORDS, k=2)) + str(chance.randrange(3_000)) for _ in range(count)]


def module(chance: random.Random, number: int, known: list[str]) -> str:
    """Return a module of about 6 KB that defines functions and methods, and uses some of other modules."""
    own = names(chance, 12)
    used = chance.sample(known, min(len(known), 15)) or own
    lines = [f"from package.module{chance.randrange(number + 1)} import {used[0]}", "", f"class Part{number}:"]
    for at, name in enumerate(own):
        indent = "    " if at < 6 else ""
        lines += [f"{indent}def {name}({'self, ' if indent else ''}value: int = {at}) -> int:"]
        lines += [f'{indent}    """Return the {name.replace("_", " ")} of a value, or zero if there is none."""']
        for line in range(3):
            lines.append(
                f"{indent}    if value > {line} and {chance.choice(used)}(value):  # see {chance.choice(WORDS)}"
            )
            lines.append(f"{indent}        return self.total + {chance.choice(used)}(value - {line})")
        lines += [f"{indent}    return value", ""]
    known += chance.sample(own, 3)
    return "\n".join(lines)


def project(folder: Path) -> None:
    chance, known = random.Random(7), list[str]()
    for number in range(SOURCE_FILES):
        path = folder / f"package{number // 100}" / f"module{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(module(chance, number, known), encoding="utf-8")


def tree(folder: Path) -> None:
    chance = random.Random(7)
    for number in range(TREE_FILES):
        path = folder / f"folder{number // 200}" / f"file{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(" ".join(chance.choices(WORDS, k=9)) for _ in range(8)), encoding="utf-8")


def seconds(work: Callable[[], Awaitable[object]]) -> float:
    async def run() -> None:
        await work()

    return seconds_of(lambda: asyncio.run(run()))


def first_maps(folder: Path, home: Path) -> None:
    place = Workplace(folder)
    sources = sorted(folder.rglob("*.py"))
    texts = [path.read_bytes() for path in sources]
    print(f"{len(sources):,} Python files of {sum(map(len, texts)) / 1e6:.0f} MB in {folder.name}")
    numbers = iter(range(1_000))

    def draft() -> float:
        return seconds(lambda: place.call(MapTool(home / f"draft{next(numbers)}")))

    def complete() -> float:
        return seconds(lambda: place.call(MapTool()))

    def parse() -> float:
        from tree_sitter import Parser

        parser = Parser(grammar("python")[0])
        return seconds_of(lambda: [parser.parse(text) and None for text in texts])

    first, whole, alone = in_turn(3, draft, complete, parse)
    than = "parsing alone on one core"
    report("repository map, first time, a draft", first, alone, unit="s", than=than, goal="≤ 3 s")
    report("repository map, first time, complete", whole, alone, unit="s", than=than)


def more_maps(folder: Path, home: Path) -> None:
    place = Workplace(folder)
    tool = MapTool(home / "cache")

    async def index() -> None:
        while (await place.call(tool)).output.details["is_draft"]:
            await asyncio.sleep(1)

    def again() -> float:
        return 1_000 * seconds(lambda: place.call(tool))

    def start() -> float:
        return 1_000 * seconds_of(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))

    asyncio.run(index())
    warm, nothing = in_turn(RUNS, again, start)
    report("again", warm, nothing, unit="ms", than="python -c pass", goal="≤ 100 ms")
    (focused,) = in_turn(1, lambda: 1_000 * seconds(lambda: place.call(tool, focus=["module7.py"])))
    print(f"with another focus: {focused:.0f} ms")


def searching(folder: Path) -> None:
    place = Workplace(folder)
    tool = GrepTool()
    command = [ripgrep_path(), "--json", "alpha beta cache data event", "./"]

    def grep() -> float:
        return seconds(lambda: place.call(tool, pattern="alpha beta cache data event"))

    def ripgrep() -> float:
        return seconds_of(lambda: subprocess.run(command, cwd=folder, capture_output=True, check=True))

    grep()
    ours, reference = in_turn(RUNS, grep, ripgrep)
    report(f"grep in {TREE_FILES:,} files", ours, reference, unit="s", than="rg --json", goal="≤ 1.3 ×")


def main() -> None:
    with tempfile.TemporaryDirectory() as created:
        home = Path(created)
        folder = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else home / "project"
        if len(sys.argv) == 1:
            project(folder)
        first_maps(folder, home)
        more_maps(folder, home)
        tree(home / "tree")
        searching(home / "tree")


if __name__ == "__main__":
    main()
