"""Where a preset's models are reached: the address, the key, and how both may be spoken of."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field, replace
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit, urlunsplit

from harness.errors import AuthenticationFailed
from harness.lazy_dataclass import dataclass
from providers.catalog import Preset, Secret

if TYPE_CHECKING:
    import httpx

LOOPBACK = ("localhost", "127.0.0.1", "::1", "0.0.0.0")
SHORTEST_KEY = 8


class Wire(Protocol):
    """Stands between a provider and the network: records what passes, or plays what was recorded."""

    def client(self, build: Callable[[], httpx.AsyncClient]) -> httpx.AsyncClient:
        """The client to use; `build` makes the usual one."""
        ...


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address and the key for it; its repr never shows the key. Without a `wire`, there is only the network.

    `session_token`: what goes along with a key that is only lent, as those of AWS mostly are.
    """

    preset: Preset
    base_url: str
    secret: Secret | None = None
    wire: Wire | None = field(default=None, repr=False, compare=False)
    session_token: str = field(default="", repr=False, compare=False)

    @property
    def is_vendors_own(self) -> bool:
        """Whether this is the preset's own address and not another server that speaks the same dialect."""
        if self.preset.own_urls:
            return re.fullmatch(self.preset.own_urls, self.base_url) is not None
        return self.base_url == self.preset.base_url

    @property
    def is_loopback(self) -> bool:
        return is_loopback(urlsplit(self.base_url).hostname or "")

    @property
    def is_encrypted(self) -> bool:
        return self.base_url.startswith("https:")

    @property
    def sends_bearer(self) -> bool:
        """Whether the key is a token of the kind that goes into `Authorization`, by the variable that held it."""
        return self.secret is not None and self.secret.variable in self.preset.bearer_variables

    @property
    def shown_url(self) -> str:
        """The address without a user name, a password or a query."""
        parts = urlsplit(self.base_url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "", ""))

    @property
    def bearer_header(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.secret.value}"} if self.secret else {}

    @property
    def key_headers(self) -> dict[str, str]:
        """The key where the service looks for it."""
        if self.secret is None or not self.preset.key_header or self.sends_bearer:
            return self.bearer_header
        return {self.preset.key_header: self.secret.value}

    def with_key(self, key: str) -> Endpoint:
        """The same address with a program's own key, sent as this one's is.

        Raises:
            AuthenticationFailed: it is no key.
        """
        key = key.strip()
        if not is_key(key):
            raise AuthenticationFailed(f"the key given for {self.preset.label} is empty or has characters no key has")
        return replace(self, secret=Secret(key, "this program", self.secret.variable if self.secret else ""))

    def hide_key(self, text: str) -> str:
        """The text without the key: services like to quote it back, some as JSON or a URL writes it.

        For whole texts: where one was cut in the middle of the key, its beginning stays. What stands in for a key, such
        as `none` or `x` before a server of one's own, is no secret and may be part of any word.
        """
        for value in (self.secret.value if self.secret else "", self.session_token):
            if len(value) >= SHORTEST_KEY:
                text = re.sub("".join(map(_written, value)), "[key]", text, flags=re.IGNORECASE)
        return text


def _written(letter: str) -> str:
    """A pattern for the ways in which a letter of a key is written: as it is, in JSON, in a URL, on a web page."""
    if letter.isalnum():
        return letter
    code = ord(letter)
    return rf"(?:\\?{re.escape(letter)}|%{code:02x}|\\u{code:04x}|&#(?:0*{code}|x0*{code:x});)"


def is_loopback(host: str) -> bool:
    """Whether it is this machine."""
    return host in LOOPBACK or host.endswith(".localhost") or re.fullmatch(r"127\.\d+\.\d+\.\d+", host) is not None


def address_in(text: str, usual_port: int | None) -> str:
    """The base URL a variable names; servers of one's own name their address without a scheme, as in `0.0.0.0:1234`."""
    if not text or "://" in text or usual_port is None:
        return text
    host = re.sub(r"^(0\.0\.0\.0|\[::\])?(?=:\d+$|$)", "127.0.0.1", text)
    return f"http://{host}" if re.search(r":\d+$", host) else f"http://{host}:{usual_port}"


def is_key(text: str) -> bool:
    """Whether it can be sent in a header; what cannot would be quoted in somebody else's error."""
    return re.fullmatch(r"[\x21-\x7e]+", text) is not None
