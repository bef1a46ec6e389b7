/** What the client does when Dripgate is silent, away, broken or another: against a fake whose answers the test chooses. */
import assert from "node:assert/strict";
import net from "node:net";
import { after, test } from "node:test";

import { Dripgate, LimiterUnavailableError, RequestRefusedError, type DripgateOptions } from "@dripgate/client";
import { answer, FakeDripgate, type Behaviour } from "./support/fake_dripgate.js";

const stops: (() => Promise<void> | void)[] = [];
after(async () => {
  for (const stop of stops) await stop();
});

async function site(behaviour: Behaviour, options: Partial<DripgateOptions> = {}): Promise<{ fake: FakeDripgate; dripgate: Dripgate }> {
  const fake = await FakeDripgate.start(behaviour);
  const dripgate = new Dripgate({ url: fake.url, timeoutMs: 10_000, ...options }); // busy machines
  stops.push(() => { dripgate.close(); }, () => fake.stop());
  return { fake, dripgate };
}

const silence: Behaviour = () => undefined;
const CHECK = { attributes: { plan: "free" } };
const ALLOWED = { allowed: true, status: 200, policies: [], headers: {} };
const VERDICT = { id: "e-1", verdict: "now", slot: "2026-08-03T14:02:00Z", key: "k" };
const unavailable = (reason: string) => (error: unknown): boolean => error instanceof LimiterUnavailableError && error.reason === reason;

test("a check without an answer ends at its timeout, is not sent again, and raises when closed", async () => {
  const { fake, dripgate } = await site(silence, { timeoutMs: 50 });
  await assert.rejects(dripgate.check(CHECK), unavailable("timeout"));
  await assert.rejects(dripgate.acquire("hubspot", {}), unavailable("timeout"));
  assert.ok(fake.seen.length <= 2, "each at most once");
});

test("in failure mode open the request passes, marked as degraded, and the hook hears of it", async () => {
  const told: string[] = [];
  const { dripgate } = await site(silence, {
    timeoutMs: 50, failureMode: "open", onUnavailable: (error, operation) => told.push(`${operation} ${error.reason}`),
  });
  const decision = await dripgate.check(CHECK);
  assert.deepEqual([decision.allowed, decision.degraded, decision.remaining], [true, "open", null]);
  assert.deepEqual((await dripgate.checkAll([CHECK, CHECK])).map((one) => "allowed" in one && one.allowed), [true, true]);
  assert.equal((await dripgate.acquire("hubspot", {})).degraded, "open");
  assert.deepEqual(told, ["check timeout", "check timeout", "acquire timeout"]);
  await assert.rejects(dripgate.check(CHECK, { failureMode: "closed" }), unavailable("timeout"));
});

test("what Dripgate has decided closed stays closed in failure mode open", async () => {
  const problem = { type: "/errors/limiter-unavailable", status: 503, detail: "vendor 'hubspot': the store does not answer, and onStoreFailure is closed" };
  const { dripgate } = await site((response) => { answer(response, 503, problem, { "Retry-After": "1" }); }, { failureMode: "open" });
  await assert.rejects(dripgate.acquire("hubspot", {}), unavailable("closed"));
  const busy = await site((response) => { answer(response, 503, { type: "/errors/unavailable", detail: "busy" }); }, { failureMode: "open" });
  assert.equal((await busy.dripgate.acquire("hubspot", {})).degraded, "open");
});

test("what is no answer of Dripgate counts as unavailable: rubbish, pages, redirects, half an answer", async () => {
  const rubbish: [Behaviour, string][] = [
    [(response) => { answer(response, 200, "<html>login</html>"); }, "answer"],
    [(response) => { answer(response, 200, { fine: true }); }, "answer"],
    [(response) => { answer(response, 200, "[]"); }, "answer"],
    [(response) => { answer(response, 302, "", { Location: "/login" }); }, "status"],
    [(response) => { answer(response, 502, "bad gateway"); }, "status"],
    [(response) => { response.writeHead(200, { "Content-Length": "1000" }).write("{"); response.socket?.destroy(); }, "connection"],
    [(response) => { response.socket?.destroy(); }, "connection"],
  ];
  for (const [behaviour, reason] of rubbish) {
    const { fake, dripgate } = await site(behaviour);
    await assert.rejects(dripgate.check(CHECK), unavailable(reason));
    assert.equal(fake.seen.length, 1);
  }
});

test("nobody listens: unavailable, not a crash", async () => {
  const probe = net.createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => probe.once("listening", resolve));
  const { port } = probe.address() as net.AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  const dripgate = new Dripgate({ url: `http://127.0.0.1:${port}` });
  await assert.rejects(dripgate.check(CHECK), unavailable("connection"));
});

test("an answer without end is cut at its bound", async () => {
  const part = Buffer.alloc(1024 * 1024, "x");
  const { dripgate } = await site((response) => {
    response.writeHead(200);
    const more = (): void => { while (!response.destroyed && response.write(part)); };
    response.on("drain", more);
    more();
  }, { timeoutMs: 30_000 });
  await assert.rejects(dripgate.check(CHECK), unavailable("answer"));
});

test("a refusal is raised in every failure mode, with what Dripgate said, and without the token", async () => {
  const { dripgate } = await site((response) => { answer(response, 401, { type: "/errors/unauthorized", detail: "unknown token" }); },
    { failureMode: "open", token: "secret-token" });
  await assert.rejects(dripgate.check(CHECK), (error) => error instanceof RequestRefusedError && error.status === 401 &&
    error.type === "/errors/unauthorized" && error.message.includes("unknown token") && !error.message.includes("secret-token"));
});

test("an abort ends the call with the signal's reason, before and while it runs", async () => {
  const { fake, dripgate } = await site(() => { controller.abort(new Error("enough")); }, { failureMode: "open" });
  const controller = new AbortController();
  await assert.rejects(dripgate.check(CHECK, { signal: controller.signal }), /enough/);
  await assert.rejects(dripgate.check(CHECK, { signal: controller.signal }), /enough/);
  assert.equal(fake.seen.length, 1);
});

test("connections are reused, and bear the token", async () => {
  const { fake, dripgate } = await site((response) => { answer(response, 200, ALLOWED); }, { token: "t-1" });
  for (let i = 0; i < 20; ++i) await dripgate.check(CHECK);
  assert.equal(fake.connections, 1);
  assert.ok(fake.seen.every((one) => one.headers.authorization === "Bearer t-1"));
});

test("an event with an id is sent again after a lost answer, the same bytes under the same id", async () => {
  const { fake, dripgate } = await site((response, _seen, count) => {
    if (count === 1) response.socket?.destroy();
    else if (count === 2) answer(response, 503, { detail: "store away" });
    else answer(response, 202, VERDICT);
  });
  assert.equal((await dripgate.publish("payouts", { amount: 1 }, { id: "e-1" })).verdict, "now");
  assert.deepEqual(fake.seen.map((one) => [one.headers["dripgate-id"], one.body]), Array(3).fill(["e-1", '{"amount":1}']));
});

test("an event without an id is not sent again, since it may be stored; after 429, which stored nothing, it is", async () => {
  const lost = await site((response) => { response.socket?.destroy(); });
  await assert.rejects(lost.dripgate.publish("payouts", { amount: 1 }), unavailable("connection"));
  assert.equal(lost.fake.seen.length, 1);

  const busy = await site((response, _seen, count) => {
    if (count === 1) answer(response, 429, { detail: "over ingestRate" }, { "Retry-After": "0" });
    else answer(response, 202, VERDICT);
  });
  await busy.dripgate.publish("payouts", { amount: 1 });
  assert.equal(busy.fake.seen.length, 2);
});

test("publishing gives up after its attempts, at once where waiting would be long, and never on a refusal", async () => {
  const away = await site((response) => { answer(response, 503, {}); });
  await assert.rejects(away.dripgate.publish("payouts", "{}", { id: "e-1" }), unavailable("status"));
  assert.equal(away.fake.seen.length, 4);

  const long = await site((response) => { answer(response, 503, {}, { "Retry-After": "60" }); });
  await assert.rejects(long.dripgate.publish("payouts", "{}", { id: "e-1" }),
    (error) => error instanceof LimiterUnavailableError && error.retryAfterMs === 60_000);
  assert.equal(long.fake.seen.length, 1);

  const refused = await site((response) => { answer(response, 409, { detail: "another body" }); });
  await assert.rejects(refused.dripgate.publish("payouts", "{}", { id: "e-1" }), RequestRefusedError);
  assert.equal(refused.fake.seen.length, 1);
});

test("fewer verdicts than events are no answer", async () => {
  const { dripgate } = await site((response) => { answer(response, 202, JSON.stringify(VERDICT)); });
  await assert.rejects(dripgate.publishAll("payouts", [{ a: 1 }, { a: 2 }]), unavailable("answer"));
});

test("what cannot be sent is refused here, by name", async () => {
  const { fake, dripgate } = await site((response) => { answer(response, 200, ALLOWED); });
  const wrong: [() => Promise<unknown>, RegExp][] = [
    [() => dripgate.checkAll([]), /1 to 1000/],
    [() => dripgate.publish("a/b", {}), /stream 'a\/b'/],
    [() => dripgate.publish("..", {}), /stream/],
    [() => dripgate.publish("payouts", ""), /0 bytes/],
    [() => dripgate.publish("payouts", {}, { id: "two\r\nlines" }), /Dripgate-Id/],
    [() => dripgate.publishAll("payouts", ["{\n}"]), /event 1 of the batch has a newline/],
    [() => dripgate.publishAll("payouts", ["{}", " "]), /event 2 of the batch is blank/],
    [() => dripgate.check(CHECK, { timeoutMs: 0 }), /timeout/],
  ];
  for (const [call, says] of wrong) await assert.rejects(call, (error) => error instanceof RangeError && says.test(error.message));
  assert.throws(() => new Dripgate({ url: "ftp://x" }), RangeError);
  assert.throws(() => new Dripgate({ url: "http://x", token: "a b" }), RangeError);
  assert.equal(fake.seen.length, 0);
});
