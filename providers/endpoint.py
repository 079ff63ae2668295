"""Where a preset's models are reached: the address, the key, and how both may be spoken of."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from providers.catalog import Preset, Secret

LOOPBACK = ("localhost", "127.0.0.1", "::1", "0.0.0.0")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address and the key for it; its repr never shows the key."""

    preset: Preset
    base_url: str
    secret: Secret | None = None

    @property
    def is_vendors_own(self) -> bool:
        """Whether this is the preset's own address and not another server that speaks the same dialect."""
        return self.base_url == self.preset.base_url

    @property
    def is_loopback(self) -> bool:
        return urlsplit(self.base_url).hostname in LOOPBACK

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

    def hide_key(self, text: str) -> str:
        """The text without the key: services like to quote it back."""
        return text.replace(self.secret.value, "[key]") if self.secret else text
