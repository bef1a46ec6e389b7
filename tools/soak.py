#!/usr/bin/env python3
"""The long runs of docs/verification.md, with the real binary: `./dev soak [kill|real] [options]`.

kill: kill -9 of `dripgate up` many times at random while events are published with ids and retries.
real: up, sink and publish in real time under a limit per minute.
Each prints what it counted and exits 1 when something is lost, a window is exceeded or an id is unknown."""
import argparse
import collections
import json
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

CONFIG = """store: {{ sqlite: ./dripgate.db }}
streams:
  - id: payouts
    source: {{ embedded: payouts }}
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

    def __init__(self, binary, folder, limit, spread):
        self.binary, self.folder = binary, pathlib.Path(folder)
        self.port, self.sink_port = free_port(), free_port()
        (self.folder / "dripgate.yaml").write_text(
            CONFIG.format(limit=limit, spread=spread, sink=self.sink_port, port=self.port))
        self.children = []
        self.up = None
        self.sink = self.start(["sink", "--listen", f"127.0.0.1:{self.sink_port}", "--log", "sink.ndjson"], "sink.log")
        self.wait_for_port(self.sink, self.sink_port)
        self.start_up()

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
        self.up.send_signal(signal.SIGKILL)
        self.up.wait()
        self.children.remove(self.up)

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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", help="the build folder with the binary")
    parser.add_argument("run", nargs="?", choices=["kill", "real", "all"], default="all")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--keys", type=int, default=20)
    parser.add_argument("--rps", type=int, default=50)
    parser.add_argument("--rpm", type=int, default=100)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    options.binary = str((pathlib.Path(options.build) / "dripgate").resolve())
    status = 0
    for name, run in (("kill", run_kill), ("real", run_real)):
        if options.run in (name, "all"):
            with tempfile.TemporaryDirectory(prefix="dripgate-soak-") as folder:
                status |= run(options, folder)
    return status


if __name__ == "__main__":
    sys.exit(main())
