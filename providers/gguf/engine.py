"""Model loaded by llama.cpp: tokenization, evaluation and sampling.

Not thread-safe. Evaluated tokens stay in memory, so that the next request evaluates only what is new. The bindings' own
class is not used: while loading it redirects the terminal's file descriptors, which would break the screen, and it
cannot be stopped while it evaluates a prompt.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import cast

import llama_cpp

from harness.errors import RequestRejected, StreamError
from providers.gguf.abort_flag import Flag
from providers.gguf.token_escaping import parts

logger = logging.getLogger(__name__)

# Evaluation stops between two batches at the latest.
BATCH = 512
ALL_LAYERS = -1
LONGEST_PIECE = 4096
DONE, STOPPED = 0, 2
CONTROL = llama_cpp.LLAMA_TOKEN_ATTR_CONTROL | llama_cpp.LLAMA_TOKEN_ATTR_UNKNOWN
ADD_NOTHING, WITH_SPECIAL, WITH_DATA = False, True, True
NO_MEMORY = "no memory"
# Log levels of llama.cpp, and the number of error lines that are kept.
WARNING, ERROR, CONTINUED = 3, 4, 5
KEPT_LINES = 12
# The callback runs a thousand times per token and must not wait for the GIL: `strlen` of the flag's text is zero until
# it is set.
IS_SET = ctypes.cast(ctypes.CDLL(None).strlen, llama_cpp.ggml_abort_callback)


class Aborted(Exception):
    """Loading or evaluation was stopped by its flag."""


class Engine:
    """A loaded model; created by `load`, freed by `close`."""

    def __init__(self, model: llama_cpp.llama_model_p, context: llama_cpp.llama_context_p, window: int) -> None:
        self.window = window
        self._model = model
        self._context = context
        # Both exist in every loaded model.
        self._vocab = cast("llama_cpp.llama_vocab_p", llama_cpp.llama_model_get_vocab(model))
        self._memory = cast("llama_cpp.llama_memory_t", llama_cpp.llama_get_memory(context))
        self._read: list[int] = []
        self._flag = Flag()

    def close(self) -> None:
        llama_cpp.llama_free(self._context)
        llama_cpp.llama_model_free(self._model)

    @property
    def begin(self) -> str:
        """Return the text of the token that begins a prompt."""
        return self._written(self._begin_token)

    @property
    def end(self) -> str:
        # A plain number at run time.
        return self._written(cast("int", llama_cpp.llama_vocab_eos(self._vocab)))

    def controls(self) -> Iterator[str]:
        """Yield the spellings of control tokens, which only a template may write."""
        for token in range(llama_cpp.llama_vocab_n_tokens(self._vocab)):
            if llama_cpp.llama_vocab_get_attr(self._vocab, token) & CONTROL:
                yield self._written(token)

    def tokens_of(self, prompt: str) -> list[int]:
        """Return the tokens of a prompt; special tokens are recognized, except where they were escaped."""
        tokens = [token for part in parts(prompt) for token in self._tokens_of(part)]
        begin = self._begin_token
        # Most templates write it themselves.
        if llama_cpp.llama_vocab_get_add_bos(self._vocab) and begin >= 0 and tokens[:1] != [begin]:
            tokens.insert(0, begin)
        return tokens

    def _tokens_of(self, part: str) -> list[int]:
        text = part.encode(errors="replace")
        # Usually fewer than bytes, but a space can be three tokens; then only their negative number is returned.
        count, found = self._tokenize(text, len(text) + 8)
        if count < 0:
            count, found = self._tokenize(text, -count)
        return found[:count]

    def _tokenize(self, text: bytes, room: int) -> tuple[int, list[int]]:
        found = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(self._vocab, text, len(text), found, room, ADD_NOTHING, WITH_SPECIAL)
        return count, [*found]

    def _piece_of(self, token: int) -> bytes:
        buffer = ctypes.create_string_buffer(LONGEST_PIECE)
        size = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, LONGEST_PIECE, 0, WITH_SPECIAL)
        return buffer.raw[: max(size, 0)]

    def set_abort_flag(self, flag: Flag) -> None:
        """Stop further evaluation when this flag is set."""
        self._flag = flag
        llama_cpp.llama_set_abort_callback(self._context, IS_SET, ctypes.cast(flag.text, ctypes.c_void_p))

    def reuse_prefix(self, prompt: Sequence[int]) -> int:
        """Drop all tokens but the common prefix with the prompt; return its length. The last token is evaluated
        again."""
        pairs = zip(self._read, prompt[:-1], strict=False)
        kept = next((at for at, (old, new) in enumerate(pairs) if old != new), min(len(self._read), len(prompt) - 1))
        if not llama_cpp.llama_memory_seq_rm(self._memory, 0, kept, -1):
            # Some architectures cannot drop a part.
            llama_cpp.llama_memory_clear(self._memory, WITH_DATA)
            kept = 0
        del self._read[kept:]
        return kept

    def read(self, tokens: Sequence[int]) -> None:
        """Evaluate tokens.

        Raises:
            Aborted: The flag was set.
            StreamError: llama.cpp failed.
        """
        for at in range(0, len(tokens), BATCH):
            if self._flag:
                raise Aborted
            self._read_batch(tokens[at : at + BATCH])

    def _read_batch(self, tokens: Sequence[int]) -> None:
        # The batch points to this array.
        array = (llama_cpp.llama_token * len(tokens))(*tokens)
        status = llama_cpp.llama_decode(self._context, llama_cpp.llama_batch_get_one(array, len(tokens)))
        if status == DONE:
            self._read.extend(tokens)
            return
        # Part of the batch may have been evaluated.
        self.reuse_prefix([*self._read, tokens[0]])
        if status == STOPPED:
            raise Aborted
        reason = "; ".join(log_capture().take_errors()) or "no reason given"
        raise StreamError(f"llama.cpp could not evaluate the prompt ({status}): {reason}")

    def generate(self, temperature: float, grammar: str, room: int) -> Iterator[bytes]:
        """Yield the text of each token of a reply, `room` tokens at most.

        Args:
            temperature: Sampling temperature.
            grammar: Restriction of the output, in GBNF; empty for none.
            room: Largest number of tokens.

        Raises:
            RequestRejected: The grammar is invalid.
            Aborted: The flag was set.
            StreamError: llama.cpp failed.
        """
        with self._sampler(temperature, grammar) as sampler:
            for _ in range(room):
                token = llama_cpp.llama_sampler_sample(sampler, self._context, -1)
                if llama_cpp.llama_vocab_is_eog(self._vocab, token):
                    return
                yield self._piece_of(token)
                self.read([token])

    @contextmanager
    def _sampler(self, temperature: float, grammar: str) -> Generator[llama_cpp.llama_sampler_p]:
        chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
        try:
            if grammar:
                part = llama_cpp.llama_sampler_init_grammar(self._vocab, grammar.encode(), b"root")
                if not part:
                    raise RequestRejected("llama.cpp cannot enforce this output schema: use a simpler one")
                llama_cpp.llama_sampler_chain_add(chain, part)
            for part in _parts(temperature):
                llama_cpp.llama_sampler_chain_add(chain, part)
            yield chain
        finally:
            llama_cpp.llama_sampler_free(chain)

    @property
    def _begin_token(self) -> int:
        # A plain number at run time.
        return cast("int", llama_cpp.llama_vocab_bos(self._vocab))

    def _written(self, token: int) -> str:
        return llama_cpp.llama_vocab_get_text(self._vocab, token).decode(errors="replace") if token >= 0 else ""


def load(path: Path, window: int, flag: Flag) -> Engine:
    """Load a model file, on the GPU as far as the build supports it, with a context window of `window` tokens.

    Raises:
        Aborted: The flag was set.
        RequestRejected: It cannot be loaded; the text says why.
    """
    log = log_capture()
    log.take_errors()
    model_params = llama_cpp.llama_model_default_params()
    model_params.n_gpu_layers = ALL_LAYERS
    model_params.progress_callback = llama_cpp.llama_progress_callback(partial(_continues, flag))
    model = llama_cpp.llama_model_load_from_file(os.fsencode(path), model_params)
    if not model:
        raise Aborted if flag else RequestRejected(_why(path, window, log.take_errors()))
    context = llama_cpp.llama_init_from_model(model, _context_params(window))
    if not context:
        llama_cpp.llama_model_free(model)
        raise RequestRejected(_why(path, window, [*log.take_errors(), NO_MEMORY]))
    return Engine(model, context, window)


def _continues(flag: Flag, _share: float, _: object) -> bool:
    return not flag


def _context_params(window: int) -> llama_cpp.llama_context_params:
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = window
    params.n_batch = params.n_ubatch = BATCH
    cores = os.cpu_count() or 1
    # Hyper-threads slow down generation and speed up prompt evaluation a little.
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
            f"not enough memory for {path.name} with a context window of {window:,} tokens: use a smaller window "
            "(export CINCH_LOCAL_CONTEXT=8192), or a smaller quantization"
        )
    return f"llama.cpp cannot load {path}: {reasons or 'no reason given'}"


class LogCapture:
    """Log output of llama.cpp, kept off the terminal: it goes to our log, and recent errors to error messages.

    llama.cpp has one log for the whole process, and its C code calls the callback as long as the process lives.
    """

    def __init__(self) -> None:
        self._errors: deque[str] = deque(maxlen=KEPT_LINES)
        self._callback = llama_cpp.llama_log_callback(self._on_log)
        llama_cpp.llama_log_set(self._callback, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()

    def take_errors(self) -> list[str]:
        """Return and clear the errors since the last call."""
        errors = list(self._errors)
        self._errors.clear()
        return errors

    def _on_log(self, level: int, text: bytes, _: ctypes.c_void_p) -> None:
        line = text.decode(errors="replace").strip(" .\n")
        if not line or level == CONTINUED:
            return
        if level == ERROR:
            self._errors.append(line)
        # Never a warning: without logging configuration those go to the terminal.
        logger.log(logging.INFO if level in (WARNING, ERROR) else logging.DEBUG, "%s", line)


log_capture = cache(LogCapture)
"""Returns the capture; from the first call on, llama.cpp prints nothing."""
