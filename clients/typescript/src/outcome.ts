/** What a call to a vendor came to, read from what its library returned or threw. */
import { OBSERVED_HEADER_BYTES_MAX, OBSERVED_HEADERS_MAX } from "./limits.js";
import type { VendorHeaders } from "./types.js";

export interface Outcome {
  /** undefined: the vendor did not answer. */
  status: number | undefined;
  headers: VendorHeaders;
}

/** Only these leave the process: the vendor's other headers may hold cookies and names. */
const SPEAKS_OF_LIMITS = /limit|retry-after|^date$|^age$/i;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

function pairsOf(headers: unknown): Iterable<readonly [unknown, unknown]> {
  if (!isObject(headers)) return [];
  if (typeof headers["entries"] === "function") return (headers as unknown as Headers).entries();
  if (typeof headers["toJSON"] === "function") return Object.entries((headers["toJSON"] as () => object).call(headers));
  return Object.entries(headers);
}

/** Those of the vendor's headers that speak of limits, in small letters, bounded.
 *  @param headers a Headers object, one of axios, or a plain object */
export function limitHeaders(headers: unknown): VendorHeaders {
  const found: Record<string, string | string[]> = {};
  let bytes = 0;
  for (const [name, value] of pairsOf(headers)) {
    if (typeof name !== "string" || !SPEAKS_OF_LIMITS.test(name)) continue;
    const values = (Array.isArray(value) ? value : [value]).filter((one) => typeof one === "string" || typeof one === "number").map(String);
    const size = name.length + values.reduce((sum, one) => sum + Buffer.byteLength(one), 0);
    if (values.length === 0 || bytes + size > OBSERVED_HEADER_BYTES_MAX) continue;
    bytes += size;
    found[name.toLowerCase()] = values.length === 1 ? String(values[0]) : values;
    if (Object.keys(found).length >= OBSERVED_HEADERS_MAX) break;
  }
  return found;
}

function statusOf(value: Record<string, unknown>): number | undefined {
  for (const status of [value["status"], value["statusCode"]]) {
    if (typeof status === "number" && status >= 100 && status <= 599) return status;
  }
  return undefined;
}

/** Of a fetch Response, an answer of axios, got, undici or node:http, or of an error that carries one. */
export function outcomeOf(value: unknown): Outcome {
  if (!isObject(value)) return { status: undefined, headers: {} };
  const status = statusOf(value);
  if (status === undefined && isObject(value["response"])) return outcomeOf(value["response"]);
  const headers = value["headers"] ?? (isObject(value["response"]) ? value["response"]["headers"] : undefined);
  return { status, headers: limitHeaders(headers) };
}

/** 429, or 503 with Retry-After: the vendor counts the call as one too many. */
export function isRateLimited(outcome: Outcome): boolean {
  return outcome.status === 429 || (outcome.status === 503 && outcome.headers["retry-after"] !== undefined);
}

/** The vendor's own Retry-After in ms, rounded up; null where it has none that can be read.
 *  For where Dripgate could not be asked: it reads every vendor's forms. */
export function retryAfterOf(outcome: Outcome, nowMs: number): number | null {
  const text = [outcome.headers["retry-after"] ?? ""].flat()[0]?.trim() ?? "";
  if (/^\d{1,9}(\.\d{1,9})?$/.test(text)) return Math.max(1, Math.ceil(Number(text) * 1000));
  const date = /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(1, date - nowMs);
}
