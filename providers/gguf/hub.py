"""Hugging Face's hub, or one that speaks like it: which files a repository holds, and their bytes.

Not by its own library: that one does not compare what came with the checksum that the hub states, and the bar and the
words of a pull are ours.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

import httpx
from filelock import FileLock, Timeout

from harness.errors import (
    AuthenticationFailed,
    ConfigError,
    ModelNotFound,
    NetworkError,
    ProviderError,
    RequestRejected,
    StreamError,
)
from harness.lazy_dataclass import dataclass
from providers.net.http_errors import plain
from providers.net.inflate import InflateError, inflater
from providers.net.tls import ssl_context

ADDRESS = "https://huggingface.co"
TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
TIMEOUT = httpx.Timeout(30.0, read=60.0)
CHUNK = 1 << 20
LARGEST_LIST = 16 * 1024 * 1024
PARTIAL = 206
# Broken connections in a row that bring nothing new.
PATIENCE = 3

# Told how many bytes of a file are here.
OnProgress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class HubFile:
    """`sha256` is empty for small files, which the hub keeps another way."""

    path: str
    size: int
    sha256: str


class Hub:
    """Use it as a context manager."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        environ = os.environ if environ is None else environ
        self.address = environ.get("HF_ENDPOINT", "").strip().rstrip("/") or ADDRESS
        token = next((token for name in TOKENS if (token := environ.get(name, "").strip())), "")
        self._has_token = bool(token)
        headers = {"authorization": f"Bearer {token}"} if token else {}
        # What is asked for must come as it is: a range of compressed bytes cannot be gone on with.
        self._client = httpx.Client(
            headers={**headers, "accept-encoding": "identity"},
            timeout=TIMEOUT,
            follow_redirects=True,
            verify=ssl_context(environ),
        )

    def __enter__(self) -> Hub:
        return self

    def __exit__(self, *exc: object) -> None:
        self._client.close()

    def files(self, repository: str) -> list[HubFile]:
        """What a repository holds.

        Raises:
            ProviderError: there is none, it is closed to us, or the hub cannot be asked.
        """
        url = f"{self.address}/api/models/{quote(repository)}/tree/main?recursive=true"
        found: list[HubFile] = []
        while url:
            with self._asked(repository, url) as response:
                found.extend(_files_in(response.url.host, _body(response)))
                url = response.links.get("next", {}).get("url", "")
        return found

    def fetch(self, repository: str, file: HubFile, target: Path, on_progress: OnProgress) -> None:
        """Bring a file to its place, where it stands only when it is whole; go on with what an earlier try left.

        Raises:
            ConfigError: there is no room for it.
            ProviderError: it could not be had, or is not what the hub says it is.
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        # Named for its content: what is left of another version is no beginning of this one.
        part = target.with_name(f"{target.name}.{file.sha256[:12] or file.size}.part")
        lock = FileLock(f"{part}.lock")
        try:
            with lock.acquire(timeout=0):
                _make_sure_of_room(part, file)
                _Download(self, repository, file, part).run(on_progress)
                part.replace(target)
                Path(lock.lock_file).unlink(missing_ok=True)
        except Timeout as error:
            raise ConfigError(f"{file.path} is being pulled by another cinch") from error
        except OSError as error:
            raise ConfigError(f"{part} cannot be written: {error.strerror}; what is there is kept") from error

    @contextmanager
    def stream(self, repository: str, file: HubFile, begin: int) -> Generator[httpx.Response]:
        """The bytes of a file from `begin` on, if the hub can do that."""
        url = f"{self.address}/{quote(repository)}/resolve/main/{quote(file.path)}"
        with self._asked(repository, url, {"range": f"bytes={begin}-"} if begin else {}) as response:
            yield response

    @contextmanager
    def _asked(self, repository: str, url: str, headers: Mapping[str, str] | None = None) -> Generator[httpx.Response]:
        try:
            with self._client.stream("GET", url, headers=headers) as response:
                if response.status_code >= 400:
                    raise self._refusal(repository, response)
                yield response
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise NetworkError(f"{self.address} cannot be reached: {_words_of(error)}") from error
        except httpx.HTTPError as error:
            words = _words_of(error)
            raise NetworkError(f"{self.address} broke off before its end; pull again to go on ({words})") from error

    def _refusal(self, repository: str, response: httpx.Response) -> ProviderError:
        status, code = response.status_code, response.headers.get("x-error-code", "")
        page = f"{self.address}/{repository}"
        if code == "RepoNotFound" or status == 404:
            return ModelNotFound(f"there is no {repository} at {self.address}, or it is private: export HF_TOKEN=…")
        if status in (401, 403):
            mend = "with the account of HF_TOKEN" if self._has_token else "and export HF_TOKEN=…"
            return AuthenticationFailed(f"{repository} is only for those who were let in: ask at {page} {mend}")
        words = f"{self.address} answered {status} for {repository}"
        return NetworkError(words) if status >= 500 or status == 429 else RequestRejected(words)


class _Download:
    """One file on its way into its `part`."""

    def __init__(self, hub: Hub, repository: str, file: HubFile, part: Path) -> None:
        self._hub = hub
        self._repository = repository
        self._file = file
        self._part = part
        self._hash = hashlib.sha256()
        self._size = 0

    def run(self, on_progress: OnProgress) -> None:
        self._take_up(on_progress)
        failures = 0
        while self._size < self._file.size:
            before = self._size
            try:
                self._go_on(on_progress)
            except NetworkError:
                failures = 0 if self._size > before else failures + 1
                if failures >= PATIENCE:
                    raise
        self._check()

    def _take_up(self, told: OnProgress) -> None:
        """What an earlier try left."""
        if not self._part.exists():
            return
        with self._part.open("rb") as left:
            while self._size <= self._file.size and (chunk := left.read(CHUNK)):
                self._count(chunk)
        if self._size > self._file.size:
            self._start_over()
        told(self._size)

    def _go_on(self, told: OnProgress) -> None:
        with self._hub.stream(self._repository, self._file, self._size) as response:
            if self._size and response.status_code != PARTIAL:
                self._start_over()
            with self._part.open("ab") as part:
                for chunk in response.iter_raw():
                    part.write(chunk)
                    self._count(chunk)
                    told(self._size)
        if self._size < self._file.size:
            raise NetworkError(f"{self._hub.address} ended {self._file.path} before its end; pull again to go on")

    def _count(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        self._size += len(chunk)

    def _start_over(self) -> None:
        self._part.unlink()
        self._hash = hashlib.sha256()
        self._size = 0

    def _check(self) -> None:
        if self._size == self._file.size and self._file.sha256 in ("", self._hash.hexdigest()):
            return
        self._part.unlink()
        raise StreamError(
            f"{self._file.path} came damaged: its checksum is not the hub's; it was removed, pull it again"
        )


def _words_of(error: Exception) -> str:
    return plain(str(error)) or type(error).__name__


def _make_sure_of_room(part: Path, file: HubFile) -> None:
    wanted = file.size - (part.stat().st_size if part.exists() else 0)
    free = shutil.disk_usage(part.parent).free
    if wanted > free:
        raise ConfigError(
            f"no room for {file.path}: it needs {wanted / 1e9:.1f} GB, and {part.parent} has {free / 1e9:.1f} GB left"
        )


def _body(response: httpx.Response) -> bytes:
    """The whole of a small answer, also where it is compressed without being asked to be."""
    body = bytearray()
    try:
        decoder = inflater(response.headers.get("content-encoding", ""))
        for received in response.iter_raw():
            for piece in decoder.feed(received):
                body += piece
                if len(body) > LARGEST_LIST:
                    raise StreamError(f"{response.url.host} sent a list of files of more than {LARGEST_LIST:,} bytes")
    except InflateError as error:
        raise StreamError(f"{response.url.host} cannot be read: {error}") from error
    return bytes(body)


def _files_in(host: str, body: bytes) -> Sequence[HubFile]:
    try:
        entries: list[Any] = json.loads(body)
        files = [_file(entry) for entry in entries if entry["type"] == "file"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StreamError(f"{host} sent a list of files that cannot be read") from error
    # They become paths of this machine.
    return [file for file in files if _stays_inside(file.path)]


def _file(entry: Any) -> HubFile:
    stored: Any = entry.get("lfs") or {}
    return HubFile(str(entry["path"]), int(stored.get("size") or entry["size"]), str(stored.get("oid") or ""))


def _stays_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and parts[0] != "/" and ".." not in parts and "\\" not in path and "\0" not in path
