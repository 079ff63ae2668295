"""One model loaded by llama.cpp: text into tokens, tokens into the model, and the next one out of it.

Nothing here may be used by two threads at once. What was read last stays in memory, so that a conversation that goes on
is not read again from its beginning. The bindings' own class is not used: while it loads it points the terminal's file
descriptors elsewhere, which would break the screen, and it cannot be stopped while it reads a prompt.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import llama_cpp

from harness.errors import RequestRejected, StreamError
from harness.lazy_dataclass import dataclass
from providers.gguf.abort_flag import Flag
from providers.gguf.log_capture import log_capture
from providers.gguf.token_escaping import parts

# Reading stops between two batches at the latest.
BATCH = 512
ALL_LAYERS = -1
LONGEST_PIECE = 4096
DONE, STOPPED = 0, 2
CONTROL = llama_cpp.LLAMA_TOKEN_ATTR_CONTROL | llama_cpp.LLAMA_TOKEN_ATTR_UNKNOWN
ADD_NOTHING, WITH_SPECIAL, WITH_DATA = False, True, True
NO_MEMORY = "no memory"
# Asks a byte whether it is set without asking Python, which would have to wait for its turn a thousand times a token:
# the length of a text that is empty or not.
IS_RAISED = ctypes.cast(ctypes.CDLL(None).strlen, llama_cpp.ggml_abort_callback)


class Aborted(Exception):
    """Reading or loading was stopped by its flag."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is chosen. `grammar`: in GBNF; only what fits it can be written."""

    temperature: float
    grammar: str = ""


class Engine:
    """`load` makes one; `close` frees it."""

    def __init__(self, model: llama_cpp.llama_model_p, context: llama_cpp.llama_context_p, window: int) -> None:
        self.window = window
        self._model = model
        self._context = context
        # Neither is ever missing in what was loaded.
        self._vocab = cast("llama_cpp.llama_vocab_p", llama_cpp.llama_model_get_vocab(model))
        self._memory = cast("llama_cpp.llama_memory_t", llama_cpp.llama_get_memory(context))
        self._read: list[int] = []
        self._flag = Flag()

    def close(self) -> None:
        llama_cpp.llama_free(self._context)
        llama_cpp.llama_model_free(self._model)

    @property
    def begin(self) -> str:
        """How the token is written that begins a text."""
        return self._written(self._begin_token)

    @property
    def end(self) -> str:
        # At run time it is a plain number.
        return self._written(cast("int", llama_cpp.llama_vocab_eos(self._vocab)))

    def controls(self) -> Iterator[str]:
        """How the tokens are spelled that only a template may write."""
        for token in range(llama_cpp.llama_vocab_n_tokens(self._vocab)):
            if llama_cpp.llama_vocab_get_attr(self._vocab, token) & CONTROL:
                yield self._written(token)

    def tokens_of(self, prompt: str) -> list[int]:
        """The tokens of a whole prompt; special ones are read as what they are, but for those that were only said."""
        tokens = [token for part in parts(prompt) for token in self._tokens_of(part)]
        begin = self._begin_token
        # Most templates write it themselves.
        if llama_cpp.llama_vocab_get_add_bos(self._vocab) and begin >= 0 and tokens[:1] != [begin]:
            tokens.insert(0, begin)
        return tokens

    def _tokens_of(self, part: str) -> list[int]:
        text = part.encode(errors="replace")
        # Mostly fewer than bytes, but a space can be three tokens; then it only tells how many there are.
        count, found = self._tokenize(text, len(text) + 8)
        if count < 0:
            count, found = self._tokenize(text, -count)
        return found[:count]

    def _tokenize(self, text: bytes, room: int) -> tuple[int, list[int]]:
        found = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(self._vocab, text, len(text), found, room, ADD_NOTHING, WITH_SPECIAL)
        return count, [*found]

    def piece_of(self, token: int) -> bytes:
        buffer = ctypes.create_string_buffer(LONGEST_PIECE)
        size = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, LONGEST_PIECE, 0, WITH_SPECIAL)
        return buffer.raw[: max(size, 0)]

    def is_end(self, token: int) -> bool:
        return llama_cpp.llama_vocab_is_eog(self._vocab, token)

    def set_abort_flag(self, flag: Flag) -> None:
        """Stop what is read from here on when this flag is raised."""
        self._flag = flag
        llama_cpp.llama_set_abort_callback(self._context, IS_RAISED, ctypes.cast(flag.text, ctypes.c_void_p))

    def reuse_prefix(self, prompt: Sequence[int]) -> int:
        """Forget all but what the prompt begins with; how much that is. The last token is read again, to go on from."""
        pairs = zip(self._read, prompt[:-1], strict=False)
        kept = next((at for at, (old, new) in enumerate(pairs) if old != new), min(len(self._read), len(prompt) - 1))
        if not llama_cpp.llama_memory_seq_rm(self._memory, 0, kept, -1):
            # Some kinds of model remember only the whole.
            llama_cpp.llama_memory_clear(self._memory, WITH_DATA)
            kept = 0
        del self._read[kept:]
        return kept

    def read(self, tokens: Sequence[int]) -> None:
        """Read on.

        Raises:
            Halted: the flag was raised.
            StreamError: llama.cpp gave up.
        """
        for at in range(0, len(tokens), BATCH):
            if self._flag:
                raise Aborted
            self._read_batch(tokens[at : at + BATCH])

    def _read_batch(self, tokens: Sequence[int]) -> None:
        # A batch only points at its tokens.
        array = (llama_cpp.llama_token * len(tokens))(*tokens)
        status = llama_cpp.llama_decode(self._context, llama_cpp.llama_batch_get_one(array, len(tokens)))
        if status == DONE:
            self._read.extend(tokens)
            return
        # Part of the batch may have been read.
        self.reuse_prefix([*self._read, tokens[0]])
        if status == STOPPED:
            raise Aborted
        raise StreamError(
            f"llama.cpp could not read on ({status}): {'; '.join(log_capture().take_errors()) or 'no reason'}"
        )

    def sampler(self, choice: Sampling) -> llama_cpp.llama_sampler_p:
        """What chooses tokens; to be given back to `free`.

        Raises:
            RequestRejected: the grammar is none.
        """
        chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
        if choice.grammar:
            grammar = llama_cpp.llama_sampler_init_grammar(self._vocab, choice.grammar.encode(), b"root")
            if not grammar:
                llama_cpp.llama_sampler_free(chain)
                raise RequestRejected("llama.cpp cannot hold the model to that form: ask for a simpler one")
            llama_cpp.llama_sampler_chain_add(chain, grammar)
        for part in _parts(choice.temperature):
            llama_cpp.llama_sampler_chain_add(chain, part)
        return chain

    def choose(self, sampler: llama_cpp.llama_sampler_p) -> int:
        return llama_cpp.llama_sampler_sample(sampler, self._context, -1)

    def free(self, sampler: llama_cpp.llama_sampler_p) -> None:
        llama_cpp.llama_sampler_free(sampler)

    @property
    def _begin_token(self) -> int:
        # At run time it is a plain number.
        return cast("int", llama_cpp.llama_vocab_bos(self._vocab))

    def _written(self, token: int) -> str:
        return llama_cpp.llama_vocab_get_text(self._vocab, token).decode(errors="replace") if token >= 0 else ""


def load(path: Path, window: int, flag: Flag) -> Engine:
    """The model of a file, on the graphics card as far as the build can, with room for `window` tokens.

    Raises:
        Halted: the flag was raised.
        RequestRejected: it cannot be loaded; the text says why.
    """
    said = log_capture()
    said.take_errors()
    model_params = llama_cpp.llama_model_default_params()
    model_params.n_gpu_layers = ALL_LAYERS
    model_params.progress_callback = llama_cpp.llama_progress_callback(partial(_goes_on, flag))
    model = llama_cpp.llama_model_load_from_file(os.fsencode(path), model_params)
    if not model:
        raise Aborted if flag else RequestRejected(_why(path, window, said.take_errors()))
    context = llama_cpp.llama_init_from_model(model, _context_params(window))
    if not context:
        llama_cpp.llama_model_free(model)
        raise RequestRejected(_why(path, window, [*said.take_errors(), NO_MEMORY]))
    return Engine(model, context, window)


def _goes_on(flag: Flag, _share: float, _: object) -> bool:
    return not flag


def _context_params(window: int) -> llama_cpp.llama_context_params:
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = window
    params.n_batch = params.n_ubatch = BATCH
    cores = os.cpu_count() or 1
    # Twins of one core stand in each other's way when a token is made, and help a little when many are read.
    params.n_threads, params.n_threads_batch = max(cores // 2, 1), cores
    params.no_perf = True
    return params


def _parts(temperature: float) -> Sequence[llama_cpp.llama_sampler_p]:
    if temperature <= 0:
        return (llama_cpp.llama_sampler_init_greedy(),)
    return (
        llama_cpp.llama_sampler_init_top_k(40),
        llama_cpp.llama_sampler_init_top_p(0.95, 1),
        llama_cpp.llama_sampler_init_min_p(0.05, 1),
        llama_cpp.llama_sampler_init_temp(temperature),
        llama_cpp.llama_sampler_init_dist(llama_cpp.LLAMA_DEFAULT_SEED),
    )


def _why(path: Path, window: int, errors: Sequence[str]) -> str:
    reasons = "; ".join(errors)
    if NO_MEMORY in reasons or "alloc" in reasons:
        return (
            f"there is not enough memory for {path.name} with a window of {window:,} tokens: take a smaller one "
            "(export CINCH_LOCAL_CONTEXT=8192), or a model in fewer bits"
        )
    return f"llama.cpp cannot load {path}: {reasons or 'it does not say why'}"
