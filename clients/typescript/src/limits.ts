/** Every bound of this client. Those of Dripgate itself: docs/http-api.md. */
export const CHECK_TIMEOUT_MS = 1_000; // check, refund, explain, acquire, observe
export const PUBLISH_TIMEOUT_MS = 10_000; // each attempt
export const TIMEOUT_MS_MAX = 600_000;

export const CONNECTIONS_MAX = 64; // more calls wait for one of them, within their own timeout
export const IDLE_CONNECTION_MS = 30_000; // below the 60 s after which Dripgate closes
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024; // 50,000 verdicts

export const CHECKS_MAX = 1_000; // of one request
export const EVENTS_MAX = 50_000; // of one request
export const EVENT_BYTES_MAX = 1024 * 1024;
export const PUBLISH_BYTES_MAX = 10 * 1024 * 1024;

export const PUBLISH_ATTEMPTS_MAX = 4;
export const PUBLISH_BACKOFF_MS = 200; // doubles, with jitter
export const PUBLISH_WAIT_MS_MAX = 5_000; // longer ones are the caller's

export const OBSERVED_HEADERS_MAX = 64; // names that speak of limits
export const OBSERVED_HEADER_BYTES_MAX = 8 * 1024; // all of them together: a body of observe holds 16 KiB
/** Told of a call of whose answer nobody knows the status: observe asks for one. */
export const STATUS_OF_A_RESULT = 200;
export const STATUS_OF_AN_ERROR = 599;

export const VENDOR_DELAY_MS = 1_000; // after a 429 of which nobody knows more
