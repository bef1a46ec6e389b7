#!/usr/bin/env python3
"""The long runs of docs/verification.md, with the real binary: `./dev soak [kill|real|redis|histories|envoy] [options]`.

kill: kill -9 of `dripgate up` many times at random while events are published with ids and retries.
redis: a serve, workers, dispatchers and a consumer on one Redis; any of them is killed every 200 ms, and Redis itself once.
real: up, sink and publish in real time under a limit per minute.
envoy: a real Envoy at 5,000 requests/s; how many of its questions miss their 20 ms (soak_envoy.py).
Each prints what it counted and exits 1 when something is lost, a window is exceeded or an id is unknown."""
import argparse
import collections
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import soak_envoy

CONFIG = """store: {store}
streams:
  - id: payouts
    source: {{ {source}: payouts }}
    eventId: "{{payoutId}}"
    key: "merchant_{{merchant_id}}:payout"
    limits: [ {{ {limit} }} ]
    spread: {spread}
    maxDelay: 2h
    deliver: {{ http: "http://127.0.0.1:{sink}/payouts", timeout: 10s, maxAttempts: 8 }}
    overflowTopic: payout-events-overflow
    deadLetterTopic: payout-events-dlq
    onMissingKey: defaultKey
server: {{ listen: "127.0.0.1:{port}" }}
"""
START_WITHIN = 30.0      # seconds until a started process must listen
BURST = 250              # events of one key in a row: most of them must wait for a later second
DRAIN_WITHIN = 600.0     # seconds after the last kill or event: a release lease is 60 s


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


class Bench:
    """A sink and a `dripgate up` in a folder of their own; children are ended by their own id."""

    def __init__(self, binary, folder, limit, spread, redis=None):
        self.binary, self.folder = binary, pathlib.Path(folder)
        self.port, self.sink_port = free_port(), free_port()
        store = f'{{ redis: {{ url: "redis://127.0.0.1:{redis}" }} }}' if redis else "{ sqlite: ./dripgate.db }"
        (self.folder / "dripgate.yaml").write_text(
            CONFIG.format(store=store, source="redis" if redis else "embedded", limit=limit, spread=spread,
                          sink=self.sink_port, port=self.port))
        self.children = []
        self.up = None
        self.redis_port = redis
        self.sink = self.start(["sink", "--listen", f"127.0.0.1:{self.sink_port}", "--log", "sink.ndjson"], "sink.log")
        self.wait_for_port(self.sink, self.sink_port)
        if not redis:
            self.start_up()

    def start_redis(self):
        """AOF, every write synced: what a drip that lives in Redis asks for."""
        out = open(self.folder / "redis.log", "ab")
        child = subprocess.Popen(
            ["redis-server", "--port", str(self.redis_port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", "",
             "--appendonly", "yes", "--appendfsync", "always"], stdout=out, stderr=out)
        self.children.append(child)
        self.wait_for_port(child, self.redis_port)
        return child

    def kill(self, child):
        child.send_signal(signal.SIGKILL)
        child.wait()
        self.children.remove(child)

    def start(self, arguments, log, **options):
        out = open(self.folder / log, "ab")
        child = subprocess.Popen([self.binary, *arguments], cwd=self.folder, stdout=out, stderr=out, **options)
        self.children.append(child)
        return child

    def wait_for_port(self, child, port):
        end = time.monotonic() + START_WITHIN
        while not listens(port):
            if child.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"soak: a process does not listen; see its log:\n{self.tail()}")
            time.sleep(0.005)

    def start_up(self):
        self.up = self.start(["up", "-c", "dripgate.yaml"], "up.log")
        self.wait_for_port(self.up, self.port)

    def kill_up(self):
        self.kill(self.up)

    def status(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v1/streams/payouts", timeout=10) as answer:
            return json.load(answer)

    def deliveries(self):
        for line in (self.folder / "sink.ndjson").read_text().splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                pass  # the last line is still being written

    def tail(self):
        return "\n".join(p.read_text()[-1500:] for p in self.folder.glob("*.log"))

    def end(self):
        for child in self.children:
            if child.poll() is None:
                child.terminate()
        for child in self.children:
            try:
                child.wait(timeout=30)
            except subprocess.TimeoutExpired:
                child.kill()


def payout(number, keys):
    merchant = number // BURST % keys
    return f'{{"payoutId":"pay_{number}","merchant_id":"{merchant}","amount":2500.00}}\n'.encode()


def judge(bench, expected, window_chars, limit):
    """Counts what the sink confirmed. A window is the first characters of dripgate-released."""
    ids, pairs, per_window, times = set(), set(), collections.Counter(), collections.Counter()
    for delivery in bench.deliveries():
        if delivery["status"] == 200:
            ids.add(delivery["id"])
            times[delivery["id"]] += 1
        pair = (delivery["id"], delivery["released"])
        if pair not in pairs:  # a redelivery that went through the gate again counts again
            pairs.add(pair)
            per_window[(delivery["key"], delivery["released"][:window_chars])] += 1
    status = bench.status()
    result = {
        "events": len(expected),
        "distinct ids at the sink": len(ids & expected),
        "lost": len(expected - ids),
        "unknown ids": len(ids - expected),
        "delivered more than once (same id)": sum(1 for count in times.values() if count > 1),
        "fullest window": max(per_window.values(), default=0),
        "windows exceeded": sum(1 for count in per_window.values() if count > limit),
        "dead letters": status["deadLetters"],
        "backlog at the end": status["backlog"],
    }
    good = not (result["lost"] or result["unknown ids"] or result["windows exceeded"] or result["dead letters"]
                or result["backlog at the end"])
    return result, good


def wait_for_all(bench, expected):
    end = time.monotonic() + DRAIN_WITHIN
    while time.monotonic() < end:
        confirmed = {d["id"] for d in bench.deliveries() if d["status"] == 200}
        if expected <= confirmed:
            return
        time.sleep(1.0)


def report(title, details, result, good):
    print(f"\n### {title}\n\n{details}\n")
    for name, value in result.items():
        print(f"- {name}: {value}")
    print(f"- result: {'as promised' if good else 'NOT AS PROMISED'}")
    return 0 if good else 1


def run_kill(options, folder):
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    pick = random.Random(seed)
    bench = Bench(options.binary, folder, f"rps: {options.rps}", "even")
    began = time.monotonic()
    try:
        publisher = bench.start(["publish", "payouts", "-", "--url", f"http://127.0.0.1:{bench.port}", "--batch", "50",
                                 "--retries", "200", "--json"], "publish.log", stdin=subprocess.PIPE)
        # Published over the whole time of the kills, at most as fast as the limits let go.
        span = options.kills * 0.6
        rate = min(options.events / span, options.keys * options.rps)
        sent, kills, next_kill = 0, 0, began + pick.uniform(0.05, 1.1)
        while sent < options.events or kills < options.kills:
            now = time.monotonic()
            due = min(options.events, int((now - began) * rate) + 1)
            if sent < due:
                # At most 500 lines: a publisher that waits for the server must not hold up the kills.
                due = min(due, sent + 500)
                publisher.stdin.write(b"".join(payout(i, options.keys) for i in range(sent, due)))
                publisher.stdin.flush()
                sent = due
            if kills < options.kills and now >= next_kill:
                bench.kill_up()
                kills += 1
                bench.start_up()
                next_kill = time.monotonic() + pick.uniform(0.05, 1.1)
            time.sleep(0.005)
        publisher.stdin.close()
        if publisher.wait(timeout=DRAIN_WITHIN) != 0:
            print("publish did not take every event in:", (bench.folder / "publish.log").read_text())
        killed_for = time.monotonic() - began
        expected = {f"pay_{i}" for i in range(options.events)}
        wait_for_all(bench, expected)
        result, good = judge(bench, expected, len("2026-08-03T14:02:00"), options.rps)
        good = good and publisher.returncode == 0
        details = (f"kill -9 of `dripgate up` {kills} times at random (seed {seed}) within {killed_for:.0f} s while {options.events} events over "
                   f"{options.keys} keys were published with ids and retries, {options.rps} per second and key; all delivered after "
                   f"{time.monotonic() - began:.0f} s. publish: {(bench.folder / 'publish.log').read_text().strip().splitlines()[-1]}")
        return report("Kills", details, result, good)
    finally:
        bench.end()


PARTS = ["serve", "worker", "worker", "worker", "dispatch", "dispatch", "consume"]
KILL_EVERY = 0.2  # seconds


def run_redis(options, folder):
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    pick = random.Random(seed)
    bench = Bench(options.binary, folder, f"rps: {options.rps}", "even", redis=free_port())
    began = time.monotonic()
    try:
        redis = bench.start_redis()
        parts = [bench.start([part, "-c", "dripgate.yaml"], f"{part}.log") for part in PARTS]
        bench.wait_for_port(parts[0], bench.port)
        publisher = bench.start(["publish", "payouts", "-", "--url", f"http://127.0.0.1:{bench.port}", "--batch", "50",
                                 "--retries", "400", "--json"], "publish.log", stdin=subprocess.PIPE)
        rate = options.keys * options.rps
        sent, kills, redis_kills, next_kill = 0, 0, 0, time.monotonic() + KILL_EVERY
        started = time.monotonic()
        while sent < options.events:
            now = time.monotonic()
            due = min(options.events, int((now - started) * rate) + 1, sent + 500)
            publisher.stdin.write(b"".join(payout(i, options.keys) for i in range(sent, due)))
            publisher.stdin.flush()
            sent = due
            if now >= next_kill:
                next_kill = now + KILL_EVERY
                victim = pick.randrange(len(parts))
                bench.kill(parts[victim])
                parts[victim] = bench.start([PARTS[victim], "-c", "dripgate.yaml"], f"{PARTS[victim]}.log")
                kills += 1
            if not redis_kills and sent > options.events // 2:
                bench.kill(redis)
                redis = bench.start_redis()
                redis_kills += 1
            time.sleep(0.005)
        publisher.stdin.close()
        if publisher.wait(timeout=DRAIN_WITHIN) != 0:
            print("publish did not take every event in:", (bench.folder / "publish.log").read_text())
        killed_for = time.monotonic() - began
        expected = {f"pay_{i}" for i in range(options.events)}
        wait_for_all(bench, expected)
        end = time.monotonic() + DRAIN_WITHIN
        while (bench.status()["backlog"] or pending_entries(bench)) and time.monotonic() < end:
            time.sleep(1.0)
        result, good = judge(bench, expected, len("2026-08-03T14:02:00"), options.rps)
        result["entries pending or unread in any topic"] = pending_entries(bench)
        good = good and publisher.returncode == 0 and not result["entries pending or unread in any topic"]
        details = (f"{', '.join(PARTS)} on one Redis (AOF, always); kill -9 of one of them every {KILL_EVERY} s, {kills} times at random (seed {seed}), and "
                   f"of Redis once, within {killed_for:.0f} s while {options.events} events over {options.keys} keys were published with ids and "
                   f"retries, {options.rps} per second and key; all delivered and settled after {time.monotonic() - began:.0f} s.")
        return report("Parts on Redis", details, result, good)
    finally:
        bench.end()


def redis_words(bench, *words):
    out = subprocess.run(["redis-cli", "-p", str(bench.redis_port), *words], capture_output=True, text=True, check=True)
    return out.stdout.split()


def pending_entries(bench):
    """Entries left in the streams: acked ones are deleted."""
    cursor, left = "0", 0
    while True:
        cursor, *keys = redis_words(bench, "SCAN", cursor, "COUNT", "10000", "TYPE", "stream")
        left += sum(int(redis_words(bench, "XLEN", key)[0]) for key in keys)
        if cursor == "0":
            return left


def run_real(options, folder):
    source = pathlib.Path(__file__).resolve().parent.parent / "examples" / "payouts.ndjson"
    bench = Bench(options.binary, folder, f"rpm: {options.rpm}", "even")
    began = time.monotonic()
    try:
        subprocess.run([options.binary, "publish", "payouts", str(source), "--url", f"http://127.0.0.1:{bench.port}"],
                       check=True)
        expected = set()
        for line in source.read_text().splitlines():
            try:
                expected.add(json.loads(line)["payoutId"])
            except ValueError:
                pass  # malformed on purpose: must be a dead letter
        malformed = len(source.read_text().splitlines()) - len(expected)
        wait_for_all(bench, expected)
        result, good = judge(bench, expected, len("2026-08-03T14:02"), options.rpm)
        good = (not (result["lost"] or result["unknown ids"] or result["windows exceeded"] or result["backlog at the end"])
                and result["dead letters"] == malformed)
        minutes = collections.Counter()
        for delivery in {d["id"]: d for d in bench.deliveries()}.values():
            if delivery["key"] == "merchant_8421:payout":
                minutes[delivery["released"][11:16]] += 1
        result["merchant_8421:payout by minute"] = ", ".join(f"{m} {n}" for m, n in sorted(minutes.items()))
        details = (f"`up`, `sink`, `publish` of {source.name} in real time at {options.rpm} per minute and key: "
                   f"{time.monotonic() - began:.0f} s; {malformed} malformed lines are meant to be dead letters.")
        return report("Real time", details, result, good)
    finally:
        bench.end()


def run_histories(options, _folder):
    """Random histories of the gate's APIs against the plain model, on memory and on a Redis Cluster."""
    program = pathlib.Path(options.binary).parent / "integration_rls"
    done = subprocess.run([program, "--gtest_filter=*Histories.*"], stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"DRIPGATE_HISTORIES": str(options.histories)})
    details = "\n".join(line for line in done.stdout.splitlines() if not line.startswith(("Note:", "Running main")))
    return report("Histories", details, {}, done.returncode == 0)


def run_envoy(options, folder):
    result, good = soak_envoy.run(options, folder, free_port)
    details = (f"the example of deploy/envoy at {options.rate} requests/s for {options.seconds} s, memory store, "
               f"behind the filter {options.app}.")
    return report("Envoy", details, result, good)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", help="the build folder with the binary")
    parser.add_argument("run", nargs="?", choices=["kill", "real", "redis", "histories", "envoy", "all"], default="all")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--keys", type=int, default=20)
    parser.add_argument("--rps", type=int, default=50)
    parser.add_argument("--rpm", type=int, default=100)
    parser.add_argument("--histories", type=int, default=10_000)
    parser.add_argument("--rate", type=int, default=5_000, help="envoy: requests/s")
    parser.add_argument("--seconds", type=int, default=30, help="envoy: how long")
    parser.add_argument("--app", choices=["envoy", "nginx"], default="envoy", help="envoy: who answers behind the rate limit filter")
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    options.binary = str((pathlib.Path(options.build) / "dripgate").resolve())
    status = 0
    for name, run in (("kill", run_kill), ("redis", run_redis), ("real", run_real), ("histories", run_histories),
                      ("envoy", run_envoy)):
        if options.run in (name, "all"):
            with tempfile.TemporaryDirectory(prefix="dripgate-soak-") as folder:
                status |= run(options, folder)
    return status


if __name__ == "__main__":
    sys.exit(main())
