"""Client of Dripgate: checks, vendor limits and events that leave within the limit. Client for threads, AsyncClient for asyncio."""

from ._aio import AsyncClient
from ._calls import Observed
from ._outcome import Outcome, limit_headers, outcome_of
from ._sync import Client
from .answers import CheckRefusal, Decision, LineRefusal, Observation, Permit, PolicyDecision, Verdict
from .errors import DripgateError, LimiterUnavailableError, RateLimitExceededError, RequestRefusedError

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "CheckRefusal",
    "Client",
    "Decision",
    "DripgateError",
    "LimiterUnavailableError",
    "LineRefusal",
    "Observation",
    "Observed",
    "Outcome",
    "Permit",
    "PolicyDecision",
    "RateLimitExceededError",
    "RequestRefusedError",
    "Verdict",
    "limit_headers",
    "outcome_of",
]
