"""Every call without I/O: what is sent, how its answer is read, when it may be sent again. Client and AsyncClient only carry it."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from math import ceil
from typing import Any, Callable, Generic, Mapping, Sequence, TypeVar, Union

from . import answers
from ._http import Answer, checked_headers
from ._outcome import Outcome, is_rate_limited, outcome_of, retry_after_ms
from .answers import Observation, Permit
from .errors import DripgateError, LimiterUnavailableError, RateLimitExceededError, RequestRefusedError
from .limits import (
    CHECK_TIMEOUT_S,
    CHECKS_MAX,
    EVENT_BYTES_MAX,
    EVENTS_MAX,
    PUBLISH_ATTEMPTS_MAX,
    PUBLISH_BACKOFF_S,
    PUBLISH_BYTES_MAX,
    PUBLISH_TIMEOUT_S,
    PUBLISH_WAIT_S_MAX,
    STATUS_OF_A_RESULT,
    STATUS_OF_AN_ERROR,
    TIMEOUT_S_MAX,
    VENDOR_DELAY_MS,
)

T = TypeVar("T")
Attributes = Mapping[str, Union[str, int, bool]]
Cost = Union[int, Mapping[str, int]]
Event = Union[str, bytes, Mapping[str, Any], Sequence[Any]]
OnUnavailable = Callable[[LimiterUnavailableError, str], None]
OutcomeReader = Callable[[object], Outcome]

_STREAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Call(Generic[T]):
    path: str
    headers: Mapping[str, str]
    body: bytes
    timeout_s: float
    read: Callable[[Answer], T]


@dataclass(frozen=True)
class Settings:
    """Of one client."""

    token: str | None
    failure_mode: str
    timeout_s: float
    publish_timeout_s: float
    on_unavailable: OnUnavailable | None

    def passes(self, error: LimiterUnavailableError, failure_mode: str | None, operation: str) -> bool:
        """Whether failure mode open decides; the hook is told."""
        if _mode(failure_mode or self.failure_mode) != "open" or error.reason == "closed":
            return False
        self.tell(error, operation)
        return True

    def tell(self, error: DripgateError, operation: str) -> None:
        if self.on_unavailable is None:
            return
        if not isinstance(error, LimiterUnavailableError):
            error = LimiterUnavailableError(str(error), "status")
        self.on_unavailable(error, operation)

    def headers(self, more: Mapping[str, str]) -> dict[str, str]:
        credentials = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        return {**more, **credentials}


def settings_of(
    token: str | None, failure_mode: str, timeout: float | None, publish_timeout: float | None, hook: OnUnavailable | None
) -> Settings:
    if token is not None and not re.fullmatch(r"[\x21-\x7e]+", token):
        raise ValueError("token: accepted: printable ASCII without blanks")
    own = CHECK_TIMEOUT_S if timeout is None else timeout
    publishing = PUBLISH_TIMEOUT_S if publish_timeout is None else publish_timeout
    return Settings(token, _mode(failure_mode), _timeout(own), _timeout(publishing), hook)


def _mode(mode: str) -> str:
    if mode not in ("open", "closed"):
        raise ValueError(f"failure_mode '{mode}'; accepted: open, closed")
    return mode


def _timeout(seconds: float) -> float:
    if not 0 < seconds <= TIMEOUT_S_MAX:
        raise ValueError(f"a timeout of {seconds} s; accepted: more than 0, at most {TIMEOUT_S_MAX}")
    return seconds


def _ask(settings: Settings, path: str, body: Mapping[str, Any], timeout: float | None, read: Callable[[Answer], T]) -> Call[T]:
    present = {name: value for name, value in body.items() if value is not None}
    seconds = settings.timeout_s if timeout is None else _timeout(timeout)
    return Call(path, settings.headers({"Content-Type": "application/json"}), json.dumps(present).encode(), seconds, read)


def check(settings: Settings, request: Mapping[str, Any], timeout: float | None) -> Call[answers.Decision]:
    return _ask(settings, "/v1/check", request, timeout, answers.read_decision)


def check_all(settings: Settings, requests: Sequence[Mapping[str, Any]], timeout: float | None) -> Call[list[answers.CheckEntry]]:
    if not 1 <= len(requests) <= CHECKS_MAX:
        raise ValueError(f"{len(requests)} checks; accepted: 1 to {CHECKS_MAX} at once")
    checks = [dict(one) for one in requests]
    return _ask(settings, "/v1/check", {"checks": checks}, timeout, lambda answer: answers.read_decisions(answer, len(checks)))


def refund(settings: Settings, decision_id: str, timeout: float | None) -> Call[bool]:
    return _ask(settings, "/v1/refund", {"id": decision_id}, timeout, answers.read_refunded)


def explain(settings: Settings, request: Mapping[str, Any], timeout: float | None) -> Call[answers.Members]:
    return _ask(settings, "/v1/explain", request, timeout, answers.read_object)


def acquire(settings: Settings, vendor: str, attributes: Attributes, cost: Cost | None, timeout: float | None) -> Call[Permit]:
    return _ask(settings, "/v1/acquire", {"vendor": vendor, "attributes": attributes, "cost": cost}, timeout, answers.read_permit)


@dataclass(frozen=True)
class Observed:
    """What observe tells. permit_id: it is given back. sent_at: when the call began. cost: what it really took."""

    vendor: str
    attributes: Attributes
    outcome: Outcome
    permit_id: str | None = None
    sent_at: datetime | None = None
    cost: Cost | None = None


def observe(settings: Settings, said: Observed, timeout: float | None) -> Call[Observation]:
    sent_at = None
    if said.sent_at is not None:
        sent_at = said.sent_at.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    body = {
        "vendor": said.vendor,
        "attributes": said.attributes,
        "id": said.permit_id,
        "status": said.outcome.status,
        "headers": said.outcome.headers,
        "sentAt": sent_at,
        "cost": said.cost,
    }
    return _ask(settings, "/v1/observe", body, timeout, answers.read_observation)


def denied(vendor: str, permit: Permit) -> DripgateError:
    if permit.retry_after_ms is not None:
        return RateLimitExceededError(vendor, max(1, permit.retry_after_ms), permit.frozen_until, "dripgate")
    detail = f"vendor '{vendor}': waiting does not help, the cost is over the limit"
    return RequestRefusedError(detail, 429, "/errors/cost-exceeds-limit")


class Settlement:
    """From a permit to what is told of the call that it allowed."""

    def __init__(self, vendor: str, attributes: Attributes, permit: Permit, outcome: OutcomeReader | None) -> None:
        self._vendor = vendor
        self._attributes = attributes
        self._permit = permit
        self._read = outcome or outcome_of
        self._sent_at = datetime.now(timezone.utc)
        self._outcome = Outcome()
        self.reader_error: Exception | None = None

    def of(self, result: T, actual_cost: Callable[[T], Cost | None] | None = None) -> Observed:
        """Whatever the readers raise, there is something to tell: the permit is given back."""
        cost = None
        try:
            self._outcome = self._read(result)
            cost = None if actual_cost is None else actual_cost(result)
        except Exception as error:  # the caller's own code: raised again after settling
            self.reader_error = error
        told = self._outcome
        if told.status is None:
            told = Outcome(STATUS_OF_AN_ERROR if isinstance(result, BaseException) else STATUS_OF_A_RESULT, told.headers)
        return Observed(self._vendor, self._attributes, told, self._permit.id, self._sent_at, cost)

    def refusal(self, observation: Observation | None) -> Exception | None:
        """What to raise in place of the call's result, if anything."""
        if self.reader_error is not None:
            return self.reader_error
        if not (is_rate_limited(self._outcome) or (observation is not None and observation.refused)):
            return None
        now = datetime.now(timezone.utc)
        delay, frozen_until = None, None
        if observation is not None:
            frozen_until, delay = observation.frozen_until, observation.retry_after_ms
            if delay is None and frozen_until is not None:
                delay = ceil((_time(frozen_until) - now).total_seconds() * 1000)
        if delay is None:
            delay = retry_after_ms(self._outcome, now) or VENDOR_DELAY_MS
        return RateLimitExceededError(self._vendor, max(1, delay), frozen_until, "vendor")


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise LimiterUnavailableError(f"frozenUntil '{text[:64]}' is no time", "answer") from None


@dataclass(frozen=True)
class Sending:
    """How events are sent. id: of the event; of a batch, line n is <id>-<n> unless the stream's eventId names it.
    idempotent: may be sent again after a lost answer; default: whether there is an id."""

    id: str | None
    idempotent: bool | None
    attributes: Mapping[str, str] | None
    traceparent: str | None
    timeout: float | None

    @property
    def repeatable(self) -> bool:
        return self.id is not None if self.idempotent is None else self.idempotent


def _bytes(event: Event) -> bytes:
    if isinstance(event, (bytes, bytearray, memoryview)):
        body = bytes(event)
    elif isinstance(event, str):
        body = event.encode()
    else:
        body = json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()
    if not 1 <= len(body) <= EVENT_BYTES_MAX:
        raise ValueError(f"an event of {len(body)} bytes; accepted: 1 to {EVENT_BYTES_MAX}")
    return body


def _publish(settings: Settings, stream: str, body: bytes, content_type: str, sending: Sending, read: Callable[[Answer], T]) -> Call[T]:
    if not _STREAM.fullmatch(stream):
        raise ValueError(f"stream '{stream}'; accepted: 1 to 64 letters, digits, '.', '_', '-'")
    headers = {"Content-Type": content_type}
    if sending.id is not None:
        headers["Dripgate-Id"] = sending.id
    if sending.traceparent is not None:
        headers["traceparent"] = sending.traceparent
    headers.update({f"Dripgate-Attr-{name}": value for name, value in (sending.attributes or {}).items()})
    seconds = settings.publish_timeout_s if sending.timeout is None else _timeout(sending.timeout)
    return Call(f"/v1/streams/{stream}/events", settings.headers(checked_headers(headers)), body, seconds, read)


def publish(settings: Settings, stream: str, event: Event, content_type: str, sending: Sending) -> Call[answers.Verdict]:
    return _publish(settings, stream, _bytes(event), content_type, sending, answers.read_verdict)


def publish_all(settings: Settings, stream: str, events: Sequence[Event], sending: Sending) -> Call[list[answers.PublishEntry]]:
    """Dripgate skips blank lines and ends an event at a newline: such events are refused here."""
    if not 1 <= len(events) <= EVENTS_MAX:
        raise ValueError(f"{len(events)} events; accepted: 1 to {EVENTS_MAX} at once")
    lines = [_bytes(event) for event in events]
    for number, line in enumerate(lines, 1):
        if b"\n" in line or not line.strip():
            raise ValueError(f"event {number} of the batch is blank or has a newline; accepted: one line each")
    body = b"\n".join(lines) + b"\n"
    if len(body) > PUBLISH_BYTES_MAX:
        raise ValueError(f"{len(body)} bytes of events; accepted: {PUBLISH_BYTES_MAX} at once")
    return _publish(settings, stream, body, "application/x-ndjson", sending, lambda answer: answers.read_verdicts(answer, len(lines)))


def wait_before_retry(attempt: int, error: LimiterUnavailableError, repeatable: bool) -> float | None:
    """Seconds before another attempt, None: give up. 429 stored nothing, so it is safe for every event; after anything else the event may
    be stored, so it takes an id."""
    passing = error.reason in ("timeout", "connection") or error.status in (429, 502, 503, 504)
    if attempt >= PUBLISH_ATTEMPTS_MAX or not passing or not (repeatable or error.status == 429):
        return None
    backoff = PUBLISH_BACKOFF_S * 2 ** (attempt - 1) * (0.5 + random.random() / 2)  # noqa: S311 - jitter
    wait = max(backoff, (error.retry_after_ms or 0) / 1000)
    return wait if wait <= PUBLISH_WAIT_S_MAX else None
