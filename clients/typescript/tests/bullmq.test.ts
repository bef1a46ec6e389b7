/** The BullMQ recipe: 1,000 jobs under 50/s from 4 worker processes, with a real Redis. */
import assert from "node:assert/strict";
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { test } from "node:test";

import { Queue } from "bullmq";
import type { Told } from "./support/bullmq_worker.js";
import { startRedis } from "./support/process.js";
import { startVendorSite } from "./support/vendor_site.js";

const JOBS = 1_000;
const PER_WINDOW = 50;
const WINDOW_MS = 1_000;
const WORKERS = 4;
const OTHERS = 20; // in each queue

const redisAway = process.env["PATH"]?.split(":").some((folder) => existsSync(`${folder}/redis-server`)) === true ? false : "no redis-server";

class Tally {
  readonly granted: (readonly [number, number])[] = [];
  readonly called: number[] = [];
  readonly waits: number[] = [];
  denied = 0;
  ready = 0;
  #waiting: { holds: () => boolean; resolve: () => void }[] = [];

  take(told: Told): void {
    if (told.kind === "granted") this.granted.push(told.between);
    else if (told.kind === "called") this.called.push(told.job);
    else if (told.kind === "other") this.waits.push(told.waitedMs);
    else this[told.kind] += 1;
    this.#waiting = this.#waiting.filter((one) => { if (one.holds()) one.resolve(); return !one.holds(); });
  }

  until(holds: () => boolean): Promise<void> {
    return holds() ? Promise.resolve() : new Promise((resolve) => this.#waiting.push({ holds, resolve }));
  }
}

/** The most grants that lie for sure in one window. */
function fullest(granted: Tally["granted"]): number {
  const counts = new Map<number, number>();
  for (const [before, after] of granted) {
    const window = Math.floor(before / WINDOW_MS);
    if (window === Math.floor(after / WINDOW_MS)) counts.set(window, (counts.get(window) ?? 0) + 1);
  }
  return Math.max(...counts.values());
}

test("1,000 jobs under 50/s from 4 workers: windows exact, nothing lost, no worker blocked", { skip: redisAway, timeout: 90_000 }, async (t) => {
  const redis = await startRedis();
  const site = await startVendorSite(PER_WINDOW, WINDOW_MS);
  const port = new URL(redis.url).port;
  const connection = { host: "127.0.0.1", port: Number(port) };
  const calls = new Queue("calls", { connection });
  const others = new Queue("others", { connection });
  const tally = new Tally();
  const children: ChildProcess[] = [];
  try {
    await calls.addBulk(Array.from({ length: JOBS }, (_, index) => ({ name: "call", data: { index }, opts: { attempts: 1 } })));
    for (let i = 0; i < WORKERS; ++i) {
      const child = fork(new URL("./support/bullmq_worker.js", import.meta.url), [site.url, port]);
      child.on("message", (told: Told) => { tally.take(told); });
      children.push(child);
    }
    await tally.until(() => tally.ready === WORKERS && tally.denied > 0);
    const added = Array.from({ length: OTHERS }, () => ({ name: "other", data: { addedAt: Date.now() } }));
    await Promise.all([others.addBulk(added), calls.addBulk(added)]);
    await tally.until(() => tally.waits.length === 2 * OTHERS);
    // With workers that sleep until a call may go, those in the same queue would come last.
    assert.ok(tally.called.length < JOBS / 2, `the others had to wait for ${tally.called.length} calls`);
    await tally.until(() => tally.called.length === JOBS);
    for (const child of children) child.send("stop");
    await Promise.all(children.map((child) => once(child, "exit")));

    const counts = await calls.getJobCounts("completed", "failed", "delayed", "waiting", "active");
    assert.deepEqual(counts, { completed: JOBS + OTHERS, failed: 0, delayed: 0, waiting: 0, active: 0 });
    assert.equal(new Set(tally.called).size, JOBS);
    assert.equal(tally.granted.length, JOBS);
    const starts = tally.granted.map(([before]) => before);
    const ends = tally.granted.map(([, after]) => after);
    const seconds = (Math.max(...ends) - Math.min(...starts)) / 1000;
    const most = fullest(tally.granted);
    assert.ok(most <= PER_WINDOW, `${most} in one window`);
    assert.ok(seconds > JOBS / PER_WINDOW - 2, `${seconds} s are too few windows`);
    t.diagnostic(`${site.real ? "dripgate" : "contract server"}: ${JOBS} calls in ${seconds} s, at most ${most} per window, ${tally.denied} put back, ` +
      `other jobs waited at most ${Math.max(...tally.waits)} ms`);
  } finally {
    for (const child of children) child.kill();
    await Promise.all([calls.close(), others.close()]);
    await site.stop();
    await redis.stop();
  }
});
