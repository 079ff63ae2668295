"""Model hub with Hugging Face's API: lists with checksums, files behind a redirect, ranges."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from fakes.local_http import Handler, LocalHttp


@dataclass
class HubServer(LocalHttp):
    """Context manager; `files` are those of the one `repository`, by path.

    `cut_after`: maximum bytes of a file per response. `states`: checksums reported instead of the real ones. `closed`:
    access restriction; `gated` is lifted by `token`. `page`: number of files per list.
    """

    files: dict[str, bytes]
    repository: str = "acme/tiny-GGUF"
    cut_after: int | None = None
    takes_ranges: bool = True
    states: dict[str, str] = field(default_factory=dict)
    closed: bool = False
    token: str = ""
    page: int = 1000
    status: int = 0
    asked: list[tuple[str, str]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__(_Handler)

    def entries(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = [{"type": "directory", "path": "more", "size": 0, "oid": "d" * 40}]
        for path, content in self.files.items():
            entry = {"type": "file", "path": path, "size": len(content), "oid": "0" * 40}
            checksum = self.states.get(path, hashlib.sha256(content).hexdigest())
            if path.endswith(".gguf"):
                entry["lfs"] = {"oid": checksum, "size": len(content), "pointerSize": 134}
            listed.append(entry)
        return listed

    @property
    def ranges(self) -> list[str]:
        """Requests for the files themselves."""
        return [wanted for path, wanted in self.asked if path.startswith("/cdn/")]


class _Handler(Handler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        hub, parts = self.server.fake, urlsplit(self.path)
        path = unquote(parts.path)
        hub.asked.append((path, self.headers.get("range", "")))
        if path.startswith("/cdn/"):
            self._give(hub.files[path.removeprefix("/cdn/")])
        elif not self._is_refused(path):
            if path.startswith("/api/models/"):
                self._list(int(parts.query.partition("cursor=")[2] or 0))
            else:
                # The bytes are on another host, which must not receive the token.
                at = path.removeprefix(f"/{hub.repository}/resolve/main/")
                self.send_body(302, b"", {"location": f"{hub.url.replace('127.0.0.1', 'localhost')}/cdn/{at}"})

    def _is_refused(self, path: str) -> bool:
        hub, shown = self.server.fake, self.headers.get("authorization", "")
        hub.tokens.add(shown)
        if hub.status:
            self.send_body(hub.status, b"busy")
        elif not path.removeprefix("/api/models").startswith(f"/{hub.repository}/"):
            self.send_body(401, b"{}", {"x-error-code": "RepoNotFound"})
        elif hub.closed and shown != f"Bearer {hub.token}":
            self.send_body(403, b"{}", {"x-error-code": "GatedRepo"})
        else:
            return False
        return True

    def _list(self, begin: int) -> None:
        hub = self.server.fake
        entries, end = hub.entries(), begin + hub.page
        url = f"{hub.url}/api/models/{hub.repository}/tree/main?recursive=true&cursor={end}"
        more = {"link": f'<{url}>; rel="next"'} if end < len(entries) else {}
        self.send_body(200, json.dumps(entries[begin:end]).encode(), more)

    def _give(self, content: bytes) -> None:
        hub = self.server.fake
        assert "authorization" not in self.headers
        begin = int(self.headers.get("range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        begin = begin if hub.takes_ranges else 0
        self.send_response(206 if begin else 200)
        self.send_header("content-length", str(len(content) - begin))
        self.end_headers()
        self.wfile.write(content[begin:] if hub.cut_after is None else content[begin:][: hub.cut_after])
        self.close_connection = hub.cut_after is not None
