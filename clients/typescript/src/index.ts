export { Dripgate, type AcquireOptions, type CallResult, type DripgateOptions, type ExecuteOptions, type Operation } from "./client.js";
export { DripgateError, LimiterUnavailableError, RateLimitExceededError, RequestRefusedError, type UnavailableReason } from "./errors.js";
export { limitHeaders, outcomeOf, type Outcome } from "./outcome.js";
export type { PublishOneOptions, PublishOptions } from "./publishing.js";
export type * from "./types.js";
