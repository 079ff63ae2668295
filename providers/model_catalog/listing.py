"""Parser of the model lists of services and servers; pure.

Each uses its own names for the same few facts, and no name has two meanings: one parser reads them all. A path such as
`limits.max_input_tokens` leads into nested objects.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from harness.messages import JsonObject, JsonValue
from harness.ports.provider import Price
from providers.model_catalog.metadata import ListedModel, ModelMetadata

ENTRIES = ("data", "models", "publisherModels", "modelSummaries")
NAMES = ("id", "name", "key", "model_name", "modelId")
# The window in use comes before the possible one, and that before the window of training.
WINDOWS = (
    *("loaded_context_length", "top_provider.context_length", "context_length", "context_window", "max_context_length"),
    *("max_model_len", "max_input_tokens", "max_prompt_length", "inputTokenLimit", "limits.max_input_tokens"),
    *("model_info.max_input_tokens", "default_generation_settings.n_ctx"),
)
OUTPUTS = (
    *("top_provider.max_completion_tokens", "max_completion_tokens", "max_tokens", "outputTokenLimit"),
    *("limits.max_output_tokens", "model_info.max_output_tokens"),
)
IMAGES = (
    *("capabilities.vision", "capabilities.image_input", "supports_image_input", "supports_image_in"),
    *("model_info.supports_vision", "modalities.vision"),
)
TOOLS = (
    *("capabilities.function_calling", "capabilities.trained_for_tool_use", "supports_tools", "supports_tool_use"),
    *("model_info.supports_function_calling", "chat_template_caps.supports_tools"),
)
THINKING = (
    *("capabilities.reasoning", "capabilities.thinking", "supports_reasoning", "thinking"),
    "model_info.supports_reasoning",
)
INPUTS = ("architecture.input_modalities", "supported_input_modalities", "input_modalities", "inputModalities")
ANSWERS = ("architecture.output_modalities", "supported_output_modalities", "output_modalities", "outputModalities")
# Input, output, cache read, cache write, and the factor to dollars per million tokens.
TARIFFS = (
    ("pricing.prompt", "pricing.completion", "pricing.input_cache_read", "pricing.input_cache_write", 1e6),
    ("pricing.input", "pricing.output", "pricing.cached_input", "", 1),
    ("prompt_text_token_price", "completion_text_token_price", "cached_prompt_text_token_price", "", 1e-4),
    (
        "model_info.input_cost_per_token",
        "model_info.output_cost_per_token",
        "model_info.cache_read_input_token_cost",
        "model_info.cache_creation_input_token_cost",
        1e6,
    ),
)
CHAT_KINDS = ("chat", "llm", "vlm", "completion", "responses")
OTHER_KINDS = (
    *("audio", "code", "embedding", "embeddings", "image", "image_generation", "language", "moderation", "rerank"),
    *("audio_speech", "audio_transcription", "transcribe", "video", "video_generation"),
)
LONGEST_NAME = 256
OTHER_NAMES = re.compile(
    r"embed|whisper|moderation|rerank|transcri|dall-e|realtime|imagen|guard|content-safety|"
    r"(^|[-_/.])(tts|image|audio|speech|sora|veo|ocr|babbage|davinci|ada|curie|aqa|orpheus|lyria)([-_/.\d]|$)|turbo-instruct"
)


def listed(answer: JsonValue) -> list[ListedModel]:
    """Return the chat models of a list, in its order, each once."""
    found: dict[str, ListedModel] = {}
    for entry in entries_of(answer):
        if (model := _listed(entry)) is not None:
            found.setdefault(model.id, model)
    return list(found.values())


def entries_of(answer: JsonValue) -> Sequence[JsonValue]:
    """Return the entries of a model list; empty if the response is not one."""
    if isinstance(answer, dict):
        answer = next((entries for name in ENTRIES if isinstance(entries := answer.get(name), list)), None)
    return answer if isinstance(answer, list) else ()


def name_of(entry: JsonValue) -> str:
    """Return the model id of an entry; empty if it has none."""
    if isinstance(entry, str):
        return _bare(entry)
    names = (entry.get(key) for key in NAMES) if isinstance(entry, dict) else ()
    return next((_bare(name) for name in names if isinstance(name, str) and name), "")


def metadata_in(about: JsonObject) -> ModelMetadata:
    """Return the metadata in an entry of a list, or in a response about one model."""
    routes = [route for route in _objects(about.get("providers")) if route.get("status") in (None, "live")]
    known = ModelMetadata(
        _window(about),
        _number(about, OUTPUTS),
        _price(about),
        _images(about),
        _flag(about, TOOLS, "tools", "tool-calling", "tool_use"),
        _flag(about, THINKING, "thinking", "reasoning"),
    )
    return known.completed_by(_over(routes)) if routes else known


def is_chat_model(name: str) -> bool:
    """Return True unless the name identifies another kind of model."""
    return OTHER_NAMES.search(name.lower()) is None


def _listed(entry: JsonValue) -> ListedModel | None:
    name = name_of(entry)
    # Names that cannot be typed or displayed are skipped.
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        return None
    if not isinstance(entry, dict):
        return ListedModel(name) if is_chat_model(name) else None
    return ListedModel(name, metadata_in(entry), _created(entry)) if _is_available_chat_model(entry, name) else None


def _bare(name: str) -> str:
    return re.sub(r"^(publishers/google/)?models/", "", name)


def _is_available_chat_model(entry: JsonObject, name: str) -> bool:
    """Return True if a model is available and answers text with text."""
    methods = entry.get("supportedGenerationMethods")
    if isinstance(methods, list) and "generateContent" not in methods:
        return False
    off = (
        ("active", False),
        ("lifecycle", "retired"),
        ("supports_chat", False),
        ("responseStreamingSupported", False),
        ("capabilities.completion_chat", False),
        ("capabilities.chat_completion", False),
    )
    if any(_at(entry, path) == value for path, value in off):
        return False
    kind = _at(entry, "type") or _at(entry, "model_info.mode")
    if kind in OTHER_KINDS:
        return False
    answers = _words(entry, ANSWERS)
    if answers is not None:
        return "text" in answers
    is_known = kind in CHAT_KINDS or _at(entry, "capabilities.completion_chat") or entry.get("supports_chat")
    return bool(is_known) or is_chat_model(name)


def _created(entry: JsonObject) -> float:
    created = entry.get("created") or entry.get("created_at")
    if isinstance(created, str):
        try:
            return datetime.fromisoformat(created).timestamp()
        except ValueError:
            return 0
    return created if isinstance(created, int | float) and not isinstance(created, bool) else 0


def _window(about: JsonObject) -> int | None:
    windows = (_number(instance, ("config.context_length",)) for instance in _objects(about.get("loaded_instances")))
    return next(filter(None, windows), None) or _number(about, WINDOWS)


def _images(about: JsonObject) -> bool | None:
    inputs = _words(about, INPUTS)
    if inputs is not None:
        return "image" in inputs
    if about.get("type") in ("vlm", "llm") and not isinstance(about.get("capabilities"), dict):
        return about.get("type") == "vlm"
    return _flag(about, IMAGES, "vision")


def _flag(about: JsonObject, paths: Sequence[str], *words: str) -> bool | None:
    for path in paths:
        match _at(about, path):
            case bool(flag) | {"supported": bool(flag)}:
                return flag
            case dict():
                return True
            case _:
                pass
    # Only the lists of OpenRouter and Ollama are complete; absence in another list means unknown.
    flags = _words(about, ("supported_parameters", "capabilities"))
    if flags is None:
        return None
    is_whole = "supported_parameters" in about or "completion" in flags
    return True if flags.intersection(words) else (False if is_whole else None)


def _price(about: JsonObject) -> Price | None:
    for paid, written, read, stored, factor in TARIFFS:
        amounts = [_amount(about, path, factor) for path in (paid, written, read, stored)]
        into, out = amounts[0], amounts[1]
        if into is None or out is None:
            continue
        # At OpenRouter zero means free, elsewhere that there is no price.
        if not into and not out and paid != "pricing.prompt" and "free" not in name_of(about).lower():
            return None
        cached = [into if amount is None else amount for amount in amounts[2:]]
        return Price(into, out, *cached)
    return None


def _amount(about: JsonObject, path: str, factor: float) -> float | None:
    value = _at(about, path) if path else None
    try:
        amount = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else -1
    except ValueError:
        return None
    # A negative price means that it depends on the routed model.
    return round(amount * factor, 6) if amount >= 0 else None


def _over(routes: Sequence[JsonObject]) -> ModelMetadata:
    """Return what holds for every route of a router: the smallest window and the highest price."""
    each = [metadata_in(route) for route in routes]
    prices = [known.price for known in each if known.price]
    return ModelMetadata(
        min((known.context_window for known in each if known.context_window), default=None),
        price=max(prices, key=lambda price: price.output, default=None),
        tools=next((flag for flag in (True, False) if flag in [known.tools for known in each]), None),
    )


def _number(about: JsonObject, paths: Sequence[str]) -> int | None:
    values = (_at(about, path) for path in paths)
    return next((value for value in values if isinstance(value, int) and value > 0), None)


def _words(about: JsonObject, paths: Sequence[str]) -> set[str] | None:
    for path in paths:
        if isinstance(values := _at(about, path), list):
            return {str(value).lower() for value in values}
    return None


def _at(about: JsonValue, path: str) -> JsonValue:
    for name in path.split("."):
        about = about.get(name) if isinstance(about, dict) else None
    return about


def _objects(values: JsonValue) -> list[JsonObject]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def metadata_of_model(answer: JsonValue, *names: str) -> ModelMetadata:
    """Return the metadata of a model in a server's response, which may list all models or describe the only one."""
    entries = entries_of(answer)
    keys = ("id", "name", "model")
    named = (each for each in entries if name_of(each) in names or any(_at(each, key) in names for key in keys))
    about: JsonValue = next(named, None) if entries else answer
    return metadata_in(about) if isinstance(about, dict) else ModelMetadata()
