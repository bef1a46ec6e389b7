"""Speaks the contract of /v1/acquire and /v1/observe (docs/http-api.md) with one fixed window per vendor in this process: for the tests
where no dripgate with these routes is at hand. Not a limiter: no store, no header forms but Retry-After in seconds."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from .fake_dripgate import FakeDripgate, Handler, Seen


@dataclass
class Bucket:
    window: int = 0
    used: int = 0
    frozen_until: float = 0.0  # s since the epoch


class ContractServer:
    def __init__(self, limit: int, window_s: float) -> None:
        self._limit = limit
        self._window_s = window_s
        self._buckets: dict[str, Bucket] = {}
        self._permits = 0
        self._fake = FakeDripgate(self._answer)
        self.url = self._fake.url
        self.stop = self._fake.stop

    def _answer(self, handler: Handler, seen: Seen, _count: int) -> None:
        with self._fake.lock:
            body = seen.json()
            answer = self._observe(body) if seen.path == "/v1/observe" else self._acquire(body)
        handler.answer(200, answer)

    def _bucket(self, vendor: str, now: float) -> Bucket:
        bucket = self._buckets.setdefault(vendor, Bucket())
        window = math.floor(now / self._window_s)
        if window != bucket.window:
            bucket.window, bucket.used = window, 0
        return bucket

    def _frozen(self, bucket: Bucket, now: float) -> str | None:
        if bucket.frozen_until <= now:
            return None
        until = datetime.fromtimestamp(bucket.frozen_until, timezone.utc)
        return until.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _observe(self, body: dict[str, Any]) -> dict[str, Any]:
        now = time.time()
        bucket = self._bucket(body["vendor"], now)
        refused = body.get("status") == 429
        if refused:
            bucket.frozen_until = max(bucket.frozen_until, now + float(body["headers"].get("retry-after", 1)))
        applied = ["freeze"] if refused else []
        return {"frozenUntil": self._frozen(bucket, now), "remainingTokens": self._limit - bucket.used, "applied": applied}

    def _acquire(self, body: dict[str, Any]) -> dict[str, Any]:
        now = time.time()
        bucket = self._bucket(body["vendor"], now)
        cost = body.get("cost", 1)
        frozen = self._frozen(bucket, now)
        allowed = frozen is None and bucket.used + cost <= self._limit
        thaw = bucket.frozen_until if frozen else (bucket.window + 1) * self._window_s
        wait = None if allowed or cost > self._limit else max(1, math.ceil((thaw - now) * 1000))
        if allowed:
            bucket.used += cost
            self._permits += 1
        return {
            "allowed": allowed,
            "id": f"permit-{self._permits}" if allowed else None,
            "remainingTokens": self._limit - bucket.used,
            "retryAfterMs": wait,
            "retryAfterSeconds": None if wait is None else math.ceil(wait / 1000),
            "frozenUntil": frozen,
            "degraded": None,
        }
