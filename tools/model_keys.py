"""Environment variables with the keys of model services, which commands do not need.

Only these are removed: the user's other tokens, such as one for GitHub, keep working.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_SERVICES = (
    "AI21|AI_GATEWAY|ANTHROPIC|ANTHROPIC_FOUNDRY|AZURE_AI|AZURE_OPENAI|CEREBRAS|CINCH|CLAUDE|CLAUDE_CODE|CO|"
    "CODEX|COHERE|DASHSCOPE|DEEPINFRA|DEEPSEEK|FIREWORKS|FIREWORKS_AI|GEMINI|GOOGLE|GOOGLE_GENAI|GROK|GROQ|"
    "HYPERBOLIC|KIMI|LITELLM|LLM|LM_STUDIO|MINIMAX|MISTRAL|MOONSHOT|NEBIUS|NOVITA|NVIDIA|NVIDIA_NIM|OLLAMA|"
    "OPENAI|OPENROUTER|PERPLEXITY|PPLX|QWEN|REPLICATE|SAMBANOVA|SILICONFLOW|TOGETHER|TOGETHERAI|TOGETHER_AI|"
    "VERCEL_AI_GATEWAY|VLLM|VOYAGE|XAI|ZAI|ZHIPU|ZHIPUAI"
)
_KEY = re.compile(
    rf"({_SERVICES})_(API_?KEYS?|API_TOKEN|AUTH_TOKEN|OAUTH_TOKEN|ACCESS_TOKEN|ADMIN_KEY|KEY)(_\w+)?"
    "|AWS_BEARER_TOKEN_BEDROCK",
    re.IGNORECASE,
)


def without_model_keys(environment: Mapping[str, str], named: Iterable[str] = ()) -> dict[str, str]:
    """Return the environment without the keys of known model services and without the variables `named`."""
    hidden = set(named)
    return {name: value for name, value in environment.items() if name not in hidden and _KEY.fullmatch(name) is None}
