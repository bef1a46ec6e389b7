/** Facts of a request: text, whole numbers, true, false. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** Units, or units by dimension, such as `{ requests: 1, tokens: 900 }`. */
export type Cost = number | Readonly<Record<string, number>>;

/** What every call takes. */
export interface CallOptions {
  /** Ends the call with the signal's reason. Dripgate may have counted all the same. */
  signal?: AbortSignal | undefined;
  /** From the start of the call to the last byte of the answer; default by kind of call (limits.ts). */
  timeoutMs?: number | undefined;
}

/** `open`: without an answer the request may pass, marked as degraded. `closed`: LimiterUnavailableError. */
export type FailureMode = "open" | "closed";

export interface GuardedOptions extends CallOptions {
  /** Default: that of the client. */
  failureMode?: FailureMode | undefined;
}

export interface CheckRequest {
  attributes: Attributes;
  /** Default 1; 0 asks without taking. */
  cost?: number | undefined;
  /** The same decision, nothing taken. */
  peek?: boolean | undefined;
  idempotencyKey?: string | undefined;
}

export interface PolicyDecision {
  policy: string;
  allowed: boolean;
  remaining: number | null;
  resetAfterSeconds: number | null;
  shadow?: true;
  unlimited?: true;
  skipped?: true;
  replayed?: true;
}

export interface Decision {
  allowed: boolean;
  /** What the caller should answer: 200, 429 or 503. */
  status: number;
  policy: string | null;
  limit: number | null;
  remaining: number | null;
  resetAfterSeconds: number | null;
  /** null: allowed, or waiting does not help. */
  retryAfterSeconds: number | null;
  retryAfterMs: number | null;
  /** What decided in place of the store; `open` too where Dripgate itself did not answer. */
  degraded: "local" | "open" | "closed" | null;
  /** For refund. */
  id: string | null;
  policies: readonly PolicyDecision[];
  /** What to send along with the answer. */
  headers: Readonly<Record<string, string>>;
  /** The body of a refusal, application/problem+json. */
  problem?: Readonly<Record<string, unknown>>;
}

/** One check of a batch that is wrong in itself. */
export interface CheckRefusal {
  status: number;
  error: string;
}

export interface Permit {
  allowed: boolean;
  /** For observe; null in failure mode open, and of a denial. */
  id: string | null;
  remainingTokens: number | null;
  retryAfterSeconds: number | null;
  retryAfterMs: number | null;
  /** RFC 3339 UTC. */
  frozenUntil: string | null;
  degraded: "local" | "open" | "closed" | null;
}

/** Names of headers with one value or several. */
export type VendorHeaders = Readonly<Record<string, string | readonly string[]>>;

export interface ObserveRequest {
  vendor: string;
  attributes: Attributes;
  /** Of the permit: it is given back. */
  id?: string | null | undefined;
  /** The vendor's HTTP status; 599 where it did not answer. */
  status: number;
  headers?: VendorHeaders | undefined;
  /** When the call began. */
  sentAt?: Date | undefined;
  /** What the call really took. */
  cost?: Cost | undefined;
}

export interface Observation {
  /** A limit of the vendor refused the call, in whatever form the vendor says so. */
  refused: boolean;
  frozenUntil: string | null;
  remainingTokens: number | null;
  retryAfterMs: number | null;
  /** What the answer changed. */
  applied: readonly string[];
}

/** An event: bytes or text as they are, anything else as JSON. */
export type Event = string | Uint8Array | Readonly<Record<string, unknown>> | readonly unknown[];

export interface Verdict {
  id: string;
  verdict: "now" | "scheduled" | "dead_letter" | "accepted";
  /** The moment of its release, RFC 3339 UTC. */
  slot: string | null;
  key: string | null;
  /** Of a dead letter. */
  reason: string | null;
  /** This id was done before. */
  duplicate: boolean;
}

/** One line of a batch that Dripgate did not take. */
export interface LineRefusal {
  line: number;
  status: number;
  error: string;
  id: string | null;
}
