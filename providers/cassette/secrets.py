"""Removal of secrets from cassettes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from harness.messages import JsonObject

REMOVED = "[removed]"
# Shorter values are not keys and would match ordinary text.
SHORTEST = 8
SECRET_HEADER = r"auth|api-?key|token$|secret|cookie|credential|signature|password"
# Not secret but personal: removed from headers only.
PERSONAL_HEADER = r"organi[sz]ation|account|user-project|email"
SECRET_VARIABLE = r"(^|_)(API)?(KEY|TOKEN|SECRET|PASSWORD|PASSWD)S?(_|$)"
SECRET_QUERY = r"^(key|sig|code)$|api_?key|token|secret|password|signature|credential"


class Secrets:
    """Values that are removed wherever they occur. More are learned from the headers of each request."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: set[bytes] = set()
        for value in values:
            self.learn(value)

    def __repr__(self) -> str:
        return f"Secrets({len(self._values)})"

    def learn(self, value: str) -> None:
        value = value.strip()
        if len(value) >= SHORTEST:
            written = (value, json.dumps(value)[1:-1], quote(value, safe=""))
            self._values.update(each.encode() for each in written)

    def redacted(self, data: bytes) -> bytes:
        """Return the data without the secrets."""
        # The longest first: one may contain another.
        for value in sorted(self._values, key=len, reverse=True):
            data = data.replace(value, REMOVED.encode())
        return data

    def ends_in_prefix(self, data: bytes) -> bool:
        """Return True if the data ends with the beginning of a secret."""
        return any(data.endswith(value[:length]) for value in self._values for length in range(1, len(value)))

    def learn_from(self, headers: Mapping[str, str]) -> None:
        """Learn the credentials in the headers of a request."""
        for name, value in headers.items():
            if re.search(SECRET_HEADER, name, re.IGNORECASE):
                self.learn(value.removeprefix("Bearer "))

    def redacted_url(self, url: str) -> str:
        """Return a URL without user name, password and secret query parameters, which are learned."""
        parts = urlsplit(url)
        pairs: list[tuple[str, str]] = []
        for name, value in parse_qsl(parts.query, keep_blank_values=True):
            is_secret = re.search(SECRET_QUERY, name, re.IGNORECASE) is not None
            if is_secret:
                self.learn(value)
            pairs.append((name, REMOVED if is_secret else value))
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, urlencode(pairs, safe="[]"), ""))


class SecretStream:
    """Removes secrets from a stream that may be cut inside one; a possible beginning of a secret is held back."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._held: list[tuple[float, bytes]] = []

    def feed(self, at: float, chunk: bytes) -> list[tuple[float, bytes]]:
        """Return the chunks that can be written by now, with their times."""
        self._held.append((at, chunk))
        joined = b"".join(chunk for _, chunk in self._held)
        return [] if self._secrets.ends_in_prefix(joined) else self.finish()

    def finish(self) -> list[tuple[float, bytes]]:
        held, self._held = self._held, []
        joined = b"".join(chunk for _, chunk in held)
        plain = self._secrets.redacted(joined)
        return held if plain == joined else [(held[-1][0], plain)]


def redacted_headers(headers: Mapping[str, str]) -> JsonObject:
    """Return the headers without credentials and personal data."""
    is_secret = f"{SECRET_HEADER}|{PERSONAL_HEADER}"
    return {
        name.lower(): REMOVED if re.search(is_secret, name, re.IGNORECASE) else value for name, value in headers.items()
    }


def secrets_in(environment: Mapping[str, str], key_variables: Iterable[str]) -> list[str]:
    """Return the values of variables that are known to hold keys, or are named like keys."""
    known = set(key_variables)
    return [
        value
        for name, value in environment.items()
        if name in known or (re.search(SECRET_VARIABLE, name.upper()) and not value.startswith(("/", "~")))
    ]
