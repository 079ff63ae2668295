"""How a model is told the form of its answer where the service cannot hold it to one."""

from __future__ import annotations

import json

from harness.ports.provider import OutputSchema


def in_words(answer: OutputSchema) -> str:
    schema = json.dumps(answer.schema, ensure_ascii=False)
    return (
        f"Your last message must be nothing but JSON that fits this JSON Schema, without a fence around it:\n{schema}"
    )
