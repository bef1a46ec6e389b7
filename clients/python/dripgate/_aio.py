"""The client for asyncio: the calls of _calls over asyncio's streams."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from types import TracebackType
from typing import Any, Awaitable, Callable, Mapping, Sequence, TypeVar

from . import _calls as calls
from ._http import Answer, AnswerReader, address_of, request_bytes
from ._sync import readable
from .answers import OPEN_DECISION, OPEN_PERMIT, CheckEntry, Decision, Members, Observation, Permit, PublishEntry, Verdict
from .errors import DripgateError, LimiterUnavailableError
from .limits import CONNECTIONS_MAX, IDLE_CONNECTION_S, PUBLISH_ATTEMPTS_MAX, READ_BYTES

T = TypeVar("T")
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Transport:
    """Kept connections of one event loop, the latest first."""

    def __init__(self, url: str, ssl_context: ssl.SSLContext | None) -> None:
        self.address = address_of(url)
        self._tls = (ssl_context or ssl.create_default_context()) if self.address.tls else None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: list[tuple[_Streams, float]] = []
        self._waiting: asyncio.Semaphore | None = None

    def _semaphore(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if self._waiting is None or self._loop is not loop:  # connections of a loop that has ended went with it
            self._loop, self._idle, self._waiting = loop, [], asyncio.Semaphore(CONNECTIONS_MAX)
        return self._waiting

    async def send(self, call: calls.Call[T]) -> Answer:
        try:
            return await asyncio.wait_for(self._exchange(call), call.timeout_s)
        except asyncio.TimeoutError:
            raise LimiterUnavailableError(f"Dripgate: no answer within {call.timeout_s} s", "timeout") from None
        except OSError as error:
            raise LimiterUnavailableError(f"Dripgate at {self.address.authority}: {error}", "connection") from error

    async def _exchange(self, call: calls.Call[T]) -> Answer:
        async with self._semaphore():
            streams = self._reuse() or await self._dial()
            keep = False
            try:
                streams[1].write(request_bytes(self.address, call.path, call.headers, call.body))
                await streams[1].drain()
                reader = AnswerReader()
                answer = None
                while answer is None:
                    answer = reader.feed(await streams[0].read(READ_BYTES))
                keep = reader.keep_alive
                return answer
            finally:
                if keep:
                    self._idle.append((streams, time.monotonic()))
                else:
                    streams[1].close()

    def _reuse(self) -> _Streams | None:
        while self._idle:
            streams, since = self._idle.pop()
            fresh = time.monotonic() - since <= IDLE_CONNECTION_S and not streams[0].at_eof() and not streams[1].is_closing()
            if fresh and not readable(streams[1].get_extra_info("socket").fileno()):  # the loop may not have seen it yet
                return streams
            streams[1].close()
        return None

    async def _dial(self) -> _Streams:
        host = self.address.host if self._tls else None
        return await asyncio.open_connection(self.address.host, self.address.port, ssl=self._tls, server_hostname=host)

    async def close(self) -> None:
        idle, self._idle = self._idle, []
        for (_, writer), _ in idle:
            writer.close()
        for (_, writer), _ in idle:
            with contextlib.suppress(OSError):  # it is closed all the same
                await writer.wait_closed()


class AsyncClient:
    """As Client, for asyncio: an instance belongs to one event loop at a time; cancelling a call closes its connection.

    failure_mode: of check, check_all, acquire and execute_with_rate_limit where Dripgate gives no usable answer: "closed" raises
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

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the kept connections."""
        await self._transport.close()

    async def check(
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
        return await self._guarded("check", failure_mode, OPEN_DECISION, calls.check(self._settings, request, timeout))

    async def check_all(
        self, requests: Sequence[Mapping[str, Any]], *, timeout: float | None = None, failure_mode: str | None = None
    ) -> list[CheckEntry]:
        """1 to 1,000 decisions in order, each of members as on the wire (attributes, cost, peek, idempotencyKey); one that is wrong
        in itself is a CheckRefusal in its place."""
        open_entries: list[CheckEntry] = [OPEN_DECISION] * len(requests)
        return await self._guarded("check", failure_mode, open_entries, calls.check_all(self._settings, requests, timeout))

    async def refund(self, decision_id: str, *, timeout: float | None = None) -> bool:
        """Gives back what an allowed check took; False: it was given back before, or its window is over."""
        return await self._send(calls.refund(self._settings, decision_id, timeout))

    async def explain(self, attributes: calls.Attributes, *, cost: int | None = None, timeout: float | None = None) -> Members:
        """Which policies match, why not the others, what is left; takes nothing. The answer as it is on the wire."""
        return await self._send(calls.explain(self._settings, {"attributes": attributes, "cost": cost}, timeout))

    async def acquire(
        self,
        vendor: str,
        attributes: calls.Attributes,
        *,
        cost: calls.Cost | None = None,
        timeout: float | None = None,
        failure_mode: str | None = None,
    ) -> Permit:
        """Asks for one call to a vendor. Give the permit back with observe, whatever becomes of the call."""
        return await self._guarded("acquire", failure_mode, OPEN_PERMIT, calls.acquire(self._settings, vendor, attributes, cost, timeout))

    async def observe(self, observed: calls.Observed, *, timeout: float | None = None) -> Observation:
        """Tells what the vendor answered: a 429 stops every worker. Sent once: a second one would count as another answer."""
        return await self._send(calls.observe(self._settings, observed, timeout))

    async def execute_with_rate_limit(
        self,
        vendor: str,
        attributes: calls.Attributes,
        call: Callable[[], Awaitable[T]],
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
        permit = await self.acquire(vendor, attributes, cost=cost, timeout=timeout, failure_mode=failure_mode)
        if not permit.allowed:
            raise calls.denied(vendor, permit)
        settlement = calls.Settlement(vendor, attributes, permit, outcome)
        try:
            value = await call()
        except BaseException as error:
            refusal = settlement.refusal(await self._settle(settlement.of(error)))
            if refusal is not None and isinstance(error, Exception):
                raise refusal from error
            raise
        refusal = settlement.refusal(await self._settle(settlement.of(value, actual_cost)))
        if refusal is not None:
            raise refusal
        return value

    async def publish(
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
        return await self._repeated(calls.publish(self._settings, stream, event, content_type, sending), sending)

    async def publish_all(
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
        return await self._repeated(calls.publish_all(self._settings, stream, events, sending), sending)

    async def _send(self, call: calls.Call[T]) -> T:
        return call.read(await self._transport.send(call))

    async def _guarded(self, operation: str, failure_mode: str | None, when_open: T, call: calls.Call[T]) -> T:
        try:
            return await self._send(call)
        except LimiterUnavailableError as error:
            if not self._settings.passes(error, failure_mode, operation):
                raise
            return when_open

    async def _settle(self, observed: calls.Observed) -> Observation | None:
        # The call was made: its result must not be lost because Dripgate is away. The permit then returns with its lease.
        try:
            return await self.observe(observed)
        except DripgateError as error:
            self._settings.tell(error, "observe")
            return None

    async def _repeated(self, call: calls.Call[T], sending: calls.Sending) -> T:
        for attempt in range(1, PUBLISH_ATTEMPTS_MAX + 1):
            try:
                return await self._send(call)
            except LimiterUnavailableError as error:
                wait = calls.wait_before_retry(attempt, error, sending.repeatable)
                if wait is None:
                    raise
            await asyncio.sleep(wait)
        raise AssertionError("the last attempt returns or raises")
