"""One client for many: threads, forked processes, cancelled tasks."""

from __future__ import annotations

import asyncio
import os
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

from dripgate import AsyncClient, Client

from .support.fake_dripgate import FakeDripgate, Handler, Seen

ALLOWED = {"allowed": True, "status": 200, "policies": [], "headers": {}}
TIMEOUT_S = 10.0


def named(handler: Handler, seen: Seen, _count: int) -> None:
    """Answers with the asker's own name."""
    handler.answer(200, {**ALLOWED, "policy": seen.json()["attributes"]["name"]})


class Sharing(unittest.TestCase):
    def fake(self) -> FakeDripgate:
        fake = FakeDripgate(named)
        self.addCleanup(fake.stop)
        return fake

    def test_threads_get_their_own_answers_over_few_connections(self) -> None:
        fake = self.fake()
        with Client(fake.url, timeout=TIMEOUT_S) as client, ThreadPoolExecutor(8) as threads:
            names = [f"n-{i}" for i in range(200)]
            self.assertEqual([one.policy for one in threads.map(lambda name: client.check({"name": name}), names)], names)
        self.assertLessEqual(fake.connections, 8)

    def test_a_forked_child_dials_anew(self) -> None:
        fake = self.fake()
        with Client(fake.url, timeout=TIMEOUT_S) as client:
            client.check({"name": "parent"})
            child = os.fork()
            if child == 0:
                answer = client.check({"name": "child"})
                os._exit(0 if answer.policy == "child" else 1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertEqual(client.check({"name": "parent"}).policy, "parent")
        self.assertEqual(fake.connections, 2)

    def test_a_cancelled_call_closes_its_connection_and_the_next_one_has_its_own_answer(self) -> None:
        asked, go_on = threading.Event(), threading.Event()

        def slow_at_first(handler: Handler, seen: Seen, count: int) -> None:
            if count == 1:
                asked.set()
                go_on.wait()
            named(handler, seen, count)

        fake = self.fake()
        fake.behaviour = slow_at_first
        self.addCleanup(go_on.set)

        async def cancel_and_ask_again() -> str | None:
            client = AsyncClient(fake.url, timeout=TIMEOUT_S)
            first = asyncio.ensure_future(client.check({"name": "first"}))
            await asyncio.get_running_loop().run_in_executor(None, asked.wait)
            first.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await first
            answer = await client.check({"name": "second"})
            await client.close()
            return answer.policy

        self.assertEqual(asyncio.run(cancel_and_ask_again()), "second")
        self.assertEqual(fake.connections, 2)

    def test_many_tasks_at_once_wait_for_one_of_the_connections(self) -> None:
        fake = self.fake()

        async def ask() -> list[str | None]:
            client = AsyncClient(fake.url, timeout=TIMEOUT_S)
            answers = await asyncio.gather(*(client.check({"name": f"n-{i}"}) for i in range(200)))
            await client.close()
            return [one.policy for one in answers]

        self.assertEqual(asyncio.run(ask()), [f"n-{i}" for i in range(200)])
        self.assertLessEqual(fake.connections, 64)
