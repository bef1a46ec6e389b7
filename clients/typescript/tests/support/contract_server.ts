/** Speaks the contract of /v1/acquire and /v1/observe (docs/http-api.md) with one fixed window per vendor in this process: for the tests
 *  where no dripgate with these routes is at hand. Not a limiter: no store, no header forms but Retry-After in seconds. */
import { FakeDripgate, answer } from "./fake_dripgate.js";

interface Body {
  vendor: string;
  id?: string;
  status?: number;
  cost?: number;
  headers?: Record<string, string>;
}

interface Bucket {
  window: number;
  used: number;
  frozenUntil: number;
  permits: Set<string>;
}

export interface Contract {
  url: string;
  /** Permits that were given and not observed. */
  open: () => number;
  observed: Body[];
  stop: () => Promise<void>;
}

export async function startContractServer(limit: number, windowMs: number): Promise<Contract> {
  const buckets = new Map<string, Bucket>();
  const observed: Body[] = [];
  let permits = 0;
  const bucketOf = (vendor: string, now: number): Bucket => {
    const bucket = buckets.get(vendor) ?? { window: 0, used: 0, frozenUntil: 0, permits: new Set<string>() };
    buckets.set(vendor, bucket);
    const window = Math.floor(now / windowMs);
    if (window !== bucket.window) Object.assign(bucket, { window, used: 0 });
    return bucket;
  };
  const timeOf = (bucket: Bucket, now: number): string | null => (bucket.frozenUntil > now ? new Date(bucket.frozenUntil).toISOString() : null);
  const fake = await FakeDripgate.start((response, seen) => {
    const body = JSON.parse(seen.body) as Body;
    const now = Date.now();
    const bucket = bucketOf(body.vendor, now);
    const cost = body.cost ?? 1;
    if (seen.path === "/v1/observe") {
      observed.push(body);
      bucket.permits.delete(body.id ?? "");
      if (body.status === 429) bucket.frozenUntil = Math.max(bucket.frozenUntil, now + Number(body.headers?.["retry-after"] ?? 1) * 1000);
      answer(response, 200, { frozenUntil: timeOf(bucket, now), remainingTokens: limit - bucket.used, applied: body.status === 429 ? ["freeze"] : [] });
      return;
    }
    const frozen = bucket.frozenUntil > now;
    const allowed = !frozen && bucket.used + cost <= limit;
    const thaw = frozen ? bucket.frozenUntil : (bucket.window + 1) * windowMs;
    const wait = allowed || cost > limit ? null : Math.max(1, thaw - now);
    const id = allowed ? `permit-${++permits}` : null;
    if (id !== null) {
      bucket.used += cost;
      bucket.permits.add(id);
    }
    answer(response, 200, { allowed, id, remainingTokens: limit - bucket.used, retryAfterMs: wait,
      retryAfterSeconds: wait === null ? null : Math.ceil(wait / 1000), frozenUntil: timeOf(bucket, now), degraded: null });
  });
  return { url: fake.url, observed, stop: () => fake.stop(), open: () => [...buckets.values()].reduce((sum, one) => sum + one.permits.size, 0) };
}
