"""The worker's app of the Celery test. Redis' list `log` hears what it did: granted before after | called i | failed i."""

from __future__ import annotations

import os
import time
from typing import Any

import redis
from celery import Celery, Task

from dripgate import Client, Permit
from recipes.celery_task import retry_when_limited

REDIS_URL = os.environ["TEST_REDIS_URL"]
app = Celery("client_test", broker=REDIS_URL, backend=REDIS_URL)
app.conf.update(worker_prefetch_multiplier=1, task_acks_late=True, broker_connection_retry_on_startup=True)
log = redis.Redis.from_url(REDIS_URL, decode_responses=True)


class WatchedClient(Client):
    def acquire(self, *args: Any, **options: Any) -> Permit:
        before = time.time()
        permit = super().acquire(*args, **options)
        log.rpush("log", f"granted {before} {time.time()}" if permit.allowed else "denied")
        return permit


dripgate = WatchedClient(os.environ["TEST_DRIPGATE_URL"], timeout=10.0)  # made before the worker forks: its children dial anew


class Answer:
    status = 200


@app.task(bind=True, max_retries=0)
def limited(self: Task[Any, Any], index: int) -> int:
    """Not one retry is allowed: a wait must not count as one."""

    def call() -> Answer:
        log.rpush("log", f"called {index}")
        return Answer()

    with retry_when_limited(self):
        dripgate.execute_with_rate_limit("hubspot", {"portal": "42"}, call)
    return index


@app.task(bind=True, max_retries=2)
def failing(self: Task[Any, Any], index: int) -> None:
    """What really fails still has its own retries, and no more."""

    def call() -> Answer:
        log.rpush("log", f"failed {index}")
        raise ConnectionError("the vendor hung up")

    try:
        with retry_when_limited(self):
            dripgate.execute_with_rate_limit("hubspot", {"portal": "42"}, call)
    except ConnectionError as error:
        raise self.retry(exc=error, countdown=0) from error


@app.task
def unlimited() -> str:
    return "at once"
