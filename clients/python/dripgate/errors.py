"""What this client raises, but for ValueError where an argument cannot be sent."""

from __future__ import annotations


class DripgateError(Exception):
    """Every error of this client. Survives pickling, as queues do it with the errors of their tasks."""


class LimiterUnavailableError(DripgateError):
    """No usable answer from Dripgate: it is away, too slow, over its own capacity, or something else answers in its place."""

    def __init__(self, message: str, reason: str, status: int | None = None, retry_after_ms: int | None = None) -> None:
        """reason: timeout, connection, status, answer, or closed (Dripgate's store is away and the vendor's onStoreFailure is
        closed: so in every failure mode); status: of the HTTP answer; retry_after_ms: what a 429 or 503 asked for."""
        super().__init__(message, reason, status, retry_after_ms)
        self.message = message
        self.reason = reason
        self.status = status
        self.retry_after_ms = retry_after_ms

    def __str__(self) -> str:
        return self.message


class RequestRefusedError(DripgateError):
    """Dripgate understood the request and refuses it: waiting does not help, in no failure mode."""

    def __init__(self, message: str, status: int, type: str) -> None:
        """type: of the problem, such as "/errors/bad-request"."""
        super().__init__(message, status, type)
        self.message = message
        self.status = status
        self.type = type

    def __str__(self) -> str:
        return self.message


class RateLimitExceededError(DripgateError):
    """The vendor's limit is used up, or the vendor itself said so. Put the job back with this delay; do not sleep in the worker."""

    def __init__(self, vendor: str, delay_ms: int, frozen_until: str | None, said_by: str) -> None:
        """delay_ms: at least 1; frozen_until: RFC 3339 UTC, None while the vendor is not frozen;
        said_by: "dripgate" (the call was not made) or "vendor" (it was made and refused)."""
        super().__init__(vendor, delay_ms, frozen_until, said_by)
        self.vendor = vendor
        self.delay_ms = delay_ms
        self.frozen_until = frozen_until
        self.said_by = said_by

    def __str__(self) -> str:
        return f"the limit of vendor '{self.vendor}' is used up: again in {self.delay_ms} ms"
