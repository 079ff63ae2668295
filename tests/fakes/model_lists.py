"""Model lists in the original form of each service and server, shortened to the relevant entries and fields."""

from __future__ import annotations

from typing import Any

ANTHROPIC: dict[str, Any] = {
    "data": [
        {
            "type": "model",
            "id": "claude-opus-5",
            "display_name": "Claude Opus 5",
            "created_at": "2026-03-01T00:00:00Z",
            "lifecycle": "active",
            "max_input_tokens": 1_000_000,
            "max_tokens": 128_000,
            "capabilities": {
                "batch": {"supported": True},
                "image_input": {"supported": True},
                "thinking": {"supported": True, "types": {"enabled": {"supported": False}}},
            },
        },
        {"type": "model", "id": "claude-2", "created_at": "2023-07-11T00:00:00Z", "lifecycle": "retired"},
    ],
    "has_more": False,
    "first_id": "claude-opus-5",
    "last_id": "claude-2",
}
OPENAI: dict[str, Any] = {
    "object": "list",
    "data": [
        {"id": name, "object": "model", "created": 1_750_000_000, "owned_by": "openai"}
        for name in (
            "gpt-5",
            "text-embedding-3-large",
            "whisper-1",
            "gpt-4o-mini-tts",
            "dall-e-3",
            "omni-moderation-latest",
        )
    ],
}
GEMINI: dict[str, Any] = {
    "models": [
        {
            "name": "models/gemini-3-pro",
            "version": "3",
            "displayName": "Gemini 3 Pro",
            "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
            "thinking": True,
        },
        {"name": "models/gemini-embedding-001", "supportedGenerationMethods": ["embedContent"]},
        {"name": "models/gemini-2.5-flash-preview-tts", "supportedGenerationMethods": ["generateContent"]},
    ]
}
OPENROUTER: dict[str, Any] = {
    "data": [
        {
            "id": "qwen/qwen3-coder",
            "canonical_slug": "qwen/qwen3-coder-480b",
            "name": "Qwen: Qwen3 Coder",
            "created": 1_753_230_546,
            "context_length": 1_000_000,
            "architecture": {"modality": "text->text", "input_modalities": ["text"], "output_modalities": ["text"]},
            "pricing": {"prompt": "0.00000022", "completion": "0.00000095", "input_cache_read": "0.00000002"},
            "top_provider": {"context_length": 262_144, "max_completion_tokens": 65_536, "is_moderated": False},
            "supported_parameters": ["max_tokens", "temperature", "tools"],
        },
        {
            "id": "acme/vision:free",
            "created": 1_753_230_500,
            "context_length": 32_768,
            "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
            "pricing": {"prompt": "0", "completion": "0"},
            "top_provider": {"context_length": None, "max_completion_tokens": None},
            "supported_parameters": ["reasoning", "max_tokens"],
        },
        {
            "id": "openrouter/auto",
            "context_length": 2_000_000,
            "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
            "pricing": {"prompt": "-1", "completion": "-1"},
            "supported_parameters": [],
        },
        {"id": "acme/painter", "architecture": {"input_modalities": ["text"], "output_modalities": ["image"]}},
    ]
}
MISTRAL: dict[str, Any] = {
    "object": "list",
    "data": [
        {
            "id": "magistral-medium-2509",
            "object": "model",
            "type": "base",
            "created": 1_763_800_000,
            "owned_by": "mistralai",
            "max_context_length": 131_072,
            "aliases": ["magistral-medium-latest"],
            "capabilities": {"completion_chat": True, "function_calling": True, "reasoning": True, "vision": False},
        },
        {"id": "mistral-embed", "type": "base", "capabilities": {"completion_chat": False, "function_calling": False}},
    ],
}
GROQ: dict[str, Any] = {
    "object": "list",
    "data": [
        {
            "id": "openai/gpt-oss-120b",
            "object": "model",
            "created": 1_754_408_224,
            "owned_by": "OpenAI",
            "active": True,
            "context_window": 131_072,
            "public_apps": None,
            "max_completion_tokens": 65_536,
        },
        {"id": "whisper-large-v3", "active": True, "context_window": 448, "max_completion_tokens": 448},
        {"id": "gone", "active": False, "context_window": 8_192},
    ],
}
TOGETHER: list[dict[str, Any]] = [
    {
        "id": "zai-org/GLM-5",
        "object": "model",
        "created": 0,
        "type": "chat",
        "display_name": "GLM 5",
        "context_length": 202_752,
        "pricing": {"hourly": 0, "input": 1, "output": 3.2, "base": 0, "finetune": 0},
    },
    {
        "id": "acme/only-rented",
        "type": "chat",
        "context_length": 4_096,
        "pricing": {"hourly": 0, "input": 0, "output": 0, "base": 0, "finetune": 0},
    },
    {"id": "black-forest-labs/FLUX.1-schnell", "type": "image", "pricing": {"input": 0, "output": 0}},
]
FIREWORKS: dict[str, Any] = {
    "object": "list",
    "data": [
        {
            "id": "accounts/fireworks/models/glm-5",
            "object": "model",
            "owned_by": "fireworks",
            "created": 1_770_000_000,
            "kind": "HF_BASE_MODEL",
            "supports_chat": True,
            "supports_image_input": False,
            "supports_tools": True,
            "context_length": 202_752,
        },
        {"id": "accounts/fireworks/models/flux", "supports_chat": False, "supports_image_input": False},
    ],
}
GITHUB: list[dict[str, Any]] = [
    {
        "id": "openai/gpt-4.1",
        "name": "OpenAI GPT-4.1",
        "publisher": "OpenAI",
        "capabilities": ["streaming", "tool-calling"],
        "limits": {"max_input_tokens": 1_048_576, "max_output_tokens": 32_768},
        "rate_limit_tier": "high",
        "supported_input_modalities": ["text", "image", "audio"],
        "supported_output_modalities": ["text"],
    },
    {
        "id": "openai/text-embedding-3-large",
        "limits": {"max_input_tokens": 8_191, "max_output_tokens": None},
        "supported_input_modalities": ["text"],
        "supported_output_modalities": ["embeddings"],
    },
]
HUGGING_FACE: dict[str, Any] = {
    "object": "list",
    "data": [
        {
            "id": "zai-org/GLM-5",
            "object": "model",
            "created": 1_770_000_000,
            "owned_by": "zai-org",
            "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
            "providers": [
                {
                    "provider": "novita",
                    "status": "live",
                    "context_length": 204_800,
                    "pricing": {"input": 0.6, "output": 2.2},
                    "supports_tools": True,
                },
                {
                    "provider": "together",
                    "status": "live",
                    "context_length": 131_072,
                    "pricing": {"input": 1, "output": 3.2},
                    "supports_tools": False,
                },
                {"provider": "gone", "status": "error", "context_length": 1_024},
            ],
        }
    ],
}
MOONSHOT: dict[str, Any] = {
    "object": "list",
    "data": [
        {
            "id": "kimi-k3",
            "object": "model",
            "created": 1_770_000_000,
            "owned_by": "moonshot",
            "context_length": 1_048_576,
            "supports_image_in": True,
            "supports_video_in": True,
            "supports_reasoning": True,
        }
    ],
}
XAI: dict[str, Any] = {
    "models": [
        {
            "id": "grok-4.7",
            "fingerprint": "fp_1",
            "created": 1_770_000_000,
            "object": "model",
            "owned_by": "xai",
            "version": "1.0",
            "input_modalities": ["text", "image"],
            "output_modalities": ["text"],
            "prompt_text_token_price": 30_000,
            "cached_prompt_text_token_price": 7_500,
            "completion_text_token_price": 150_000,
            "max_prompt_length": 256_000,
            "aliases": ["grok-latest"],
        }
    ]
}
BEDROCK: dict[str, Any] = {
    "modelSummaries": [
        {
            "modelId": "amazon.nova-pro-v1:0",
            "modelName": "Nova Pro",
            "providerName": "Amazon",
            "inputModalities": ["TEXT", "IMAGE", "VIDEO"],
            "outputModalities": ["TEXT"],
            "responseStreamingSupported": True,
            "inferenceTypesSupported": ["ON_DEMAND"],
            "modelLifecycle": {"status": "ACTIVE"},
        },
        {
            "modelId": "amazon.titan-embed-text-v2:0",
            "inputModalities": ["TEXT"],
            "outputModalities": ["EMBEDDING"],
            "responseStreamingSupported": False,
        },
    ]
}
LM_STUDIO_V0: dict[str, Any] = {
    "object": "list",
    "data": [
        {
            "id": "qwen2-vl-7b-instruct",
            "object": "model",
            "type": "vlm",
            "publisher": "mlx-community",
            "state": "loaded",
            "max_context_length": 32_768,
            "loaded_context_length": 8_192,
            "capabilities": ["tool_use"],
        },
        {"id": "text-embedding-nomic", "object": "model", "type": "embeddings", "max_context_length": 2_048},
    ],
}
LM_STUDIO_V1: dict[str, Any] = {
    "models": [
        {
            "type": "llm",
            "publisher": "qwen",
            "key": "qwen/qwen3.5-9b",
            "display_name": "Qwen3.5 9B",
            "loaded_instances": [{"id": "qwen/qwen3.5-9b", "config": {"context_length": 65_536}}],
            "max_context_length": 262_144,
            "capabilities": {
                "vision": True,
                "trained_for_tool_use": True,
                "reasoning": {"allowed_options": ["off", "on"], "default": "on"},
            },
        },
        {"type": "embedding", "key": "text-embedding-nomic", "loaded_instances": [], "max_context_length": 2_048},
    ]
}
VLLM: dict[str, Any] = {
    "object": "list",
    "data": [{"id": "Qwen/Qwen3-8B", "object": "model", "root": "Qwen/Qwen3-8B", "max_model_len": 40_960}],
}
LITELLM: dict[str, Any] = {
    "data": [
        {
            "model_name": "house-model",
            "litellm_params": {"model": "azure/gpt-5"},
            "model_info": {
                "id": "0a1b",
                "mode": "chat",
                "max_input_tokens": 272_000,
                "max_output_tokens": 128_000,
                "input_cost_per_token": 1.25e-06,
                "output_cost_per_token": 1e-05,
                "cache_read_input_token_cost": 1.25e-07,
                "supports_vision": True,
                "supports_function_calling": True,
                "supports_reasoning": True,
            },
        },
        {"model_name": "house-vectors", "model_info": {"id": "2c3d", "mode": "embedding"}},
    ]
}
LLAMA_CPP: dict[str, Any] = {
    "object": "list",
    "data": [{"id": "gemma-3-4b", "object": "model", "created": 1_770_000_000, "meta": {"n_ctx_train": 131_072}}],
}
LLAMA_CPP_PROPS: dict[str, Any] = {
    "default_generation_settings": {"n_ctx": 16_384, "params": {}},
    "total_slots": 1,
    "modalities": {"vision": True, "audio": False},
    "chat_template_caps": {"supports_tools": True, "supports_tool_calls": True},
}
