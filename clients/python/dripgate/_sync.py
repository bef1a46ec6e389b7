"""The client for threads: one instance per process, shared by its threads; a forked child dials anew."""

from __future__ import annotations

import os
import select
import socket
import ssl
import threading
import time
from types import TracebackType
from typing import Any, Callable, Mapping, Sequence, TypeVar

from . import _calls as calls
from ._http import Answer, AnswerReader, address_of, request_bytes
from .answers import OPEN_DECISION, OPEN_PERMIT, CheckEntry, Decision, Members, Observation, Permit, PublishEntry, Verdict
from .errors import DripgateError, LimiterUnavailableError
from .limits import CONNECTIONS_MAX, IDLE_CONNECTION_S, PUBLISH_ATTEMPTS_MAX, READ_BYTES

T = TypeVar("T")


def _timed_out(seconds: float) -> LimiterUnavailableError:
    return LimiterUnavailableError(f"Dripgate: no answer within {seconds} s", "timeout")


class _Deadline:
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise _timed_out(self._seconds)
        return left


class _Transport:
    """Kept connections, the latest first."""

    def __init__(self, url: str, ssl_context: ssl.SSLContext | None) -> None:
        self.address = address_of(url)
        self._tls = (ssl_context or ssl.create_default_context()) if self.address.tls else None
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[tuple[socket.socket, float]] = []
        self._slots = threading.BoundedSemaphore(CONNECTIONS_MAX)

    def send(self, call: calls.Call[T]) -> Answer:
        if self._process != os.getpid():  # the parent's connections are the parent's: two must not read from one
            for inherited, _ in self._idle:
                inherited.close()
            self._reset()
        deadline = _Deadline(call.timeout_s)
        slots = self._slots
        if not slots.acquire(timeout=deadline.left()):
            raise _timed_out(call.timeout_s)
        try:
            return self._exchange(call, deadline)
        except socket.timeout:
            raise _timed_out(call.timeout_s) from None
        except OSError as error:
            raise LimiterUnavailableError(f"Dripgate at {self.address.authority}: {error}", "connection") from error
        finally:
            slots.release()

    def _exchange(self, call: calls.Call[T], deadline: _Deadline) -> Answer:
        connection = self._reuse() or self._dial(deadline)
        keep = False
        try:
            connection.settimeout(deadline.left())
            connection.sendall(request_bytes(self.address, call.path, call.headers, call.body))
            reader = AnswerReader()
            answer = None
            while answer is None:
                connection.settimeout(deadline.left())
                answer = reader.feed(connection.recv(READ_BYTES))
            keep = reader.keep_alive
            return answer
        finally:
            if keep:
                with self._lock:
                    self._idle.append((connection, time.monotonic()))
            else:
                connection.close()

    def _reuse(self) -> socket.socket | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection, since = self._idle.pop()
            if time.monotonic() - since <= IDLE_CONNECTION_S and not readable(connection.fileno()):
                return connection
            connection.close()

    def _dial(self, deadline: _Deadline) -> socket.socket:
        connection = socket.create_connection((self.address.host, self.address.port), timeout=deadline.left())
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is None:
                return connection
            return self._tls.wrap_socket(connection, server_hostname=self.address.host)
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()


def readable(descriptor: int) -> bool:
    """Of a connection where nothing is asked: closed by the other side, or out of step."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


class Client:
    """failure_mode: of check, check_all, acquire and execute_with_rate_limit where Dripgate gives no usable answer: "closed" raises
    LimiterUnavailableError, "open" lets pass with degraded="open". timeout: seconds of check, refund, explain, acquire, observe;
    publish_timeout: of each attempt to publish. on_unavailable(error, operation): told whenever open decided or an observation was lost."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        failure_mode: str = "closed",
        timeout: float | None = None,
        publish_timeout: float | None = None,
        ssl_context: ssl.SSLContext | None = None,
        on_unavailable: calls.OnUnavailable | None = None,
    ) -> None:
        self._settings = calls.settings_of(token, failure_mode, timeout, publish_timeout, on_unavailable)
        self._transport = _Transport(url, ssl_context)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the kept connections."""
        self._transport.close()

    def check(
        self,
        attributes: calls.Attributes,
        *,
        cost: int | None = None,
        peek: bool | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        failure_mode: str | None = None,
    ) -> Decision:
        """One decision, allowed or not. Sent once: after a timeout Dripgate may have counted it."""
        request = {"attributes": attributes, "cost": cost, "peek": peek, "idempotencyKey": idempotency_key}
        return self._guarded("check", failure_mode, OPEN_DECISION, calls.check(self._settings, request, timeout))

    def check_all(
        self, requests: Sequence[Mapping[str, Any]], *, timeout: float | None = None, failure_mode: str | None = None
    ) -> list[CheckEntry]:
        """1 to 1,000 decisions in order, each of members as on the wire (attributes, cost, peek, idempotencyKey); one that is wrong
        in itself is a CheckRefusal in its place."""
        open_entries: list[CheckEntry] = [OPEN_DECISION] * len(requests)
        return self._guarded("check", failure_mode, open_entries, calls.check_all(self._settings, requests, timeout))

    def refund(self, decision_id: str, *, timeout: float | None = None) -> bool:
        """Gives back what an allowed check took; False: it was given back before, or its window is over."""
        return self._send(calls.refund(self._settings, decision_id, timeout))

    def explain(self, attributes: calls.Attributes, *, cost: int | None = None, timeout: float | None = None) -> Members:
        """Which policies match, why not the others, what is left; takes nothing. The answer as it is on the wire."""
        return self._send(calls.explain(self._settings, {"attributes": attributes, "cost": cost}, timeout))

    def acquire(
        self,
        vendor: str,
        attributes: calls.Attributes,
        *,
        cost: calls.Cost | None = None,
        timeout: float | None = None,
        failure_mode: str | None = None,
    ) -> Permit:
        """Asks for one call to a vendor. Give the permit back with observe, whatever becomes of the call."""
        return self._guarded("acquire", failure_mode, OPEN_PERMIT, calls.acquire(self._settings, vendor, attributes, cost, timeout))

    def observe(self, observed: calls.Observed, *, timeout: float | None = None) -> Observation:
        """Tells what the vendor answered: a 429 stops every worker. Sent once: a second one would count as another answer."""
        return self._send(calls.observe(self._settings, observed, timeout))

    def execute_with_rate_limit(
        self,
        vendor: str,
        attributes: calls.Attributes,
        call: Callable[[], T],
        *,
        cost: calls.Cost | None = None,
        actual_cost: Callable[[T], calls.Cost | None] | None = None,
        outcome: calls.OutcomeReader | None = None,
        timeout: float | None = None,
        failure_mode: str | None = None,
    ) -> T:
        """Calls the vendor within its limit and tells Dripgate what it answered. Never waits: where the limit is used up, or the vendor
        says so, it raises RateLimitExceededError with the delay for the worker's own queue. outcome reads status and headers of what the
        call returned or raised, where its library is none of those that outcome_of knows; actual_cost what it really took."""
        permit = self.acquire(vendor, attributes, cost=cost, timeout=timeout, failure_mode=failure_mode)
        if not permit.allowed:
            raise calls.denied(vendor, permit)
        settlement = calls.Settlement(vendor, attributes, permit, outcome)
        try:
            value = call()
        except BaseException as error:
            refusal = settlement.refusal(self._settle(settlement.of(error)))
            if refusal is not None and isinstance(error, Exception):
                raise refusal from error
            raise
        refusal = settlement.refusal(self._settle(settlement.of(value, actual_cost)))
        if refusal is not None:
            raise refusal
        return value

    def publish(
        self,
        stream: str,
        event: calls.Event,
        *,
        id: str | None = None,
        idempotent: bool | None = None,
        attributes: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        traceparent: str | None = None,
        timeout: float | None = None,
    ) -> Verdict:
        """Hands over one event: text and bytes as they are, anything else as JSON. It is on disk when this returns. Sent again after a lost
        answer only if it has an id, or is said to be idempotent (the stream's eventId template names it)."""
        sending = calls.Sending(id, idempotent, attributes, traceparent, timeout)
        return self._repeated(calls.publish(self._settings, stream, event, content_type, sending), sending)

    def publish_all(
        self,
        stream: str,
        events: Sequence[calls.Event],
        *,
        id: str | None = None,
        idempotent: bool | None = None,
        attributes: Mapping[str, str] | None = None,
        traceparent: str | None = None,
        timeout: float | None = None,
    ) -> list[PublishEntry]:
        """Hands over up to 50,000 events in one request; one answer for each, in order."""
        sending = calls.Sending(id, idempotent, attributes, traceparent, timeout)
        return self._repeated(calls.publish_all(self._settings, stream, events, sending), sending)

    def _send(self, call: calls.Call[T]) -> T:
        return call.read(self._transport.send(call))

    def _guarded(self, operation: str, failure_mode: str | None, when_open: T, call: calls.Call[T]) -> T:
        try:
            return self._send(call)
        except LimiterUnavailableError as error:
            if not self._settings.passes(error, failure_mode, operation):
                raise
            return when_open

    def _settle(self, observed: calls.Observed) -> Observation | None:
        # The call was made: its result must not be lost because Dripgate is away. The permit then returns with its lease.
        try:
            return self.observe(observed)
        except DripgateError as error:
            self._settings.tell(error, "observe")
            return None

    def _repeated(self, call: calls.Call[T], sending: calls.Sending) -> T:
        for attempt in range(1, PUBLISH_ATTEMPTS_MAX + 1):
            try:
                return self._send(call)
            except LimiterUnavailableError as error:
                wait = calls.wait_before_retry(attempt, error, sending.repeatable)
                if wait is None:
                    raise
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")
