"""Against the real server: check, refund, explain, publish, access."""

from __future__ import annotations

import os
import unittest
from typing import Any

from dripgate import RequestRefusedError

from .support.both import ClientCase, of_both
from .support.programs import WITHOUT_DRIPGATE, Program, start_dripgate

CONFIG = """
store: { sqlite: ./dripgate.db }
policies:
  - { id: api-free, match: { plan: free }, key: [apiKey], algorithm: token-bucket, capacity: 3, refillPerHour: 1, onStoreFailure: local }
  - { id: slow, match: { plan: slow }, key: [apiKey], limits: [{ limit: 1, window: 1h }], onStoreFailure: local,
      idempotency: { ttl: 10m, maxReplays: 3 } }
streams:
  - id: payouts
    source: { embedded: payouts }
    eventId: "{payoutId}"
    key: "merchant_{merchant}"
    limits: [ { limit: 2, window: 1h } ]
    maxDelay: 2h
    deliver: { topic: released }
    overflowTopic: overflow
    deadLetterTopic: dead
  - { id: plain, source: { embedded: plain }, key: "all", limits: [{ limit: 100, window: 1h }], maxDelay: 2h, deliver: { topic: out },
      overflowTopic: o2, deadLetterTopic: d2 }
server: { listen: "127.0.0.1:8080" }
"""
TOKEN = "token-of-this-test-0123456789"


def free(key: str) -> dict[str, str]:
    return {"plan": "free", "apiKey": key}


@unittest.skipIf(WITHOUT_DRIPGATE, WITHOUT_DRIPGATE)
class Dripgate(ClientCase):
    server: Program
    url: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.server, cls.url = start_dripgate(CONFIG)
        cls.addClassCleanup(cls.server.stop)

    def setUp(self) -> None:
        self.dripgate = self.client(self.url)

    def refused(self, status: int, call: Any, *args: Any, **options: Any) -> RequestRefusedError:
        with self.assertRaises(RequestRefusedError) as raised:
            call(*args, **options)
        self.assertEqual(raised.exception.status, status)
        return raised.exception

    def test_three_pass_the_fourth_is_refused_with_its_wait_headers_and_problem(self) -> None:
        decisions = [self.dripgate.check(free("k-1")) for _ in range(4)]
        self.assertEqual([one.allowed for one in decisions], [True, True, True, False])
        self.assertEqual([one.remaining for one in decisions], [2, 1, 0, 0])
        refused = decisions[3]
        self.assertEqual(refused.status, 429)
        self.assertGreater(refused.retry_after_ms, 3_590_000)
        self.assertRegex(refused.headers["RateLimit"], r'^"api-free";r=0;t=\d+$')
        self.assertEqual(refused.problem["type"], "/errors/rate-limited")
        self.assertEqual(refused.policies[0].policy, "api-free")

    def test_peek_takes_nothing_cost_as_much_as_it_says_and_a_cost_over_the_limit_can_never_pass(self) -> None:
        self.assertEqual(self.dripgate.check(free("k-2"), peek=True).remaining, 2)
        self.assertEqual(self.dripgate.check(free("k-2"), cost=2).remaining, 1)
        never = self.dripgate.check(free("k-2"), cost=4)
        self.assertEqual((never.allowed, never.retry_after_ms), (False, None))

    def test_a_refund_gives_back_once(self) -> None:
        decision = self.dripgate.check(free("k-3"), cost=3)
        self.assertEqual([self.dripgate.refund(decision.id), self.dripgate.refund(decision.id)], [True, False])
        self.assertEqual(self.dripgate.check(free("k-3")).remaining, 2)

    def test_an_idempotency_key_replays_the_allow(self) -> None:
        attributes = {"plan": "slow", "apiKey": "k-4"}
        self.dripgate.check(attributes, idempotency_key="order-7")
        again = self.dripgate.check(attributes, idempotency_key="order-7")
        self.assertTrue(again.allowed)
        self.assertTrue(again.policies[0].replayed)
        self.assertFalse(self.dripgate.check(attributes).allowed)

    def test_a_batch_is_decided_in_order_the_wrong_one_in_its_place(self) -> None:
        checks = [{"attributes": free("k-5")}, {"attributes": free("k-5"), "cost": -1}, {"attributes": free("k-5"), "cost": 3}]
        said = [getattr(one, "error", None) or one.allowed for one in self.dripgate.check_all(checks)]
        self.assertEqual(said, [True, "cost: accepted: a whole number, 0 or more", False])

    def test_explain_names_what_matches_and_takes_nothing(self) -> None:
        said = self.dripgate.explain(free("k-6"))
        self.assertEqual(said["matched"][0]["policy"], "api-free")
        self.assertEqual(self.dripgate.check(free("k-6")).remaining, 2)

    def test_events_are_let_go_scheduled_and_told_apart_when_they_come_again(self) -> None:
        first = {"payoutId": "pay_1", "merchant": "m-1"}
        self.assertEqual(self.dripgate.publish("payouts", first, id="pay_1").verdict, "now")
        lines = [{"payoutId": "pay_2", "merchant": "m-1"}, '{"payoutId":"pay_3","merchant":"m-1"}', "no json"]
        batch = self.dripgate.publish_all("payouts", lines, idempotent=True)
        self.assertEqual([one.verdict for one in batch], ["now", "scheduled", "dead_letter"])
        self.assertTrue(self.dripgate.publish("payouts", first, id="pay_1").duplicate)
        self.refused(409, self.dripgate.publish, "payouts", {**first, "amount": 2}, id="pay_1")

    def test_lines_of_a_batch_bear_its_id(self) -> None:
        batch = self.dripgate.publish_all("plain", [b"raw", "raw too"], id="b-7", attributes={"tenant": "acme"})
        self.assertEqual([one.id for one in batch], ["b-7-1", "b-7-2"])

    def test_an_unknown_stream_and_a_wrong_attribute_are_refused_with_what_is_accepted(self) -> None:
        self.refused(404, self.dripgate.publish, "nope", {})
        self.assertIn("accepted: text", str(self.refused(400, self.dripgate.check, {"plan": 1.5})))

    def test_with_tokens_the_right_one_is_served_none_is_401_and_one_without_the_scope_403(self) -> None:
        tokens = ", tokens: [ { env: DRIPGATE_CLIENT_TEST_TOKEN, scopes: [check] } ] }\n"
        server, url = start_dripgate(CONFIG.rstrip().removesuffix(" }") + tokens, {**os.environ, "DRIPGATE_CLIENT_TEST_TOKEN": TOKEN})
        self.addCleanup(server.stop)
        self.refused(401, self.client(url).check, free("k"))
        known = self.client(url, token=TOKEN)
        self.assertTrue(known.check(free("k")).allowed)
        self.refused(403, known.publish, "payouts", {})


DripgateOfAsyncClient = of_both(Dripgate)
