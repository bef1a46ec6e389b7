/** Everything this client throws, but for an abort (the signal's own reason) and a RangeError for arguments that cannot be sent. */
export class DripgateError extends Error {
  override name = "DripgateError";
}

/** Why there is no usable answer; closed: Dripgate's store is away and the vendor's onStoreFailure is closed, in every failure mode. */
export type UnavailableReason = "timeout" | "connection" | "status" | "answer" | "closed";

/** No usable answer from Dripgate: it is away, too slow, over its own capacity, or something else answers in its place. */
export class LimiterUnavailableError extends DripgateError {
  override name = "LimiterUnavailableError";

  /** @param retryAfterMs what a 429 or 503 of Dripgate asked for, else null
   *  @param status the HTTP status, null where none came */
  constructor(
    message: string,
    readonly reason: UnavailableReason,
    readonly status: number | null = null,
    readonly retryAfterMs: number | null = null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Dripgate understood the request and refuses it: waiting does not help, in no failure mode. */
export class RequestRefusedError extends DripgateError {
  override name = "RequestRefusedError";

  /** @param type the problem's type, such as "/errors/bad-request" */
  constructor(
    message: string,
    readonly status: number,
    readonly type: string,
  ) {
    super(message);
  }
}

/** The vendor's limit is used up, or the vendor itself said so. Put the job back with this delay; do not sleep in the worker. */
export class RateLimitExceededError extends DripgateError {
  override name = "RateLimitExceededError";

  /** @param delayMs whole milliseconds, at least 1
   *  @param frozenUntil until when nobody may call the vendor (RFC 3339 UTC), null while it is not frozen
   *  @param saidBy "dripgate": the call was not made; "vendor": it was made and refused */
  constructor(
    readonly vendor: string,
    readonly delayMs: number,
    readonly frozenUntil: string | null,
    readonly saidBy: "dripgate" | "vendor",
    options?: ErrorOptions,
  ) {
    super(`the limit of vendor '${vendor}' is used up: again in ${delayMs} ms`, options);
  }
}
