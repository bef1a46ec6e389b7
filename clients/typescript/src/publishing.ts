/** Events as request bodies, and when a refused or lost request may be sent again. */
import { DripgateError, LimiterUnavailableError } from "./errors.js";
import { EVENT_BYTES_MAX, EVENTS_MAX, PUBLISH_ATTEMPTS_MAX, PUBLISH_BACKOFF_MS, PUBLISH_BYTES_MAX, PUBLISH_WAIT_MS_MAX } from "./limits.js";
import type { CallOptions, Event } from "./types.js";

export interface PublishOptions extends CallOptions {
  /** The event's id, 1–256 printable ASCII characters; of a batch, line n is `<id>-<n>` unless the stream's `eventId` names it. */
  id?: string | undefined;
  /** Sent again after a lost answer. Default: whether `id` is given. Set it where the stream's `eventId` template names the events. */
  idempotent?: boolean | undefined;
  /** Attributes for the stream's templates, delivered as `dripgate-attr-<name>`. */
  attributes?: Readonly<Record<string, string>> | undefined;
  traceparent?: string | undefined;
}

export interface PublishOneOptions extends PublishOptions {
  /** Delivered with an event that is not JSON. */
  contentType?: string | undefined;
}

const NEWLINE = 0x0a;

/** The bytes of one event. */
export function bytesOf(event: Event): Buffer {
  if (typeof event === "string") return Buffer.from(event, "utf8");
  if (event instanceof Uint8Array) return Buffer.from(event.buffer, event.byteOffset, event.byteLength);
  return Buffer.from(JSON.stringify(event), "utf8");
}

export function oneBody(event: Event): Buffer {
  const bytes = bytesOf(event);
  if (bytes.length === 0 || bytes.length > EVENT_BYTES_MAX) {
    throw new RangeError(`an event of ${bytes.length} bytes; accepted: 1 to ${EVENT_BYTES_MAX}`);
  }
  return bytes;
}

/** One event per line. Dripgate skips blank lines and ends an event at a newline: such events are refused here. */
export function linesBody(events: readonly Event[]): Buffer {
  if (events.length === 0 || events.length > EVENTS_MAX) throw new RangeError(`${events.length} events; accepted: 1 to ${EVENTS_MAX} at once`);
  const parts: Buffer[] = [];
  let total = 0;
  for (const [index, event] of events.entries()) {
    const bytes = oneBody(event);
    if (bytes.includes(NEWLINE)) throw new RangeError(`event ${index + 1} of the batch has a newline; accepted: one line each`);
    if (bytes.toString("utf8").trim() === "") throw new RangeError(`event ${index + 1} of the batch is blank`);
    parts.push(bytes, Buffer.of(NEWLINE));
    total += bytes.length + 1;
  }
  if (total > PUBLISH_BYTES_MAX) throw new RangeError(`${total} bytes of events; accepted: ${PUBLISH_BYTES_MAX} at once`);
  return Buffer.concat(parts, total);
}

export function pathOf(stream: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(stream)) throw new RangeError(`stream '${stream}'; accepted: 1 to 64 letters, digits, '.', '_', '-'`);
  return `/v1/streams/${stream}/events`;
}

export function headersOf(options: PublishOptions, contentType: string): Record<string, string> {
  const headers: Record<string, string> = { "Content-Type": contentType };
  if (options.id !== undefined) headers["Dripgate-Id"] = options.id;
  if (options.traceparent !== undefined) headers["traceparent"] = options.traceparent;
  for (const [name, value] of Object.entries(options.attributes ?? {})) headers[`Dripgate-Attr-${name}`] = value;
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name) || !/^[\x20-\x7e]+$/.test(value)) {
      throw new RangeError(`'${name}': accepted: a header's name, and printable ASCII as its value`);
    }
  }
  return headers;
}

/** ms to wait before another attempt, null: give up.
 *  429 stored nothing, so it is safe for every event; after anything else the event may be stored, so it takes an id. */
function waitBefore(attempt: number, error: unknown, idempotent: boolean): number | null {
  if (!(error instanceof LimiterUnavailableError) || attempt >= PUBLISH_ATTEMPTS_MAX) return null;
  const passing = error.reason === "timeout" || error.reason === "connection" || [429, 502, 503, 504].includes(error.status ?? 0);
  if (!passing || (!idempotent && error.status !== 429)) return null;
  const backoff = PUBLISH_BACKOFF_MS * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
  const wait = Math.max(backoff, error.retryAfterMs ?? 0);
  return wait <= PUBLISH_WAIT_MS_MAX ? wait : null;
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      if (signal?.aborted) reject(signal.reason as Error);
      else resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end, { once: true });
    if (signal?.aborted) end();
  });
}

/** Runs `attempt` until it succeeds or another try would not be safe, or not soon. */
export async function withRetries<T>(attempt: () => Promise<T>, options: PublishOptions): Promise<T> {
  const idempotent = options.idempotent ?? options.id !== undefined;
  for (let tries = 1; tries <= PUBLISH_ATTEMPTS_MAX; ++tries) {
    try {
      return await attempt();
    } catch (error) {
      const wait = waitBefore(tries, error, idempotent);
      if (wait === null) throw error;
      await pause(wait, options.signal);
    }
  }
  throw new DripgateError("unreachable: the last attempt throws or returns");
}
