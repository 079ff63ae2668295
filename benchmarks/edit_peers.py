"""The edit algorithms of other agents, run from their own source files for comparison.

Nothing of them is part of this repository: their files are given as paths.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from edit_mistakes import Trial

Results = list[str | None]
"""Text of each file after the edit; None if it was refused."""

_RUN = """
const lines = require('fs').readFileSync(0, 'utf8').trim().split('\\n');
const unix = (text) => text.split('\\r\\n').join('\\n');
for (const line of lines) {
  const [before, old, next] = JSON.parse(line);
  const ending = before.includes('\\r\\n') ? '\\r\\n' : '\\n';
  const form = (text) => unix(text).split('\\n').join(ending);
  let result = null;
  try { result = module.exports.replace(before, form(old), form(next)); } catch (error) { result = null; }
  console.log(JSON.stringify(result));
}
"""


def aider_results(source: Path, trials: Sequence[Trial]) -> Results:
    """Run `replace_most_similar_chunk` of aider's `editblock_coder.py`."""
    replace = _aider(source)
    results: Results = []
    for trial in trials:
        # It reads files with universal newlines.
        before = trial.before.replace("\r\n", "\n")
        results.append(replace(before, trial.old.replace("\r\n", "\n"), trial.new.replace("\r\n", "\n")))
    return results


def _aider(source: Path) -> Callable[[str, str, str], str | None]:
    """Load the module without the rest of aider, of which the function needs nothing."""
    for name in ("aider", "aider.utils", "aider.dump", "aider.coders", "aider.coders.base_coder"):
        sys.modules[name] = ModuleType(name)
    prompts = sys.modules["aider.coders.editblock_prompts"] = ModuleType("aider.coders.editblock_prompts")
    vars(sys.modules["aider"])["utils"] = sys.modules["aider.utils"]
    vars(sys.modules["aider.dump"])["dump"] = print
    vars(sys.modules["aider.coders.base_coder"])["Coder"] = object
    vars(prompts)["EditBlockPrompts"] = object
    spec = importlib.util.spec_from_file_location("aider.coders.editblock_coder", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.replace_most_similar_chunk


def opencode_results(source: Path, trials: Sequence[Trial]) -> Results:
    """Run `replace` of opencode's `edit.ts` with node; esbuild removes the types."""
    text = source.read_text(encoding="utf-8")
    part = text[text.index("export type Replacer") :]
    script = subprocess.run(
        ["npx", "--yes", "esbuild", "--loader=ts", "--format=cjs"],
        input=part,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "replace.cjs"
        file.write_text(script + _RUN, encoding="utf-8")
        given = "\n".join(json.dumps([trial.before, trial.old, trial.new]) for trial in trials)
        done = subprocess.run(["node", str(file)], input=given, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]
