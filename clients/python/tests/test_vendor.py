"""acquire, observe and execute_with_rate_limit."""

from __future__ import annotations

import pickle
import unittest
from datetime import datetime, timezone
from email.message import Message
from io import BytesIO
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError

from dripgate import (
    DripgateError,
    LimiterUnavailableError,
    Outcome,
    RateLimitExceededError,
    RequestRefusedError,
    limit_headers,
    outcome_of,
)
from dripgate._outcome import retry_after_ms

from .support.both import ClientCase, of_both
from .support.fake_dripgate import Behaviour, FakeDripgate, Handler, Seen
from .support.vendor_site import start_vendor_site

HOUR_MS = 3_600_000
PORTAL = {"portal": "42"}
PERMIT = {"allowed": True, "id": "p-1", "remainingTokens": 9, "retryAfterMs": None, "frozenUntil": None, "degraded": None}


def response(status: int, **headers: str) -> SimpleNamespace:
    """As requests and httpx answer."""
    return SimpleNamespace(status_code=status, headers={name.replace("_", "-"): value for name, value in headers.items()})


def calm(handler: Handler, _seen: Seen, _count: int) -> None:
    handler.answer(200, {"frozenUntil": None, "remainingTokens": 9, "applied": []})


def lost(handler: Handler, _seen: Seen, _count: int) -> None:
    handler.raw(b"")


def forbidden() -> Any:
    raise AssertionError("the vendor was called")


class Vendor(ClientCase):
    def limited(self, capacity: int, refill: str) -> Any:
        """Two clients of one Dripgate."""
        site = start_vendor_site(f"{{ capacity: {capacity}, {refill}: {capacity} }}", capacity, 3600)
        self.addCleanup(site.stop)
        return self.client(site.url), self.client(site.url)

    def permitting(self, observation: Behaviour, **options: Any) -> tuple[FakeDripgate, Any]:
        def behaviour(handler: Handler, seen: Seen, count: int) -> None:
            if seen.path == "/v1/observe":
                observation(handler, seen, count)
            else:
                handler.answer(200, PERMIT)

        fake = FakeDripgate(behaviour)
        self.addCleanup(fake.stop)
        return fake, self.client(fake.url, **options)

    def settled(self, fake: FakeDripgate) -> list[dict[str, Any]]:
        return [one.json() for one in fake.seen if one.path == "/v1/observe"]

    def exceeded(self, client: Any, vendor: str, call: Any, **options: Any) -> RateLimitExceededError:
        with self.assertRaises(RateLimitExceededError) as raised:
            client.execute_with_rate_limit(vendor, PORTAL, call, **options)
        return raised.exception

    def test_as_many_calls_as_the_limit_allows_are_made_the_next_one_is_not_and_says_when(self) -> None:
        client, _ = self.limited(3, "refillPerHour")
        self.assertEqual([client.execute_with_rate_limit("hubspot", PORTAL, lambda: 7) for _ in range(3)], [7, 7, 7])
        error = self.exceeded(client, "hubspot", forbidden)
        self.assertTrue(1 <= error.delay_ms <= HOUR_MS)
        self.assertEqual((error.vendor, error.said_by), ("hubspot", "dripgate"))

    def test_a_429_of_the_vendor_becomes_rate_limit_exceeded_and_stops_every_other_client(self) -> None:
        client, another = self.limited(100, "refillPerSecond")
        error = self.exceeded(client, "hubspot", lambda: response(429, Retry_After="30"))
        self.assertTrue(25_000 < error.delay_ms <= 30_000, error.delay_ms)
        self.assertEqual(error.said_by, "vendor")
        error = self.exceeded(another, "hubspot", forbidden)
        self.assertGreater(error.delay_ms, 25_000)
        self.assertIsNotNone(error.frozen_until)
        self.assertEqual(another.execute_with_rate_limit("shopify", PORTAL, lambda: "others go on"), "others go on")

    def test_a_cost_over_the_limit_can_never_pass(self) -> None:
        client, _ = self.limited(3, "refillPerHour")
        with self.assertRaises(RequestRefusedError):
            client.execute_with_rate_limit("hubspot", PORTAL, forbidden, cost=4)

    def test_the_permit_is_given_back_with_status_limit_headers_and_the_actual_cost(self) -> None:
        fake, client = self.permitting(calm)
        answer = response(200, X_RateLimit_Remaining="7", Set_Cookie="session=secret")
        cost = {"requests": 1, "tokens": 900}
        client.execute_with_rate_limit("openai", PORTAL, lambda: answer, cost=cost, actual_cost=lambda _: {"requests": 1, "tokens": 12})
        (said,) = self.settled(fake)
        self.assertEqual((said["id"], said["status"], said["cost"]), ("p-1", 200, {"requests": 1, "tokens": 12}))
        self.assertEqual(said["headers"], {"x-ratelimit-remaining": "7"})
        self.assertRegex(said["sentAt"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def test_a_call_that_raises_gives_its_permit_back_and_its_error_on(self) -> None:
        fake, client = self.permitting(calm)
        for error in (OSError("connection lost"), HTTPError("http://v", 404, "no", Message(), BytesIO()), KeyboardInterrupt()):

            def call(error: BaseException = error) -> None:
                raise error

            with self.assertRaises(type(error)) as raised:
                client.execute_with_rate_limit("hubspot", PORTAL, call)
            self.assertIs(raised.exception, error)
        self.assertEqual([(one["id"], one.get("status")) for one in self.settled(fake)], [("p-1", 599), ("p-1", 404), ("p-1", 599)])

    def test_a_reader_that_raises_still_gives_the_permit_back(self) -> None:
        fake, client = self.permitting(calm)

        def unreadable(_: object) -> Outcome:
            raise ValueError("unreadable")

        with self.assertRaisesRegex(ValueError, "unreadable"):
            client.execute_with_rate_limit("hubspot", PORTAL, lambda: 1, outcome=unreadable)
        self.assertEqual(len(self.settled(fake)), 1)

    def test_a_429_that_a_library_raises_becomes_rate_limit_exceeded_with_that_error_as_its_cause(self) -> None:
        freeze = {"frozenUntil": None, "retryAfterMs": 1234, "applied": ["freeze"]}
        _, client = self.permitting(lambda handler, _seen, _count: handler.answer(200, freeze))
        thrown = HTTPError("http://v", 429, "slow down", Message(), BytesIO())

        def call() -> None:
            raise thrown

        error = self.exceeded(client, "hubspot", call)
        self.assertEqual((error.delay_ms, error.__cause__), (1234, thrown))

    def test_an_observation_that_is_lost_loses_neither_the_result_nor_the_delay_and_the_hook_hears_of_it(self) -> None:
        told: list[str] = []
        fake, client = self.permitting(lost, on_unavailable=lambda error, operation: told.append(f"{operation} {error.reason}"))
        self.assertEqual(client.execute_with_rate_limit("hubspot", PORTAL, lambda: "result"), "result")
        self.assertEqual(self.exceeded(client, "hubspot", lambda: response(429, Retry_After="1.5")).delay_ms, 1500)
        self.assertEqual(told, ["observe connection"] * 2)
        self.assertEqual(len(self.settled(fake)), 2)  # never twice

    def test_dripgate_away_closed_does_not_call_open_does(self) -> None:
        fake = FakeDripgate(lost)
        self.addCleanup(fake.stop)
        client = self.client(fake.url)
        with self.assertRaises(LimiterUnavailableError):
            client.execute_with_rate_limit("hubspot", PORTAL, forbidden)
        self.assertEqual(client.execute_with_rate_limit("hubspot", PORTAL, lambda: "called", failure_mode="open"), "called")


VendorOfAsyncClient = of_both(Vendor)


class Outcomes(unittest.TestCase):
    def test_outcomes_of_the_usual_libraries_are_read(self) -> None:
        headers = {"Retry-After": "2", "X-Other": "no"}
        read = Outcome(429, {"retry-after": "2"})
        message = Message()
        message["Retry-After"] = "2"
        self.assertEqual(outcome_of(SimpleNamespace(status_code=429, headers=headers)), read)  # requests, httpx
        self.assertEqual(outcome_of(SimpleNamespace(status=429, headers=message)), read)  # http.client, aiohttp
        self.assertEqual(outcome_of(HTTPError("http://v", 429, "slow down", message, BytesIO())), read)  # urllib
        error = SimpleNamespace(response=SimpleNamespace(status_code=429, headers=headers))
        self.assertEqual(outcome_of(error), read)  # what requests and httpx raise
        unreadable: list[object] = [None, 7, "text", {}, ValueError("x"), SimpleNamespace(status="done")]
        for nothing in unreadable:
            self.assertEqual(outcome_of(nothing), Outcome())

    def test_headers_that_speak_of_limits_are_bounded_in_number_and_bytes(self) -> None:
        self.assertEqual(len(limit_headers({f"x-limit-{i}": "1" for i in range(200)})), 64)
        self.assertEqual(limit_headers({"x-limit-long": "x" * 10_000, "X-Limit": ["1", "2"], "Cookie": "c"}), {"x-limit": ["1", "2"]})

    def test_retry_after_is_read_in_seconds_and_as_a_date_and_rubbish_is_absent(self) -> None:
        now = datetime(2027, 1, 15, 8, 0, 0, tzinfo=timezone.utc)
        rows = {
            "2": 2000,
            " 1.5 ": 1500,
            "0": 1,
            "Fri, 15 Jan 2027 08:02:00 GMT": 120_000,
            "soon": None,
            "-5": None,
            "": None,
            "9" * 40: None,
        }
        for text, expected in rows.items():
            self.assertEqual(retry_after_ms(Outcome(429, {"retry-after": text}), now), expected, text)

    def test_errors_survive_pickling(self) -> None:
        errors: list[DripgateError] = [
            LimiterUnavailableError("away", "timeout", 503, 1000),
            RequestRefusedError("no", 400, "/errors/bad-request"),
            RateLimitExceededError("hubspot", 1200, "2027-01-15T08:00:00.000Z", "vendor"),
        ]
        for error in errors:
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(again), str(again), vars(again)), (type(error), str(error), vars(error)))
