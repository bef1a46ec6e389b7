"""Every bound of this client. Those of Dripgate itself: docs/http-api.md."""

CHECK_TIMEOUT_S = 1.0  # check, refund, explain, acquire, observe
PUBLISH_TIMEOUT_S = 10.0  # each attempt
TIMEOUT_S_MAX = 600.0

CONNECTIONS_MAX = 64  # more calls wait for one of them, within their own timeout
IDLE_CONNECTION_S = 30.0  # below the 60 s after which Dripgate closes
HEADER_BYTES_MAX = 64 * 1024
ANSWER_BYTES_MAX = 64 * 1024 * 1024  # 50,000 verdicts
READ_BYTES = 64 * 1024

CHECKS_MAX = 1_000  # of one request
EVENTS_MAX = 50_000  # of one request
EVENT_BYTES_MAX = 1024 * 1024
PUBLISH_BYTES_MAX = 10 * 1024 * 1024

PUBLISH_ATTEMPTS_MAX = 4
PUBLISH_BACKOFF_S = 0.2  # doubles, with jitter
PUBLISH_WAIT_S_MAX = 5.0  # longer ones are the caller's

OBSERVED_HEADERS_MAX = 64  # names that speak of limits
OBSERVED_HEADER_BYTES_MAX = 8 * 1024  # all of them together: a body of observe holds 16 KiB
# Told of a call of whose answer nobody knows the status: observe asks for one.
STATUS_OF_A_RESULT = 200
STATUS_OF_AN_ERROR = 599

VENDOR_DELAY_MS = 1_000  # after a 429 of which nobody knows more
