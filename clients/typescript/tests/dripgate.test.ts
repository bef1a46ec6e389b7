/** Against the real server: check, refund, explain, publish, access. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Dripgate, RequestRefusedError, type Decision } from "@dripgate/client";
import { startDripgate, withoutDripgate, type Program } from "./support/process.js";

const CONFIG = `
store: { sqlite: ./dripgate.db }
policies:
  - { id: api-free, match: { plan: free }, key: [apiKey], algorithm: token-bucket, capacity: 3, refillPerHour: 1, onStoreFailure: local }
  - { id: slow, match: { plan: slow }, key: [apiKey], limits: [ { limit: 1, window: 1h } ], onStoreFailure: local, idempotency: { ttl: 10m, maxReplays: 3 } }
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
  - { id: plain, source: { embedded: plain }, key: "all", limits: [ { limit: 100, window: 1h } ], maxDelay: 2h, deliver: { topic: out }, overflowTopic: o2, deadLetterTopic: d2 }
server: { listen: "127.0.0.1:8080" }
`;

let server: Program;
let dripgate: Dripgate;
before(async () => {
  if (withoutDripgate !== false) return;
  server = await startDripgate(CONFIG);
  dripgate = new Dripgate({ url: server.url, timeoutMs: 10_000 });
});
after(async () => {
  if (withoutDripgate !== false) return;
  dripgate.close();
  await server.stop();
});

const options = { skip: withoutDripgate };
const free = (apiKey: string): { attributes: Record<string, string> } => ({ attributes: { plan: "free", apiKey } });

test("three pass, the fourth is refused with its wait, headers and problem", options, async () => {
  const decisions: Decision[] = [];
  for (let i = 0; i < 4; ++i) decisions.push(await dripgate.check(free("k-1")));
  assert.deepEqual(decisions.map((one) => one.allowed), [true, true, true, false]);
  assert.deepEqual(decisions.map((one) => one.remaining), [2, 1, 0, 0]);
  const refused = decisions[3];
  assert.ok(refused !== undefined && refused.retryAfterMs !== null && refused.retryAfterMs > 3_590_000);
  assert.equal(refused.status, 429);
  assert.match(refused.headers["RateLimit"] ?? "", /^"api-free";r=0;t=\d+$/);
  assert.equal(refused.problem?.["type"], "/errors/rate-limited");
});

test("peek takes nothing, cost takes as much as it says, a cost over the limit can never pass", options, async () => {
  assert.equal((await dripgate.check({ ...free("k-2"), peek: true })).remaining, 2);
  assert.equal((await dripgate.check({ ...free("k-2"), cost: 2 })).remaining, 1);
  const never = await dripgate.check({ ...free("k-2"), cost: 4 });
  assert.deepEqual([never.allowed, never.retryAfterMs], [false, null]);
});

test("a refund gives back once", options, async () => {
  const { id } = await dripgate.check({ ...free("k-3"), cost: 3 });
  assert.ok(id !== null);
  assert.deepEqual([await dripgate.refund(id), await dripgate.refund(id)], [true, false]);
  assert.equal((await dripgate.check(free("k-3"))).remaining, 2);
});

test("an idempotency key replays the allow", options, async () => {
  const request = { attributes: { plan: "slow", apiKey: "k-4" }, idempotencyKey: "order-7" };
  await dripgate.check(request);
  const again = await dripgate.check(request);
  assert.equal(again.allowed, true);
  assert.equal(again.policies[0]?.replayed, true);
  assert.equal((await dripgate.check({ attributes: request.attributes })).allowed, false);
});

test("a batch is decided in order, the wrong one in its place", options, async () => {
  const answers = await dripgate.checkAll([free("k-5"), { ...free("k-5"), cost: -1 }, { ...free("k-5"), cost: 3 }]);
  assert.deepEqual(answers.map((one) => ("error" in one ? one.status : one.allowed)), [true, 400, false]);
});

test("explain names what matches and takes nothing", options, async () => {
  const said = await dripgate.explain(free("k-6"));
  assert.equal((said["matched"] as { policy: string }[])[0]?.policy, "api-free");
  assert.equal((await dripgate.check(free("k-6"))).remaining, 2);
});

test("events are let go, scheduled, and told apart when they come again", options, async () => {
  const event = (id: string): Record<string, string> => ({ payoutId: id, merchant: "m-1" });
  assert.equal((await dripgate.publish("payouts", event("pay_1"), { id: "pay_1" })).verdict, "now");
  const batch = await dripgate.publishAll("payouts", [event("pay_2"), '{"payoutId":"pay_3","merchant":"m-1"}', "no json"], { idempotent: true });
  assert.deepEqual(batch.map((one) => ("error" in one ? one.status : one.verdict)), ["now", "scheduled", "dead_letter"]);
  const again = await dripgate.publish("payouts", event("pay_1"), { id: "pay_1" });
  assert.equal(again.duplicate, true);
  await assert.rejects(dripgate.publish("payouts", { ...event("pay_1"), amount: 2 }, { id: "pay_1" }),
    (error) => error instanceof RequestRefusedError && error.status === 409);
});

test("lines of a batch bear its id, attributes and bytes travel along", options, async () => {
  const batch = await dripgate.publishAll("plain", [Buffer.from("raw"), "raw too"], { id: "b-7", attributes: { tenant: "acme" } });
  assert.deepEqual(batch.map((one) => one.id), ["b-7-1", "b-7-2"]);
});

test("an unknown stream and a wrong member are refused with what is accepted", options, async () => {
  await assert.rejects(dripgate.publish("nope", {}), (error) => error instanceof RequestRefusedError && error.status === 404);
  const wrong = { ...free("k-8"), costs: 2 } as unknown as Parameters<typeof dripgate.check>[0];
  await assert.rejects(dripgate.check(wrong), (error) => error instanceof RequestRefusedError && error.message.includes("accepted: attributes"));
});

test("with tokens: the right one is served, none is 401, one without the scope 403", options, async () => {
  process.env["DRIPGATE_CLIENT_TEST_TOKEN"] = "token-of-this-test-0123456789";
  const guarded = await startDripgate(`${CONFIG.trimEnd().slice(0, -1)}, tokens: [ { env: DRIPGATE_CLIENT_TEST_TOKEN, scopes: [check] } ] }\n`);
  const anonymous = new Dripgate({ url: guarded.url, timeoutMs: 10_000 });
  const known = new Dripgate({ url: guarded.url, timeoutMs: 10_000, token: "token-of-this-test-0123456789" });
  try {
    const status = (expected: number) => (error: unknown): boolean => error instanceof RequestRefusedError && error.status === expected;
    await assert.rejects(anonymous.check(free("k")), status(401));
    assert.equal((await known.check(free("k"))).allowed, true);
    await assert.rejects(known.publish("payouts", {}), status(403));
  } finally {
    anonymous.close();
    known.close();
    await guarded.stop();
  }
});
