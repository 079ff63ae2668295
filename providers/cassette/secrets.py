"""What must not stand in a cassette, and how it is taken out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from harness.messages import JsonObject

REMOVED = "[removed]"
# Shorter values are no keys, and would be found in every other word.
SHORTEST = 8
TELLING_HEADER = r"auth|api-?key|token$|secret|cookie|credential|signature|password"
# No secret, but whose they are: taken out of headers only.
PERSONAL_HEADER = r"organi[sz]ation|account|user-project|email"
TELLING_VARIABLE = r"(^|_)(API)?(KEY|TOKEN|SECRET|PASSWORD|PASSWD)S?(_|$)"
TELLING_QUERY = r"^(key|sig|code)$|api_?key|token|secret|password|signature|credential"


class Secrets:
    """Values that are taken out wherever they stand. More are learned from what each request says who it is."""

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
        """The same without them."""
        # The longest first: one may hold another.
        for value in sorted(self._values, key=len, reverse=True):
            data = data.replace(value, REMOVED.encode())
        return data

    def ends_in_prefix(self, data: bytes) -> bool:
        """Whether the data ends in the beginning of one of them."""
        return any(data.endswith(value[:length]) for value in self._values for length in range(1, len(value)))

    def learn_from(self, headers: Mapping[str, str]) -> None:
        """Learn what a request says to be let in."""
        for name, value in headers.items():
            if re.search(TELLING_HEADER, name, re.IGNORECASE):
                self.learn(value.removeprefix("Bearer "))

    def redacted_url(self, url: str) -> str:
        """An address without a name, a password and what its query tells in secret, which is learned."""
        parts = urlsplit(url)
        pairs: list[tuple[str, str]] = []
        for name, value in parse_qsl(parts.query, keep_blank_values=True):
            telling = re.search(TELLING_QUERY, name, re.IGNORECASE) is not None
            if telling:
                self.learn(value)
            pairs.append((name, REMOVED if telling else value))
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, urlencode(pairs, safe="[]"), ""))


class SecretStream:
    """Takes secrets out of a stream that may be cut in the middle of one; what may be the beginning of one waits."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._held: list[tuple[float, bytes]] = []

    def feed(self, at: float, chunk: bytes) -> list[tuple[float, bytes]]:
        """What can be told by now, with the time at which it came."""
        self._held.append((at, chunk))
        joined = b"".join(chunk for _, chunk in self._held)
        return [] if self._secrets.ends_in_prefix(joined) else self.finish()

    def finish(self) -> list[tuple[float, bytes]]:
        held, self._held = self._held, []
        joined = b"".join(chunk for _, chunk in held)
        plain = self._secrets.redacted(joined)
        return held if plain == joined else [(held[-1][0], plain)]


def redacted_headers(headers: Mapping[str, str]) -> JsonObject:
    """Headers without what tells who asks."""
    telling = f"{TELLING_HEADER}|{PERSONAL_HEADER}"
    return {
        name.lower(): REMOVED if re.search(telling, name, re.IGNORECASE) else value for name, value in headers.items()
    }


def secrets_in(environment: Mapping[str, str], key_variables: Iterable[str]) -> list[str]:
    """The values of variables that are known to hold keys, or are named as such are."""
    known = set(key_variables)
    return [
        value
        for name, value in environment.items()
        if name in known or (re.search(TELLING_VARIABLE, name.upper()) and not value.startswith(("/", "~")))
    ]
