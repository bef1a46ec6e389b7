/** acquire, observe and executeWithRateLimit. */
import assert from "node:assert/strict";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";

import { Dripgate, LimiterUnavailableError, limitHeaders, outcomeOf, RateLimitExceededError, RequestRefusedError } from "@dripgate/client";
import { answer, FakeDripgate, type Behaviour } from "./support/fake_dripgate.js";
import { startVendorSite, type VendorLimit } from "./support/vendor_site.js";

const stops: (() => Promise<void> | void)[] = [];
after(async () => {
  for (const stop of stops) await stop();
});

const HOUR_MS = 3_600_000;
const PORTAL = { portal: "42" };

async function limited(limit: VendorLimit): Promise<{ dripgate: Dripgate; another: Dripgate }> {
  const site = await startVendorSite(limit);
  const clients = { dripgate: new Dripgate({ url: site.url, timeoutMs: 10_000 }), another: new Dripgate({ url: site.url, timeoutMs: 10_000 }) };
  stops.push(() => { clients.dripgate.close(); clients.another.close(); }, site.stop);
  return clients;
}

/** A Dripgate that gives a permit `p-1` and answers observations with `observation`. */
async function permitting(observation: Behaviour): Promise<{ dripgate: Dripgate; fake: FakeDripgate; told: string[] }> {
  const fake = await FakeDripgate.start((response, seen, count) => {
    if (seen.path === "/v1/observe") observation(response, seen, count);
    else answer(response, 200, { allowed: true, id: "p-1", remainingTokens: 9, retryAfterMs: null, frozenUntil: null, degraded: null });
  });
  const told: string[] = [];
  const dripgate = new Dripgate({ url: fake.url, timeoutMs: 10_000, onUnavailable: (error, operation) => told.push(`${operation} ${error.reason}`) });
  stops.push(() => { dripgate.close(); }, () => fake.stop());
  return { dripgate, fake, told };
}

const calm: Behaviour = (response) => { answer(response, 200, { frozenUntil: null, remainingTokens: 9, applied: [] }); };
const settled = (fake: FakeDripgate): Record<string, unknown>[] =>
  fake.seen.filter((one) => one.path === "/v1/observe").map((one) => JSON.parse(one.body) as Record<string, unknown>);

async function vendor(behaviour: http.RequestListener): Promise<string> {
  const server = http.createServer(behaviour).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  stops.push(() => { server.closeAllConnections(); server.close(); });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("as many calls as the limit allows are made; the next one is not, and says when", async () => {
  const { dripgate } = await limited({ capacity: 3, refillPerHour: 3 });
  let calls = 0;
  const call = (): Promise<number> => Promise.resolve(++calls);
  for (let i = 1; i <= 3; ++i) assert.equal(await dripgate.executeWithRateLimit("hubspot", PORTAL, call), i);
  await assert.rejects(dripgate.executeWithRateLimit("hubspot", PORTAL, call), (error) => error instanceof RateLimitExceededError &&
    error.delayMs >= 1 && error.delayMs <= HOUR_MS && error.saidBy === "dripgate" && error.vendor === "hubspot");
  assert.equal(calls, 3);
});

test("a 429 of the vendor becomes RateLimitExceededError and stops every other client", async () => {
  const { dripgate, another } = await limited({ capacity: 100, refillPerSecond: 100 });
  const url = await vendor((_request, response) => response.writeHead(429, { "Retry-After": "30" }).end());
  await assert.rejects(dripgate.executeWithRateLimit("hubspot", PORTAL, () => fetch(url)), (error) => error instanceof RateLimitExceededError &&
    error.saidBy === "vendor" && error.delayMs > 25_000 && error.delayMs <= 30_000 && (error.cause as Response).status === 429);
  await assert.rejects(another.executeWithRateLimit("hubspot", PORTAL, () => assert.fail("called a frozen vendor")),
    (error) => error instanceof RateLimitExceededError && error.frozenUntil !== null && error.delayMs > 25_000);
  assert.equal(await another.executeWithRateLimit("shopify", PORTAL, () => Promise.resolve("other vendors go on")), "other vendors go on");
});

test("a cost over the limit can never pass: refused, not delayed", async () => {
  const { dripgate } = await limited({ capacity: 3, refillPerHour: 3 });
  await assert.rejects(dripgate.executeWithRateLimit("hubspot", PORTAL, () => assert.fail("called"), { cost: 4 }), RequestRefusedError);
});

test("the permit is given back with status, limit headers and the actual cost", async () => {
  const { dripgate, fake } = await permitting(calm);
  const url = await vendor((_request, response) =>
    response.writeHead(200, { "X-RateLimit-Remaining": "7", "Set-Cookie": "session=secret" }).end("12"));
  await dripgate.executeWithRateLimit("openai", PORTAL, () => fetch(url), { cost: { requests: 1, tokens: 900 }, actualCost: () => ({ requests: 1, tokens: 12 }) });
  const [seen] = settled(fake);
  assert.deepEqual([seen?.["id"], seen?.["status"], seen?.["cost"]], ["p-1", 200, { requests: 1, tokens: 12 }]);
  assert.equal((seen?.["headers"] as Record<string, string>)["x-ratelimit-remaining"], "7");
  assert.ok(!JSON.stringify(seen).includes("secret"));
  assert.ok(!Number.isNaN(Date.parse(String(seen?.["sentAt"]))));
});

test("a call that throws gives its permit back and its error on", async () => {
  const { dripgate, fake } = await permitting(calm);
  const broken = new TypeError("connection lost");
  await assert.rejects(dripgate.executeWithRateLimit("hubspot", PORTAL, () => Promise.reject(broken)), (error) => error === broken);
  const answered = Object.assign(new Error("404"), { response: { status: 404, headers: { "x-ratelimit-remaining": "3" } } });
  await assert.rejects(dripgate.executeWithRateLimit("hubspot", PORTAL, () => Promise.reject(answered)), (error) => error === answered);
  assert.deepEqual(settled(fake).map((one) => [one["id"], one["status"]]), [["p-1", 599], ["p-1", 404]]);
});

test("a reader that throws still gives the permit back", async () => {
  const { dripgate, fake } = await permitting(calm);
  await assert.rejects(dripgate.executeWithRateLimit("hubspot", PORTAL, () => Promise.resolve(1), { outcome: () => { throw new Error("unreadable"); } }), /unreadable/);
  assert.equal(settled(fake).length, 1);
});

test("a 429 that a library throws becomes RateLimitExceededError with that error as its cause", async () => {
  const { dripgate } = await permitting((response) => { answer(response, 200, { frozenUntil: null, retryAfterMs: 1234, applied: ["freeze"] }); });
  const thrown = Object.assign(new Error("429"), { response: { status: 429, headers: {} } });
  await assert.rejects(dripgate.executeWithRateLimit("hubspot", PORTAL, () => Promise.reject(thrown)),
    (error) => error instanceof RateLimitExceededError && error.delayMs === 1234 && error.cause === thrown);
});

test("an observation that is lost loses neither the result nor the delay, and the hook hears of it", async () => {
  const { dripgate, fake, told } = await permitting((response) => { response.socket?.destroy(); });
  assert.equal(await dripgate.executeWithRateLimit("hubspot", PORTAL, () => Promise.resolve("result")), "result");
  const limitedBy = { status: 429, headers: { "retry-after": "1.5" } };
  await assert.rejects(dripgate.executeWithRateLimit("hubspot", PORTAL, () => Promise.resolve(limitedBy)),
    (error) => error instanceof RateLimitExceededError && error.delayMs === 1500);
  assert.deepEqual(told, ["observe connection", "observe connection"]);
  assert.equal(settled(fake).length, 2); // never twice
});

test("Dripgate away: closed does not call, open does", async () => {
  const silent = await FakeDripgate.start(() => undefined);
  stops.push(() => silent.stop());
  const dripgate = new Dripgate({ url: silent.url, timeoutMs: 50 });
  await assert.rejects(dripgate.executeWithRateLimit("hubspot", PORTAL, () => assert.fail("called")), LimiterUnavailableError);
  assert.equal(await dripgate.executeWithRateLimit("hubspot", PORTAL, () => Promise.resolve("called"), { failureMode: "open" }), "called");
  dripgate.close();
});

test("outcomes of the usual libraries are read", () => {
  const headers = { "Retry-After": "2", "X-Other": "no" };
  const read = { status: 429, headers: { "retry-after": "2" } };
  assert.deepEqual(outcomeOf(new Response(null, { status: 429, headers })), read);
  assert.deepEqual(outcomeOf({ statusCode: 429, headers }), read); // got, node:http
  assert.deepEqual(outcomeOf({ status: 429, headers: { toJSON: () => headers } }), read); // axios
  assert.deepEqual(outcomeOf(Object.assign(new Error(), { status: 429, response: { headers } })), read); // octokit
  for (const nothing of [undefined, null, 7, "text", {}, { status: "fulfilled" }, new Error("x")]) assert.equal(outcomeOf(nothing).status, undefined);
});

test("headers that speak of limits are bounded in number and bytes", () => {
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`x-limit-${i}`, "1"]));
  assert.equal(Object.keys(limitHeaders(many)).length, 64);
  assert.deepEqual(limitHeaders({ "x-ratelimit-long": "x".repeat(10_000), "x-limit": ["1", "2"] }), { "x-limit": ["1", "2"] });
  assert.deepEqual(limitHeaders({ "x-limit": ["1", "2"], age: 7, "x-limit-none": undefined }), { "x-limit": ["1", "2"], age: "7" });
});
