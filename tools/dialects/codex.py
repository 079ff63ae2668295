"""The dialect `codex`: apply_patch in place of the tools that edit and write files, as in Codex.

OpenAI trains its models with this tool. Codex offers it as the only one for files to the models that its catalog marks
with `apply_patch_tool_type`; opencode offers it in place of `edit` and `write` to models named `gpt-` that are neither
`gpt-4` nor `oss`.

Source: https://github.com/openai/codex (codex-rs/protocol/src/openai_models.rs) and
https://github.com/sst/opencode (packages/opencode/src/tool/registry.ts).
"""

from __future__ import annotations

from harness.ports.tool import REPLACED_TOOLS
from tools.dialects.translation import RenamedTools


def codex_dialect() -> RenamedTools:
    """Return the dialect. Without `apply_patch` it offers the tools as they are."""
    mentions = {replaced: name for name, each in REPLACED_TOOLS.items() for replaced in each}
    return RenamedTools("codex", {}, mentions, REPLACED_TOOLS)
