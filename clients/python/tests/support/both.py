"""Client and AsyncClient behind one face: every behaviour is tested of both."""

from __future__ import annotations

import asyncio
import inspect
import unittest
from typing import Any, Callable

from dripgate import AsyncClient, Client


class AsyncClientInTurns:
    """Each call runs to its end on a loop of its own."""

    def __init__(self, url: str, **options: Any) -> None:
        self._client = AsyncClient(url, **options)
        self._loop = asyncio.new_event_loop()

    def execute_with_rate_limit(self, vendor: str, attributes: Any, call: Callable[[], Any], **options: Any) -> Any:
        async def awaited() -> Any:
            return call()

        return self._run(self._client.execute_with_rate_limit(vendor, attributes, awaited, **options))

    def close(self) -> None:
        self._run(self._client.close())
        self._loop.close()

    def _run(self, call: Any) -> Any:
        return self._loop.run_until_complete(call)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if not inspect.iscoroutinefunction(method):
            return method
        return lambda *args, **options: self._run(method(*args, **options))


class ClientCase(unittest.TestCase):
    """A behaviour of both clients: `self.client(url)` is Client here; `of_both` adds the other."""

    make: Callable[..., Any] = Client

    def client(self, url: str, **options: Any) -> Any:
        client = type(self).make(url, **{"timeout": 10.0, **options})  # busy machines
        self.addCleanup(client.close)
        return client


def of_both(case: type[ClientCase]) -> type[ClientCase]:
    """The case for AsyncClient."""
    return type(f"{case.__name__}OfAsyncClient", (case,), {"make": AsyncClientInTurns, "__module__": case.__module__})
