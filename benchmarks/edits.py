"""Edits with the mistakes of models: how many are applied right, refused, or applied wrong.

Takes git repositories with their history; this repository is used if none is given:

    python benchmarks/edits.py --edits 400 path/to/click path/to/gin …
    python benchmarks/edits.py --aider editblock_coder.py --opencode edit.ts path/to/click …
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from edit_corpus import RealEdit, edits_of, languages  # noqa: E402  the path comes first
from edit_mistakes import Trial, trials_of  # noqa: E402
from edit_peers import Results, aider_results, opencode_results  # noqa: E402

from harness.workspace.file_text import file_text  # noqa: E402
from tools.editing.edits import AppliedEdits, Edit, apply_edits  # noqa: E402

SEED = 17


def cinch_results(trials: Sequence[Trial]) -> Results:
    """Run the ladder of `edit_file`."""
    results: Results = []
    for trial in trials:
        outcome = apply_edits(file_text(trial.before.encode()), [Edit(trial.old, trial.new)])
        results.append(outcome.file.data.decode() if isinstance(outcome, AppliedEdits) else None)
    return results


def outcome_of(trial: Trial, result: str | None) -> str:
    """Return `right`, `refused`, `wrong`, or `refused rightly`; an edit without effect is refused by every tool."""
    if result is None or result == trial.before:
        return "refused" if trial.right == "apply" else "refused rightly"
    return "right" if result == trial.after and trial.right != "refuse" else "wrong"


def table(name: str, trials: Sequence[Trial], results: Results) -> str:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for trial, result in zip(trials, results, strict=True):
        for row in (trial.mistake, "all"):
            counts[row][outcome_of(trial, result)] += 1
    rows = [f"| {name} | right | refused | wrong | refused rightly | applied right of those to apply |"]
    rows.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    for mistake, count in counts.items():
        if mistake != "all":
            rows.append(_row(mistake, count))
    return "\n".join([*rows, _row("**all**", counts["all"])])


def _row(name: str, count: Counter[str]) -> str:
    to_apply = count["right"] + count["refused"] + count["wrong"]
    share = f"{100 * count['right'] / to_apply:.1f} %" if count["right"] + count["refused"] else ""
    figures = (count[each] for each in ("right", "refused", "wrong", "refused rightly"))
    return f"| {name} | {' | '.join(str(figure) for figure in figures)} | {share} |"


def corpus(repositories: Sequence[Path], count: int, seed: int) -> list[RealEdit]:
    each = -(-count // len(repositories))
    return [edit for repository in repositories for edit in edits_of(repository, each, seed)]


def show(trials: Sequence[Trial], results: Results, *, kinds: Sequence[str], most: int) -> None:
    """Print trials with an outcome, to see why."""
    found = [
        (trial, result)
        for trial, result in zip(trials, results, strict=True)
        if outcome_of(trial, result) in kinds or (trial.mistake in kinds and outcome_of(trial, result) == "refused")
    ]
    for trial, result in found[:most]:
        print(f"\n=== {trial.mistake}: {outcome_of(trial, result)}: {trial.edit.name} (to {trial.right})")
        print(f"--- old\n{trial.old}\n--- new\n{trial.new}")
        if result is None:
            outcome = apply_edits(file_text(trial.before.encode()), [Edit(trial.old, trial.new)])
            print(f"--- {outcome}"[:3000])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="*", type=Path, default=[ROOT], help="git repositories")
    parser.add_argument("--edits", type=int, default=400, help="number of real edits")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--aider", type=Path, help="aider/coders/editblock_coder.py of a checkout")
    parser.add_argument("--opencode", type=Path, help="packages/opencode/src/tool/edit.ts of a checkout")
    parser.add_argument("--show", nargs="*", default=[], help="outcomes or mistakes of which to print trials of cinch")
    parser.add_argument("--most", type=int, default=5, help="number of printed trials")
    given = parser.parse_args()
    edits = corpus(given.repositories, given.edits, given.seed)
    trials = [trial for edit in edits for trial in trials_of(edit, given.seed)]
    print(f"{len(edits)} edits, {len(trials)} trials; {dict(languages(edits))}\n")
    algorithms: list[tuple[str, Callable[[Sequence[Trial]], Results]]] = [("cinch", cinch_results)]
    if given.aider:
        algorithms.append(("aider", lambda trials: aider_results(given.aider, trials)))
    if given.opencode:
        algorithms.append(("opencode", lambda trials: opencode_results(given.opencode, trials)))
    for name, run in algorithms:
        began = time.perf_counter()
        results = run(trials)
        seconds = time.perf_counter() - began
        print(f"{table(name, trials, results)}\n\n{name}: {1000 * seconds / len(trials):.2f} ms per trial\n")
        if name == "cinch" and given.show:
            show(trials, results, kinds=given.show, most=given.most)


if __name__ == "__main__":
    main()
