"""Endpoint of a preset's models: address, key, and how both are displayed."""

from __future__ import annotations

import re
from functools import reduce
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec.structs import replace

from harness.errors import AuthenticationFailed
from harness.structs import Redacted
from http_client.addresses import is_loopback, shown_url
from providers.preset import Preset, Secret

if TYPE_CHECKING:
    from http_client.pool import Wire

SHORTEST_KEY = 8


class Endpoint(Redacted, frozen=True):
    """Address and key of a service; its repr never shows the key."""

    _hidden = ("wire", "session_token")

    preset: Preset
    base_url: str
    secret: Secret | None = None
    wire: Wire | None = None
    """Recording or replay; None uses the network directly."""

    session_token: str = ""
    """Token that accompanies temporary credentials, such as those of AWS."""

    @property
    def is_vendors_own(self) -> bool:
        """Return True if this is the preset's own address, not another server with the same protocol."""
        if self.preset.own_urls:
            return re.fullmatch(self.preset.own_urls, self.base_url) is not None
        return self.base_url == self.preset.base_url

    @property
    def is_loopback(self) -> bool:
        return is_loopback(urlsplit(self.base_url).hostname or "")

    @property
    def sends_bearer(self) -> bool:
        """Return True if the key is sent as `Authorization: Bearer`, by the variable that held it."""
        return self.secret is not None and self.secret.variable in self.preset.bearer_variables

    @property
    def shown_url(self) -> str:
        """Return the address without user name, password and query."""
        return shown_url(self.base_url)

    @property
    def bearer_header(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.secret.value}"} if self.secret else {}

    @property
    def key_headers(self) -> dict[str, str]:
        """Return the header with the key."""
        if self.secret is None or not self.preset.key_header or self.sends_bearer:
            return self.bearer_header
        return {self.preset.key_header: self.secret.value}

    def without_path(self, *paths: str) -> Endpoint:
        """Return the same endpoint without these ends of its base URL, which other programs include."""
        return replace(self, base_url=reduce(str.removesuffix, paths, self.base_url))

    def with_key(self, key: str) -> Endpoint:
        """Return the same endpoint with a program's own key.

        Raises:
            AuthenticationFailed: It is not a valid key.
        """
        key = key.strip()
        if not is_key(key):
            raise AuthenticationFailed(f"the key given for {self.preset.label} is empty or contains invalid characters")
        return replace(self, secret=Secret(key, "this program", self.secret.variable if self.secret else ""))

    def hide_key(self, text: str) -> str:
        """Return the text without the key, which services tend to quote, some of them encoded as JSON or as a URL.

        Only for complete texts: the beginning of a key that was cut off stays. Placeholders for local servers, such as
        `none` or `x`, are not secret and may be part of any word.
        """
        for value in (self.secret.value if self.secret else "", self.session_token):
            if len(value) >= SHORTEST_KEY:
                text = re.sub("".join(map(_written, value)), "[key]", text, flags=re.IGNORECASE)
        return text


def _written(letter: str) -> str:
    """Return a pattern for the ways to write a character of a key: plain, in JSON, in a URL, in HTML."""
    if letter.isalnum():
        return letter
    code = ord(letter)
    return rf"(?:\\?{re.escape(letter)}|%{code:02x}|\\u{code:04x}|&#(?:0*{code}|x0*{code:x});)"


def address_in(text: str, default_port: int | None) -> str:
    """Return the base URL in a variable; local servers give their address without a scheme, as in `0.0.0.0:1234`."""
    if not text or "://" in text or default_port is None:
        return text
    host = re.sub(r"^(0\.0\.0\.0|\[::\])?(?=:\d+$|$)", "127.0.0.1", text)
    return f"http://{host}" if re.search(r":\d+$", host) else f"http://{host}:{default_port}"


def is_key(text: str) -> bool:
    """Return True if a key can be sent in a header; an invalid one would be quoted in an exception of the HTTP
    client."""
    return re.fullmatch(r"[\x21-\x7e]+", text) is not None
