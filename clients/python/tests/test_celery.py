"""The Celery recipe: 200 tasks under 50 per second with a real Redis as broker."""

from __future__ import annotations

import importlib.util
import os
import sys
import unittest
from collections import Counter
from pathlib import Path

from .support.programs import WITHOUT_REDIS, Program, start_redis
from .support.vendor_site import start_vendor_site

TASKS = 200
PER_WINDOW = 50
WINDOW_S = 1
FAILING = 2
ATTEMPTS_OF_FAILING = 3  # the first and max_retries=2
RESULT_S_MAX = 90
ROOT = Path(__file__).resolve().parent.parent
WITHOUT_CELERY = WITHOUT_REDIS or ("" if importlib.util.find_spec("celery") else "no Celery")


def fullest(granted: list[tuple[float, float]]) -> int:
    """The most grants that lie for sure in one window."""
    windows = [(int(before // WINDOW_S), int(after // WINDOW_S)) for before, after in granted]
    return max(Counter(first for first, last in windows if first == last).values())


@unittest.skipIf(WITHOUT_CELERY, WITHOUT_CELERY)
class CeleryRecipe(unittest.TestCase):
    def test_200_tasks_under_50_per_second_windows_exact_nothing_lost_no_retry_burnt(self) -> None:
        redis_server, port = start_redis()
        self.addCleanup(redis_server.stop)
        site = start_vendor_site(f"{{ limit: {PER_WINDOW}, window: {WINDOW_S}s }}", PER_WINDOW, WINDOW_S)
        self.addCleanup(site.stop)
        os.environ.update(TEST_REDIS_URL=f"redis://127.0.0.1:{port}/0", TEST_DRIPGATE_URL=site.url)
        from .support import celery_app  # it connects to what the environment names

        paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        options = ["--concurrency=4", "--loglevel=info", "--without-gossip", "--without-mingle", "--without-heartbeat"]
        results = [celery_app.limited.delay(index) for index in range(TASKS)]
        failing = [celery_app.failing.delay(index) for index in range(FAILING)]
        command = [sys.executable, "-m", "celery", "-A", "tests.support.celery_app", "worker", *options]
        worker = Program(command, r"celery@\S+ (ready)", env={"PYTHONPATH": paths})
        self.addCleanup(worker.stop)
        at_once = celery_app.unlimited.delay().get(timeout=RESULT_S_MAX)

        self.assertEqual(at_once, "at once")
        self.assertEqual([one.get(timeout=RESULT_S_MAX) for one in results], list(range(TASKS)))
        for one in failing:
            with self.assertRaises(ConnectionError):
                one.get(timeout=RESULT_S_MAX)
        log = [line.split() for line in celery_app.log.lrange("log", 0, -1)]
        called = [int(line[1]) for line in log if line[0] == "called"]
        granted = [(float(line[1]), float(line[2])) for line in log if line[0] == "granted"]
        self.assertEqual(sorted(called), list(range(TASKS)))
        self.assertEqual(len(granted), TASKS + FAILING * ATTEMPTS_OF_FAILING)
        self.assertEqual(Counter(line[1] for line in log if line[0] == "failed"), {str(i): ATTEMPTS_OF_FAILING for i in range(FAILING)})
        self.assertLessEqual(fullest(granted), PER_WINDOW)
        self.assertGreater(sum(line[0] == "denied" for line in log), 0)
        seconds = max(after for _, after in granted) - min(before for before, _ in granted)
        who = "dripgate" if site.real else "contract server"
        print(f"{who}: {len(granted)} calls in {seconds:.1f} s, at most {fullest(granted)} per window", file=sys.stderr)
