"""Celery: a task whose vendor is at its limit goes back to the broker with the returned delay. The worker never sleeps, and the wait is no
failure: it uses up none of max_retries, which stay for what really fails.

    @app.task(bind=True, max_retries=3)
    def sync_contact(self, portal):
        with retry_when_limited(self):
            return dripgate.execute_with_rate_limit("hubspot", {"portal": portal}, lambda: requests.get(URL, timeout=10))

Redis as broker: keep the vendor's freezeCap (15 minutes) below `visibility_timeout` (1 hour), or waiting tasks are delivered twice.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator

from dripgate import RateLimitExceededError


@contextmanager
def retry_when_limited(task: Any) -> Iterator[None]:
    """task: the bound task (`self`)."""
    try:
        yield
    except RateLimitExceededError as error:
        task.request.retries -= 1  # retry() adds one
        raise task.retry(countdown=error.delay_ms / 1000, exc=error) from error
