"""Hugging Face Hub, or a compatible one: file lists and downloads.

huggingface_hub (2.4) is not used: it does not compare a download with the checksum that the hub states, begins again
after a lost connection, and brings another HTTP client with its own proxies and certificates.
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
from msgspec import Struct

from harness.errors import (
    AuthenticationFailed,
    ConfigError,
    ModelNotFound,
    NetworkError,
    ProviderError,
    RequestRejected,
    StreamError,
)
from http_client.inflate import InflateError, Inflater
from http_client.tls import ssl_context
from providers.net.http_errors import plain

ADDRESS = "https://huggingface.co"
TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
TIMEOUT = httpx.Timeout(30.0, read=60.0)
CHUNK = 1 << 20
LARGEST_LIST = 16 * 1024 * 1024
PARTIAL = 206
# Consecutive failures without progress.
MAX_FAILURES = 3

# Receives the number of bytes downloaded so far.
OnProgress = Callable[[int], None]


class HubFile(Struct, frozen=True):
    """A file of a repository; `sha256` is empty for small files, for which the hub states none."""

    path: str
    size: int
    sha256: str


class Hub:
    """Client of a hub, used as a context manager."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        environ = os.environ if environ is None else environ
        self.address = environ.get("HF_ENDPOINT", "").strip().rstrip("/") or ADDRESS
        token = next((token for name in TOKENS if (token := environ.get(name, "").strip())), "")
        self._has_token = bool(token)
        headers = {"authorization": f"Bearer {token}"} if token else {}
        # Downloads must not be compressed: a range of compressed bytes cannot be resumed.
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
        """Return the files of a repository.

        Raises:
            ProviderError: It does not exist, access is denied, or the hub cannot be reached.
        """
        url = f"{self.address}/api/models/{quote(repository)}/tree/main?recursive=true"
        found: list[HubFile] = []
        while url:
            with self.open(repository, url) as response:
                found.extend(_files_in(response.url.host, _body(response)))
                url = response.links.get("next", {}).get("url", "")
        return found

    def fetch(self, repository: str, file: HubFile, target: Path, on_progress: OnProgress) -> None:
        """Download a file, resuming an earlier attempt; `target` exists only when it is complete.

        Raises:
            ConfigError: There is not enough disk space.
            ProviderError: The download failed, or its checksum is wrong.
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        # Named by content: a part of another version must not be resumed.
        part = target.with_name(f"{target.name}.{file.sha256[:12] or file.size}.part")
        lock = FileLock(f"{part}.lock")
        try:
            with lock.acquire(timeout=0):
                _check_disk_space(part, file)
                _Download(self, repository, file, part).run(on_progress)
                part.replace(target)
                Path(lock.lock_file).unlink(missing_ok=True)
        except Timeout as error:
            raise ConfigError(f"{file.path} is being pulled by another cinch") from error
        except OSError as error:
            raise ConfigError(f"{part} cannot be written: {error.strerror}; the partial download is kept") from error

    @contextmanager
    def open(self, repository: str, url: str, begin: int = 0) -> Generator[httpx.Response]:
        """Open a response; from byte `begin` on, if the hub supports ranges."""
        try:
            headers = {"range": f"bytes={begin}-"} if begin else {}
            with self._client.stream("GET", url, headers=headers) as response:
                if response.status_code >= 400:
                    raise self._error(repository, response)
                yield response
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise NetworkError(f"{self.address} cannot be reached: {_describe(error)}") from error
        except httpx.HTTPError as error:
            words = _describe(error)
            raise NetworkError(f"{self.address} closed the connection early; pull again to resume ({words})") from error

    def _error(self, repository: str, response: httpx.Response) -> ProviderError:
        status, code = response.status_code, response.headers.get("x-error-code", "")
        page = f"{self.address}/{repository}"
        if code == "RepoNotFound" or status == 404:
            return ModelNotFound(f"{repository} does not exist at {self.address}, or is private: export HF_TOKEN=…")
        if status in (401, 403):
            hint = "with the account of HF_TOKEN" if self._has_token else "and export HF_TOKEN=…"
            return AuthenticationFailed(f"{repository} requires access: request it at {page} {hint}")
        text = f"{self.address} returned {status} for {repository}"
        return NetworkError(text) if status >= 500 or status == 429 else RequestRejected(text)


class _Download:
    """Download of one file into its `part`."""

    def __init__(self, hub: Hub, repository: str, file: HubFile, part: Path) -> None:
        self._hub = hub
        self._repository = repository
        self._file = file
        self._part = part
        self._hash = hashlib.sha256()
        self._size = 0

    def run(self, on_progress: OnProgress) -> None:
        if self._part.exists():
            self._load_part()
            on_progress(self._size)
        failures = 0
        while self._size < self._file.size:
            before = self._size
            try:
                self._continue(on_progress)
            except NetworkError:
                failures = 0 if self._size > before else failures + 1
                if failures >= MAX_FAILURES:
                    raise
        if self._size > self._file.size or self._file.sha256 not in ("", self._hash.hexdigest()):
            self._part.unlink()
            raise StreamError(
                f"{self._file.path} is corrupt: the checksum differs from the hub's; it was deleted, pull it again"
            )

    def _load_part(self) -> None:
        """Read the part of an earlier attempt."""
        with self._part.open("rb") as left:
            while self._size <= self._file.size and (chunk := left.read(CHUNK)):
                self._count(chunk)
        if self._size > self._file.size:
            self._start_over()

    def _continue(self, on_progress: OnProgress) -> None:
        url = f"{self._hub.address}/{quote(self._repository)}/resolve/main/{quote(self._file.path)}"
        with self._hub.open(self._repository, url, self._size) as response:
            if self._size and response.status_code != PARTIAL:
                self._start_over()
            with self._part.open("ab") as part:
                for chunk in response.iter_raw():
                    part.write(chunk)
                    self._count(chunk)
                    on_progress(self._size)
        if self._size < self._file.size:
            raise NetworkError(
                f"{self._hub.address} closed the connection before the end of {self._file.path}; pull again to resume"
            )

    def _count(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        self._size += len(chunk)

    def _start_over(self) -> None:
        self._part.unlink()
        self._hash = hashlib.sha256()
        self._size = 0


def _describe(error: Exception) -> str:
    return plain(str(error)) or type(error).__name__


def _check_disk_space(part: Path, file: HubFile) -> None:
    wanted = file.size - (part.stat().st_size if part.exists() else 0)
    free = shutil.disk_usage(part.parent).free
    if wanted > free:
        raise ConfigError(
            f"not enough disk space for {file.path}: it needs {wanted / 1e9:.1f} GB, "
            f"and {part.parent} has {free / 1e9:.1f} GB free"
        )


def _body(response: httpx.Response) -> bytes:
    """Return the body of a small response, decompressed even if compression was not requested."""
    body = bytearray()
    try:
        decoder = Inflater(response.headers.get("content-encoding", ""))
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
        raise StreamError(f"{host} sent an invalid list of files") from error
    # They become local paths.
    return [file for file in files if _stays_inside(file.path)]


def _file(entry: Any) -> HubFile:
    stored: Any = entry.get("lfs") or {}
    return HubFile(str(entry["path"]), int(stored.get("size") or entry["size"]), str(stored.get("oid") or ""))


def _stays_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and parts[0] != "/" and ".." not in parts and "\\" not in path and "\0" not in path
