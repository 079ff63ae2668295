"""Generated model of a few hundred kilobytes that produces scripted text.

It is a Llama with one layer that does nothing: the output at the place of a token is the next token of its script. The
chat template chooses the script by the token at the end of the prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import gguf
import numpy as np

HEAD = 16
# User messages lead to `<|act|>` if there are tools, and tool results to `<|say|>`.
TEMPLATE = """
{%- for message in messages if message.role != 'system' -%}
<|{{ message.role }}|>{{ message.content }}
{%- for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor -%}
{%- endfor -%}
{%- if tools and messages[-1].role != 'tool' %}<|act|>{% else %}<|say|>{% endif -%}
"""
END = "</s>"
SPECIAL = ("<unk>", "<s>", END, "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|act|>", "<|say|>")
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
Scripts = Mapping[str, Sequence[str]]


def write_model(
    path: Path, scripts: Scripts, *, template: str = TEMPLATE, window: int = 2048, noise: float = 0.0
) -> Path:
    """Write a model that follows each key of `scripts` by its tokens and then ends; a repeated last token is produced
    forever. With `noise` the weights are random instead."""
    words = [word for script in scripts.values() for word in script if word not in BYTES]
    tokens = [*SPECIAL, *BYTES, *dict.fromkeys(words)]
    width = -(-len(tokens) // 32) * 32
    follows = np.zeros((len(tokens), width), dtype=np.float32)
    stands = np.zeros((len(tokens), width), dtype=np.float32)
    stands[range(len(tokens)), range(len(tokens))] = 1
    for token, following in _steps(scripts):
        follows[tokens.index(following), tokens.index(token)] = 1
    if noise:
        follows = np.random.default_rng(7).normal(0, noise, follows.shape).astype(np.float32)
    writer = gguf.GGUFWriter(path, "llama")
    _describe(writer, width, window)
    _spell(writer, tokens, template)
    _weigh(writer, width, {"token_embd.weight": stands, "output.weight": follows})
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _steps(scripts: Scripts) -> list[tuple[str, str]]:
    chains = [(start, *script) for start, script in scripts.items()]
    chains = [chain if chain[-1:] == chain[-2:-1] else (*chain, END) for chain in chains]
    return [step for chain in chains for step in pairwise(chain)]


def _describe(writer: gguf.GGUFWriter, width: int, window: int) -> None:
    writer.add_context_length(window)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(HEAD)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_rope_dimension_count(HEAD)
    writer.add_layer_norm_rms_eps(1e-6)


def _spell(writer: gguf.GGUFWriter, tokens: list[str], template: str) -> None:
    kinds = {"<unk>": gguf.TokenType.UNKNOWN} | dict.fromkeys(SPECIAL[1:], gguf.TokenType.CONTROL)
    kinds |= dict.fromkeys(BYTES, gguf.TokenType.BYTE)
    types = [kinds.get(token, gguf.TokenType.NORMAL) for token in tokens]
    writer.add_tokenizer_model("llama")
    writer.add_token_list([token.replace(" ", "▁") for token in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(types)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_space_prefix(False)
    if template:
        writer.add_chat_template(template)


def _weigh(writer: gguf.GGUFWriter, width: int, reported: Mapping[str, np.ndarray]) -> None:
    # Half precision would lose nothing, but norms must be 32-bit floats.
    for name, weights in reported.items():
        writer.add_tensor(name, weights.astype(np.float16))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(width, dtype=np.float32))
    for name in ("attn_q", "attn_k", "attn_v", "ffn_gate", "ffn_up"):
        writer.add_tensor(f"blk.0.{name}.weight", np.zeros((HEAD, width), dtype=np.float16))
    for name in ("attn_output", "ffn_down"):
        writer.add_tensor(f"blk.0.{name}.weight", np.zeros((width, HEAD), dtype=np.float16))
