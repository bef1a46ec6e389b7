"""What a call to a vendor came to, read from what its library returned or raised."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from math import ceil
from typing import Any, Iterable, Mapping, Union

from .limits import OBSERVED_HEADER_BYTES_MAX, OBSERVED_HEADERS_MAX

VendorHeaders = Mapping[str, Union[str, "list[str]"]]

# Only these leave the process: the vendor's other headers may hold cookies and names.
_SPEAKS_OF_LIMITS = re.compile(r"limit|retry-after|^date$|^age$", re.IGNORECASE)
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


@dataclass(frozen=True)
class Outcome:
    """status: None where the vendor did not answer."""

    status: int | None = None
    headers: VendorHeaders = field(default_factory=dict)


def _member(value: object, name: str) -> Any:
    """None where it is not there, or cannot be had: a stranger's object must not stop us from giving the permit back."""
    try:
        return getattr(value, name, None)
    except Exception:
        return None


def _pairs(headers: Any) -> Iterable[tuple[object, object]]:
    items = _member(headers, "items")
    return items() if callable(items) else ()


def limit_headers(headers: Any) -> VendorHeaders:
    """Those headers that speak of limits, in small letters, bounded. Takes what mappings, requests, httpx, aiohttp have."""
    found: dict[str, list[str]] = {}
    size = 0
    for name, value in _pairs(headers):
        if not isinstance(name, str) or not _SPEAKS_OF_LIMITS.search(name):
            continue
        values = [str(one) for one in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(one, (str, int, float))]
        more = len(name) + sum(len(one.encode("utf-8", "replace")) for one in values)
        known = name.lower() in found
        if not values or size + more > OBSERVED_HEADER_BYTES_MAX or (len(found) >= OBSERVED_HEADERS_MAX and not known):
            continue
        size += more
        found.setdefault(name.lower(), []).extend(values)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _status(value: object) -> int | None:
    for name in ("status_code", "status", "code"):
        status = _member(value, name)
        if isinstance(status, int) and 100 <= status <= 599:
            return int(status)
    return None


def outcome_of(value: object) -> Outcome:
    """Of an answer of requests, httpx, aiohttp or http.client, of urllib's HTTPError, or of an error that carries a response."""
    response = _member(value, "response")
    status = _status(value)
    if status is None and response is not None:
        return Outcome(_status(response), limit_headers(_member(response, "headers")))
    headers = _member(value, "headers") or _member(response, "headers")
    return Outcome(status, limit_headers(headers))


def is_rate_limited(outcome: Outcome) -> bool:
    """429, or 503 with Retry-After: the vendor counts the call as one too many."""
    return outcome.status == 429 or (outcome.status == 503 and "retry-after" in outcome.headers)


def retry_after_ms(outcome: Outcome, now: datetime) -> int | None:
    """The vendor's own Retry-After, rounded up; None where none can be read. For where Dripgate could not be asked: it reads every form."""
    value = outcome.headers.get("retry-after", "")
    text = (value if isinstance(value, str) else value[0]).strip()
    if _SECONDS.fullmatch(text):
        return max(1, ceil(float(text) * 1000))
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    return max(1, ceil((date - now).total_seconds() * 1000))
