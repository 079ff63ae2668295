"""Time to decide about one shell command: syntax, programs, paths and rules.

The commands are the corpora of the tests. Nothing is remembered from one command to the next but the tables of
programs, as in a session that has run some commands.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import quantiles

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "tests")]

from measure import report, seconds_of  # noqa: E402  the path comes first

# The tests have a package with the name of this file.
sys.path[:] = [folder for folder in sys.path if folder != str(ROOT / "benchmarks")]

from permissions.decisions import corpus, decision  # noqa: E402

from harness.approval.rules import parse_rule  # noqa: E402
from harness.permissions import Rule, RuleSource  # noqa: E402
from tools.shell.analysis import analyze  # noqa: E402
from tools.shell.syntax import read_script  # noqa: E402

RUNS = 5
FILES = ("README.md", "data.csv", "other.csv", "src/app.py", "docs/guide.md", "package.json", ".env")
RULES = [f"bash({name}:*)" for name in ("npm test", "npm run build", "make", "cargo test", "git commit", "git add")]


def rules() -> list[Rule]:
    return [parse_rule(text, "allow", RuleSource("user")) for text in RULES]


def fresh_milliseconds(command: str, root: Path, given: list[Rule]) -> float:
    analyze.cache_clear()
    read_script.cache_clear()
    return 1000 * seconds_of(lambda: decision(command, root, rules=given))


def remembered_milliseconds(command: str, root: Path, given: list[Rule]) -> float:
    decision(command, root, rules=given)
    return 1000 * min(seconds_of(lambda: decision(command, root, rules=given)) for _ in range(RUNS))


def start_milliseconds() -> float:
    """Return the time of the first decision of a process, with its imports."""
    code = "from tools.shell.analysis import analyze; analyze('git status && ls -la | head -3')"
    return 1000 * seconds_of(lambda: subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True))


def main() -> None:
    commands = [each for name in ("read", "ask", "bypass", "dangerous", "forbidden") for each in corpus(name)]
    with tempfile.TemporaryDirectory() as folder:
        root, given = Path(folder), rules()
        for name in FILES:
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).touch()
        for command in commands:
            decision(command, root, rules=given)
        taken = [min(fresh_milliseconds(each, root, given) for _ in range(RUNS)) for each in commands]
        remembered = [remembered_milliseconds(each, root, given) for each in commands]
    centiles, again = quantiles(taken, n=100), quantiles(remembered, n=100)[49]
    report("one decision, p50", centiles[49], again, unit="ms", than="the same command again", goal="1 ms")
    report("one decision, p99", centiles[98], again, unit="ms", than="the same command again", goal="1 ms")
    slowest = max(zip(taken, commands, strict=True))
    print(f"slowest: {slowest[0]:.3g} ms, {slowest[1]!r}")
    empty = 1000 * seconds_of(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
    report("first decision of a process", start_milliseconds(), empty, unit="ms", than="python -c pass")


if __name__ == "__main__":
    main()
