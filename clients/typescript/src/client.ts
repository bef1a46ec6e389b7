/** The client: one instance per process and Dripgate, shared by everything in it. */
import * as answers from "./answers.js";
import { DripgateError, LimiterUnavailableError, RateLimitExceededError, RequestRefusedError } from "./errors.js";
import { CHECK_TIMEOUT_MS, CHECKS_MAX, PUBLISH_TIMEOUT_MS, STATUS_OF_A_RESULT, STATUS_OF_AN_ERROR, TIMEOUT_MS_MAX, VENDOR_DELAY_MS } from "./limits.js";
import { isRateLimited, outcomeOf, retryAfterOf, type Outcome } from "./outcome.js";
import * as publishing from "./publishing.js";
import { Transport, type Answer, type TransportOptions } from "./transport.js";
import type * as wire from "./types.js";

/** What could not be asked, for logs and metrics. */
export type Operation = "check" | "acquire" | "observe";

export interface DripgateOptions extends TransportOptions {
  /** Of check, checkAll, acquire and executeWithRateLimit; default closed. */
  failureMode?: wire.FailureMode | undefined;
  /** Of check, refund, explain, acquire, observe; default 1 s. */
  timeoutMs?: number | undefined;
  /** Of each attempt to publish; default 10 s. */
  publishTimeoutMs?: number | undefined;
  /** Told whenever failure mode open decided, or an observation was lost. Must not throw. */
  onUnavailable?: ((error: LimiterUnavailableError, operation: Operation) => void) | undefined;
}

export interface AcquireOptions extends wire.GuardedOptions {
  cost?: wire.Cost | undefined;
}

/** What a call came to. */
export type CallResult<T> = { value: T } | { error: unknown };

export interface ExecuteOptions<T> extends AcquireOptions {
  /** Reads status and headers where the call's library is none of those that outcomeOf knows. */
  outcome?: ((result: CallResult<T>) => Outcome) | undefined;
  /** What the call really took, known from its answer, such as tokens. */
  actualCost?: ((value: T) => wire.Cost | undefined) | undefined;
}

const OPEN_DECISION: wire.Decision = {
  allowed: true, status: 200, policy: null, limit: null, remaining: null, resetAfterSeconds: null, retryAfterSeconds: null,
  retryAfterMs: null, degraded: "open", id: null, policies: [], headers: {},
};

const OPEN_PERMIT: wire.Permit = {
  allowed: true, id: null, remainingTokens: null, retryAfterSeconds: null, retryAfterMs: null, frozenUntil: null, degraded: "open",
};

export class Dripgate {
  readonly #transport: Transport;
  readonly #options: DripgateOptions;

  constructor(options: DripgateOptions) {
    this.#options = options;
    this.#transport = new Transport(options);
  }

  /** One decision, allowed or not. Sent once: after a timeout Dripgate may have counted it. */
  check(request: wire.CheckRequest, options: wire.GuardedOptions = {}): Promise<wire.Decision> {
    return this.#guarded("check", options, OPEN_DECISION, async () => answers.readDecision(await this.#ask("/v1/check", request, options)));
  }

  /** 1 to 1,000 decisions in order; a check that is wrong in itself is a CheckRefusal in its place. */
  async checkAll(requests: readonly wire.CheckRequest[], options: wire.GuardedOptions = {}): Promise<(wire.Decision | wire.CheckRefusal)[]> {
    if (requests.length === 0 || requests.length > CHECKS_MAX) throw new RangeError(`${requests.length} checks; accepted: 1 to ${CHECKS_MAX} at once`);
    const open = requests.map(() => OPEN_DECISION);
    return this.#guarded("check", options, open, async () =>
      answers.readDecisions(await this.#ask("/v1/check", { checks: requests }, options), requests.length));
  }

  /** Gives back what an allowed check took; false: it was given back before, or its window is over. */
  async refund(id: string, options: wire.CallOptions = {}): Promise<boolean> {
    return answers.readRefunded(await this.#ask("/v1/refund", { id }, options));
  }

  /** Which policies match, why not the others, what is left; takes nothing. The answer as it is on the wire. */
  async explain(request: wire.CheckRequest, options: wire.CallOptions = {}): Promise<Readonly<Record<string, unknown>>> {
    return answers.objectOf(await this.#ask("/v1/explain", request, options));
  }

  /** Asks for one call to a vendor. Give the permit back with observe, whatever becomes of the call. */
  acquire(vendor: string, attributes: wire.Attributes, options: AcquireOptions = {}): Promise<wire.Permit> {
    const body = { vendor, attributes, cost: options.cost };
    return this.#guarded("acquire", options, OPEN_PERMIT, async () => answers.readPermit(await this.#ask("/v1/acquire", body, options)));
  }

  /** Tells what the vendor answered: a 429 stops every worker. Sent once: a second one would count as another answer. */
  async observe(request: wire.ObserveRequest, options: wire.CallOptions = {}): Promise<wire.Observation> {
    const body = { ...request, id: request.id ?? undefined, sentAt: request.sentAt?.toISOString() };
    return answers.readObservation(await this.#ask("/v1/observe", body, options));
  }

  /** Calls the vendor within its limit and tells Dripgate what it answered. Never waits: where the limit is used up, or the vendor
   *  says so, it throws RateLimitExceededError with the delay for the worker's own queue. */
  async executeWithRateLimit<T>(
    vendor: string, attributes: wire.Attributes, call: (permit: wire.Permit) => Promise<T>, options: ExecuteOptions<T> = {},
  ): Promise<T> {
    const permit = await this.acquire(vendor, attributes, options);
    if (!permit.allowed) throw denied(vendor, permit);
    const sentAt = new Date();
    const read = options.outcome ?? ((result: CallResult<T>) => outcomeOf("value" in result ? result.value : result.error));
    const settle = async (result: CallResult<T>): Promise<void> => {
      let outcome: Outcome = { status: undefined, headers: {} };
      const unknown = "value" in result ? STATUS_OF_A_RESULT : STATUS_OF_AN_ERROR;
      let cost: wire.Cost | undefined;
      let observed: wire.Observation | null = null;
      try {
        outcome = read(result);
        if ("value" in result) cost = options.actualCost?.(result.value);
      } finally {  // whatever the readers throw, the permit is given back
        observed = await this.#settle({ vendor, attributes, id: permit.id, status: outcome.status ?? unknown, headers: outcome.headers, sentAt, cost });
      }
      const cause = "value" in result ? result.value : result.error;
      if (observed?.refused === true || isRateLimited(outcome)) throw refusedByVendor(vendor, outcome, observed, cause);
    };
    let value: T;
    try {
      value = await call(permit);
    } catch (error) {
      await settle({ error });
      throw error;
    }
    await settle({ value });
    return value;
  }

  /** Hands over one event; it is on disk when this returns. Sent again after a lost answer only if it has an id. */
  async publish(stream: string, event: wire.Event, options: publishing.PublishOneOptions = {}): Promise<wire.Verdict> {
    const body = publishing.oneBody(event);
    const headers = publishing.headersOf(options, options.contentType ?? "application/json");
    return publishing.withRetries(async () => answers.readVerdict(await this.#publish(stream, headers, body, options)), options);
  }

  /** Hands over up to 50,000 events in one request; one answer for each, in order. */
  async publishAll(stream: string, events: readonly wire.Event[], options: publishing.PublishOptions = {}): Promise<(wire.Verdict | wire.LineRefusal)[]> {
    const body = publishing.linesBody(events);
    const headers = publishing.headersOf(options, "application/x-ndjson");
    return publishing.withRetries(async () => answers.readVerdicts(await this.#publish(stream, headers, body, options), events.length), options);
  }

  /** Closes the kept connections; calls in flight fail. */
  close(): void {
    this.#transport.close();
  }

  #ask(path: string, body: unknown, options: wire.CallOptions): Promise<Answer> {
    return this.#transport.send({
      path,
      headers: { "Content-Type": "application/json" },
      body: Buffer.from(JSON.stringify(body), "utf8"),
      timeoutMs: timeoutOf(options.timeoutMs ?? this.#options.timeoutMs ?? CHECK_TIMEOUT_MS),
      signal: options.signal,
    });
  }

  #publish(stream: string, headers: Record<string, string>, body: Buffer, options: wire.CallOptions): Promise<Answer> {
    const timeoutMs = timeoutOf(options.timeoutMs ?? this.#options.publishTimeoutMs ?? PUBLISH_TIMEOUT_MS);
    return this.#transport.send({ path: publishing.pathOf(stream), headers, body, timeoutMs, signal: options.signal });
  }

  async #guarded<T>(operation: Operation, options: wire.GuardedOptions, open: T, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      const mode = options.failureMode ?? this.#options.failureMode ?? "closed";
      if (!(error instanceof LimiterUnavailableError) || error.reason === "closed" || mode !== "open") throw error;
      this.#options.onUnavailable?.(error, operation);
      return open;
    }
  }

  /** The call was made: its result must not be lost because Dripgate is away. The permit then returns with its lease. */
  async #settle(request: wire.ObserveRequest): Promise<wire.Observation | null> {
    try {
      return await this.observe(request);
    } catch (error) {
      if (!(error instanceof DripgateError)) throw error;
      const told = error instanceof LimiterUnavailableError ? error : new LimiterUnavailableError(error.message, "status", null, null, { cause: error });
      this.#options.onUnavailable?.(told, "observe");
      return null;
    }
  }
}

function denied(vendor: string, permit: wire.Permit): DripgateError {
  if (permit.retryAfterMs !== null) return new RateLimitExceededError(vendor, Math.max(1, Math.ceil(permit.retryAfterMs)), permit.frozenUntil, "dripgate");
  return new RequestRefusedError(`vendor '${vendor}': waiting does not help, the cost is over the limit`, 429, "/errors/cost-exceeds-limit");
}

function refusedByVendor(vendor: string, outcome: Outcome, observed: wire.Observation | null, cause: unknown): RateLimitExceededError {
  const now = Date.now();
  const frozen = observed?.frozenUntil == null ? null : Math.max(1, Date.parse(observed.frozenUntil) - now);
  const delay = observed?.retryAfterMs ?? frozen ?? retryAfterOf(outcome, now) ?? VENDOR_DELAY_MS;
  return new RateLimitExceededError(vendor, Math.max(1, Math.ceil(delay)), observed?.frozenUntil ?? null, "vendor", { cause });
}

function timeoutOf(ms: number): number {
  if (ms > 0 && ms <= TIMEOUT_MS_MAX) return ms;
  throw new RangeError(`a timeout of ${ms} ms; accepted: more than 0, at most ${TIMEOUT_MS_MAX}`);
}
