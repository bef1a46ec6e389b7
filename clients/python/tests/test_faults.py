"""What the clients do when Dripgate is silent, away, broken or another: against a fake whose answers the test chooses."""

from __future__ import annotations

from typing import Any

from dripgate import LimiterUnavailableError, RequestRefusedError

from .support.both import ClientCase, of_both
from .support.fake_dripgate import Behaviour, FakeDripgate, Handler, Seen
from .support.programs import free_port

ATTRIBUTES = {"plan": "free"}
ALLOWED = {"allowed": True, "status": 200, "policies": [], "headers": {}}
VERDICT = {"id": "e-1", "verdict": "now", "slot": "2026-08-03T14:02:00Z", "key": "k"}


def silent(handler: Handler, _seen: Seen, _count: int) -> None:
    handler.silence()


def always(status: int, body: object, **headers: str) -> Behaviour:
    return lambda handler, _seen, _count: handler.answer(status, body, **headers)


def raw(data: bytes) -> Behaviour:
    return lambda handler, _seen, _count: handler.raw(data)


class Faults(ClientCase):
    def site(self, behaviour: Behaviour, **options: Any) -> tuple[FakeDripgate, Any]:
        fake = FakeDripgate(behaviour)
        self.addCleanup(fake.stop)
        return fake, self.client(fake.url, **options)

    def unavailable(self, reason: str, call: Any, *args: Any, **options: Any) -> LimiterUnavailableError:
        with self.assertRaises(LimiterUnavailableError) as raised:
            call(*args, **options)
        self.assertEqual(raised.exception.reason, reason)
        return raised.exception

    def test_a_check_without_an_answer_ends_at_its_timeout_is_not_sent_again_and_raises_when_closed(self) -> None:
        fake, client = self.site(silent, timeout=0.05)
        self.unavailable("timeout", client.check, ATTRIBUTES)
        self.unavailable("timeout", client.acquire, "hubspot", {})
        self.assertLessEqual(len(fake.seen), 2)  # each at most once

    def test_in_failure_mode_open_the_request_passes_marked_as_degraded_and_the_hook_hears_of_it(self) -> None:
        told: list[str] = []

        def hook(error: LimiterUnavailableError, operation: str) -> None:
            told.append(f"{operation} {error.reason}")

        _, client = self.site(silent, timeout=0.05, failure_mode="open", on_unavailable=hook)
        decision = client.check(ATTRIBUTES)
        self.assertEqual((decision.allowed, decision.degraded, decision.remaining), (True, "open", None))
        self.assertEqual([one.allowed for one in client.check_all([{"attributes": ATTRIBUTES}] * 2)], [True, True])
        self.assertEqual(client.acquire("hubspot", {}).degraded, "open")
        self.assertEqual(told, ["check timeout", "check timeout", "acquire timeout"])
        self.unavailable("timeout", client.check, ATTRIBUTES, failure_mode="closed")

    def test_what_dripgate_has_decided_closed_stays_closed_in_failure_mode_open(self) -> None:
        problem = {"type": "/errors/limiter-unavailable", "detail": "the store does not answer, and onStoreFailure is closed"}
        _, client = self.site(always(503, problem), failure_mode="open")
        self.unavailable("closed", client.acquire, "hubspot", {})
        _, busy = self.site(always(503, {"type": "/errors/unavailable", "detail": "busy"}), failure_mode="open")
        self.assertEqual(busy.acquire("hubspot", {}).degraded, "open")

    def test_what_is_no_answer_of_dripgate_counts_as_unavailable(self) -> None:
        rubbish: list[tuple[Behaviour, str]] = [
            (always(200, b"<html>login</html>"), "answer"),
            (always(200, {"fine": True}), "answer"),
            (always(200, []), "answer"),
            (always(302, b"", Location="/login"), "status"),
            (always(502, b"bad gateway"), "status"),
            (raw(b"SSH-2.0-OpenSSH\r\n\r\n"), "answer"),
            (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"), "connection"),
            (raw(b""), "connection"),
        ]
        for behaviour, reason in rubbish:
            fake, client = self.site(behaviour)
            self.unavailable(reason, client.check, ATTRIBUTES)
            self.assertEqual(len(fake.seen), 1)

    def test_nobody_listens(self) -> None:
        client = self.client(f"http://127.0.0.1:{free_port()}")
        self.unavailable("connection", client.check, ATTRIBUTES)

    def test_a_drop_at_a_time_does_not_outlive_the_timeout(self) -> None:
        def dripping(handler: Handler, _seen: Seen, _count: int) -> None:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            while not handler.fake.over.wait(0.02):
                handler.wfile.write(b" ")

        _, client = self.site(dripping, timeout=0.2)
        self.unavailable("timeout", client.check, ATTRIBUTES)

    def test_a_refusal_is_raised_in_every_failure_mode_with_what_dripgate_said_and_without_the_token(self) -> None:
        problem = {"type": "/errors/unauthorized", "detail": "unknown token"}
        _, client = self.site(always(401, problem), failure_mode="open", token="secret-token")
        with self.assertRaises(RequestRefusedError) as raised:
            client.check(ATTRIBUTES)
        self.assertEqual((raised.exception.status, raised.exception.type), (401, "/errors/unauthorized"))
        self.assertIn("unknown token", str(raised.exception))
        self.assertNotIn("secret-token", repr(raised.exception))

    def test_connections_are_reused_and_bear_the_token(self) -> None:
        fake, client = self.site(always(200, ALLOWED), token="t-1")
        for _ in range(20):
            client.check(ATTRIBUTES)
        self.assertEqual(fake.connections, 1)
        self.assertEqual({one.headers["authorization"] for one in fake.seen}, {"Bearer t-1"})

    def test_a_connection_that_dripgate_closed_meanwhile_is_not_used(self) -> None:
        def last(handler: Handler, _seen: Seen, _count: int) -> None:
            handler.answer(200, ALLOWED)
            handler.close_connection = True

        fake, client = self.site(last)
        for _ in range(3):
            client.check(ATTRIBUTES)
            self.assertTrue(fake.closed.acquire(timeout=10))
        self.assertEqual(fake.connections, 3)

    def test_an_event_with_an_id_is_sent_again_the_same_bytes_under_the_same_id(self) -> None:
        def third_time(handler: Handler, _seen: Seen, count: int) -> None:
            if count == 1:
                handler.raw(b"")
            elif count == 2:
                handler.answer(503, {"detail": "store away"})
            else:
                handler.answer(202, VERDICT)

        fake, client = self.site(third_time)
        self.assertEqual(client.publish("payouts", {"amount": 1}, id="e-1").verdict, "now")
        self.assertEqual([(one.headers["dripgate-id"], one.body) for one in fake.seen], [("e-1", b'{"amount":1}')] * 3)

    def test_an_event_without_an_id_is_not_sent_again_but_after_429_which_stored_nothing(self) -> None:
        fake, client = self.site(raw(b""))
        self.unavailable("connection", client.publish, "payouts", {"amount": 1})
        self.assertEqual(len(fake.seen), 1)

        def busy_once(handler: Handler, _seen: Seen, count: int) -> None:
            handler.answer(*((429, {"detail": "over ingestRate"}) if count == 1 else (202, VERDICT)))

        fake, client = self.site(busy_once)
        client.publish("payouts", {"amount": 1})
        self.assertEqual(len(fake.seen), 2)

    def test_publishing_gives_up_after_its_attempts_at_once_where_waiting_is_long_and_never_tries_on_a_refusal(self) -> None:
        fake, client = self.site(always(503, {}))
        self.unavailable("status", client.publish, "payouts", "{}", id="e-1")
        self.assertEqual(len(fake.seen), 4)

        fake, client = self.site(always(503, {}, Retry_After="60"))
        self.assertEqual(self.unavailable("status", client.publish, "payouts", "{}", id="e-1").retry_after_ms, 60_000)
        self.assertEqual(len(fake.seen), 1)

        fake, client = self.site(always(409, {"detail": "another body"}))
        with self.assertRaises(RequestRefusedError):
            client.publish("payouts", "{}", id="e-1")
        self.assertEqual(len(fake.seen), 1)

    def test_fewer_verdicts_than_events_are_no_answer(self) -> None:
        _, client = self.site(always(202, VERDICT))
        self.unavailable("answer", client.publish_all, "payouts", [{"a": 1}, {"a": 2}])

    def test_what_cannot_be_sent_is_refused_here_by_name(self) -> None:
        fake, client = self.site(always(200, ALLOWED))
        wrong: list[tuple[Any, str]] = [
            (lambda: client.check_all([]), "1 to 1000"),
            (lambda: client.publish("a/b", {}), "stream 'a/b'"),
            (lambda: client.publish("payouts", ""), "0 bytes"),
            (lambda: client.publish("payouts", {}, id="two\r\nlines"), "Dripgate-Id"),
            (lambda: client.publish("payouts", {}, attributes={"a b": "c"}), "Dripgate-Attr-a b"),
            (lambda: client.publish_all("payouts", ["{\n}"]), "event 1 of the batch"),
            (lambda: client.publish_all("payouts", ["{}", " "]), "event 2 of the batch"),
            (lambda: client.check(ATTRIBUTES, timeout=0), "timeout"),
            (lambda: self.client("ftp://x"), "url"),
            (lambda: self.client("http://x", token="a b"), "token"),
            (lambda: self.client("http://x", failure_mode="ajar"), "open, closed"),
        ]
        for call, says in wrong:
            with self.assertRaisesRegex(ValueError, says):
                call()
        self.assertEqual(fake.seen, [])


FaultsOfAsyncClient = of_both(Faults)
