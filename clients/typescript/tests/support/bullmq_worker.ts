/** One worker process of the BullMQ test: queue `calls` within the vendor's limit, queue `others` without one. Tells its parent what it did. */
import { Worker, type Job } from "bullmq";
import { Dripgate, type AcquireOptions, type Attributes, type Permit } from "@dripgate/client";
import { withRateLimit } from "../../recipes/bullmq.js";

export type Told =
  | { kind: "ready" }
  | { kind: "denied" }
  /** The grant lies between the two, ms since the epoch. */
  | { kind: "granted"; between: readonly [number, number] }
  | { kind: "called"; job: number }
  | { kind: "other"; waitedMs: number };

interface Data {
  index: number;
  addedAt: number;
}

const tell = (told: Told): void => { process.send?.(told); };

class WatchedDripgate extends Dripgate {
  override async acquire(vendor: string, attributes: Attributes, options?: AcquireOptions): Promise<Permit> {
    const before = Date.now();
    const permit = await super.acquire(vendor, attributes, options);
    tell(permit.allowed ? { kind: "granted", between: [before, Date.now()] } : { kind: "denied" });
    return permit;
  }
}

const [url = "", redisPort = ""] = process.argv.slice(2);
const connection = { host: "127.0.0.1", port: Number(redisPort), maxRetriesPerRequest: null };
const dripgate = new WatchedDripgate({ url, timeoutMs: 10_000 });

function other(job: Job<Data>): Promise<unknown> {
  tell({ kind: "other", waitedMs: Date.now() - job.data.addedAt });
  return Promise.resolve();
}

const limited = withRateLimit<Data, unknown>(dripgate, "hubspot", () => ({ portal: "42" }), (job) => {
  tell({ kind: "called", job: job.data.index });
  return Promise.resolve({ status: 200 });
});

const workers = [
  new Worker<Data, unknown>("calls", (job, token) => (job.name === "other" ? other(job) : limited(job, token)), { connection, concurrency: 5 }),
  new Worker<Data, unknown>("others", other, { connection, concurrency: 5 }),
];
await Promise.all(workers.map((worker) => worker.waitUntilReady()));
tell({ kind: "ready" });
process.once("message", () => {
  void Promise.all(workers.map((worker) => worker.close())).then(() => { dripgate.close(); process.disconnect(); });
});
