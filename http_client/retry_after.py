"""Delay that a service requests before a retry; each uses its own header or field and unit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

LONGEST_BODY = 4096

# In text (`Please try again in 1m30.5s`, `120ms`) and as a field of the body (`"retryDelay": "7s"`).
IN_TEXT = r"(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?(?:ms|h|m|s)(?![a-z]))+|\d+(?:\.\d+)? seconds?)"
FIELD = r'"retryDelay": *"(\d+(?:\.\d+)?s)"|"resets_in_seconds": *(\d+)'
# A header that a gateway copied into the body: milliseconds since 1970.
STAMP = r'"X-RateLimit-Reset": *"?(\d{10,13})'

SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
LATEST = 10_000_000_000
"""Seconds since 1970, in the year 2286: larger numbers are milliseconds."""


def retry_delay(headers: Mapping[str, str], body: str) -> float | None:
    """Return the seconds to wait, from the most explicit source; None if absent. Header names are in lower
    case."""
    explicit = retry_after(headers)
    if explicit is not None:
        return explicit
    # A limit in the past says nothing about the next one.
    return _in_body(body[:LONGEST_BODY]) or _until_reset(headers) or None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds in `Retry-After`: a number, milliseconds or a date."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers["retry-after"].strip()
    except (KeyError, ValueError):
        return None
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    # Imported here: dates are rare, and the parser is slow to import.
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return _from_now(moment)


def _in_body(body: str) -> float | None:
    if field := re.search(FIELD, body):
        return _seconds(field[1] or field[2])
    if stamp := re.search(STAMP, body, re.IGNORECASE):
        return _seconds(stamp[1])
    in_text = re.search(IN_TEXT, body, re.IGNORECASE)
    return _seconds(re.sub(r" seconds?$", "s", in_text[1].lower())) if in_text else None


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Return the latest reset of the limits that are used up."""
    waits: list[float] = []
    for name, value in headers.items():
        if limit := re.fullmatch(r"((?:x|anthropic)-ratelimit-)(.+-)?reset(-.+)?", name):
            left = headers.get(f"{limit[1]}{limit[2] or ''}remaining{limit[3] or ''}", "0").strip()
            if left in ("0", "") and (wait := _seconds(value.strip())) is not None:
                waits.append(wait)
    return max(waits, default=None)


def _seconds(value: str) -> float | None:
    """Parse `12`, `6m0s`, `120ms`, a time since 1970, or a date such as `2026-11-22T04:00:00Z`."""
    if re.fullmatch(r"\d+(\.\d+)?", value):
        number = float(value)
        if number > LATEST:
            number /= 1000
        return max(0.0, number - datetime.now(UTC).timestamp()) if number > 1_000_000_000 else number
    if re.fullmatch(r"(\d+(\.\d+)?(ms|[smhd]))+", value):
        return sum(float(count) * SECONDS[unit] for count, unit in re.findall(r"(\d+(?:\.\d+)?)(ms|[smhd])", value))
    try:
        return _from_now(datetime.fromisoformat(value))
    except ValueError:
        return None


def _from_now(moment: datetime) -> float:
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
