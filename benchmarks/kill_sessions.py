"""Sessions killed with SIGKILL at random moments: nothing shown is lost, and no effect is repeated.

`python benchmarks/kill_sessions.py 500 --seed 1 --jobs 2`
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from soak.kills import Broken, Killed, kill_one  # noqa: E402  the path comes first


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=100, help="number of sessions")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first session")
    parser.add_argument("--jobs", type=int, default=2, help="sessions at the same time")
    arguments = parser.parse_args()
    began = time.monotonic()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        outcomes = list(pool.map(_try, range(arguments.seed, arguments.seed + arguments.count)))
    killed = [outcome for outcome in outcomes if isinstance(outcome, Killed)]
    broken = [outcome for outcome in outcomes if isinstance(outcome, str)]
    print(f"sessions: {len(outcomes)} in {time.monotonic() - began:.0f} s, broken: {len(broken)}")
    print(f"kills: {sum(k.kills for k in killed)}")
    print(f"events before a kill: {min(k.events for k in killed)} to {max(k.events for k in killed)}")
    print(f"torn last lines: {sum(k.torn for k in killed)}")
    print(f"calls that may have been executed: {sum(k.may_have_run for k in killed)}")
    print(f"calls that did not run: {sum(k.did_not_run for k in killed)}")
    print(f"temporary files left in projects: {sum(k.stray_files for k in killed)}")
    return 1 if broken else 0


def _try(seed: int) -> Killed | str:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            return kill_one(seed, Path(folder))
        except (Broken, OSError) as error:
            problem = f"seed {seed}: {error}"
            print(problem[:2000], flush=True)
            return problem


if __name__ == "__main__":
    sys.exit(main())
