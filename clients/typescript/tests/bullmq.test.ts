/** The BullMQ recipe: 1,000 jobs under 50/s from 4 worker processes, with a real Redis. */
import assert from "node:assert/strict";
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { test } from "node:test";

import { Queue } from "bullmq";
import type { Told } from "./support/bullmq_worker.js";
import { startRedis } from "./support/process.js";
import { startVendorSite, type VendorLimit, type VendorSite } from "./support/vendor_site.js";

const JOBS = 1_000;
const PER_WINDOW = 50;
const WINDOW_MS = 1_000;
const WORKERS = 4;
const OTHERS = 20;

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

const callJobs = (count: number): { name: string; data: object; opts: object }[] =>
  Array.from({ length: count }, (_, index) => ({ name: "call", data: { index }, opts: { attempts: 1 } }));
const otherJobs = (): { name: string; data: object }[] => Array.from({ length: OTHERS }, () => ({ name: "other", data: { addedAt: Date.now() } }));

interface Plant {
  calls: Queue;
  others: Queue;
  tally: Tally;
  site: VendorSite;
  startWorkers: (count: number) => void;
  stopWorkers: () => Promise<void>;
  end: () => Promise<void>;
}

/** A Redis, a vendor's limit, two queues; workers are processes of 5 jobs at a time for each queue. */
async function plant(limit: VendorLimit): Promise<Plant> {
  const redis = await startRedis();
  const site = await startVendorSite(limit);
  const { port } = new URL(redis.url);
  const connection = { host: "127.0.0.1", port: Number(port) };
  const [calls, others] = [new Queue("calls", { connection }), new Queue("others", { connection })];
  const tally = new Tally();
  const children: ChildProcess[] = [];
  const startWorkers = (count: number): void => {
    for (let i = 0; i < count; ++i) {
      const child = fork(new URL("./support/bullmq_worker.js", import.meta.url), [site.url, port]);
      child.on("message", (told: Told) => { tally.take(told); });
      children.push(child);
    }
  };
  const stopWorkers = async (): Promise<void> => {
    const ended = children.splice(0).map((child) => { child.send("stop"); return once(child, "exit"); });
    await Promise.all(ended);
  };
  const end = async (): Promise<void> => {
    for (const child of children) child.kill();
    await Promise.all([calls.close(), others.close()]);
    await site.stop();
    await redis.stop();
  };
  return { calls, others, tally, site, startWorkers, stopWorkers, end };
}

test("1,000 jobs under 50/s from 4 workers: windows exact, nothing lost, no worker blocked", { skip: redisAway, timeout: 90_000 }, async (t) => {
  const { calls, others, tally, site, startWorkers, stopWorkers, end } = await plant({ limit: PER_WINDOW, windowMs: WINDOW_MS });
  try {
    await calls.addBulk(callJobs(JOBS));
    startWorkers(WORKERS);
    await tally.until(() => tally.ready === WORKERS && tally.denied > 0);
    await others.addBulk(otherJobs());
    await tally.until(() => tally.waits.length === OTHERS);
    assert.ok(tally.called.length < JOBS / 2, `the others had to wait for ${tally.called.length} calls`);
    await tally.until(() => tally.called.length === JOBS);
    await stopWorkers();

    const counts = await calls.getJobCounts("completed", "failed", "delayed", "waiting", "active");
    assert.deepEqual(counts, { completed: JOBS, failed: 0, delayed: 0, waiting: 0, active: 0 });
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
    await end();
  }
});

test("while a vendor is blocked its jobs are delayed, none of their attempts is used up, and every other job runs", { skip: redisAway, timeout: 60_000 }, async () => {
  const { calls, others, tally, startWorkers, stopWorkers, end } = await plant({ capacity: 1, refillPerHour: 1 });
  const jobs = 40; // more than the workers' slots: if they slept, nothing else could run
  try {
    await calls.addBulk(callJobs(jobs));
    startWorkers(1);
    await tally.until(() => tally.denied === jobs - 1);
    await Promise.all([others.addBulk(otherJobs()), calls.addBulk(otherJobs())]);
    await tally.until(() => tally.waits.length === 2 * OTHERS);
    await stopWorkers();
    const counts = await calls.getJobCounts("completed", "failed", "delayed", "waiting", "active");
    assert.deepEqual(counts, { completed: 1 + OTHERS, failed: 0, delayed: jobs - 1, waiting: 0, active: 0 });
    const delayed = await calls.getDelayed();
    assert.ok(delayed.every((job) => job.attemptsMade === 0 && job.delay > 0 && job.delay <= 3_600_000), "by the returned delay");
  } finally {
    await end();
  }
});
