#!/usr/bin/env python3
"""Many workers in several processes against `dripgate sink --vendor`, through /v1/acquire and /v1/observe.

    tools/vendor_soak.py build/release/dripgate [--limit 50] [--real 50] [--processes 8] [--workers 20]
                         [--seconds 20] [--redis URL] [--profile generic]

Prints what the vendor served and refused. Everything is on 127.0.0.1, in a scratch folder, and ended at the end.
"""
import argparse, collections, http.client, json, multiprocessing, os, re, subprocess, sys, tempfile, threading, time

WAIT_MAX = 1.0  # of one nap of a worker, seconds


def call(connection, path, body):
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, answer.read(), answer.getheaders()


def work(api, vendor, until):
    gate = http.client.HTTPConnection("127.0.0.1", api, timeout=10)
    target = http.client.HTTPConnection("127.0.0.1", vendor, timeout=10)
    while time.time() < until:
        status, body, _ = call(gate, "/v1/acquire", {"vendor": "v"})
        granted = json.loads(body)
        if status != 200 or not granted["allowed"]:
            time.sleep(min(WAIT_MAX, granted.get("retryAfterMs", 100) / 1000))
            continue
        status, _, headers = call(target, "/", {})
        seen = collections.defaultdict(list)
        for name, value in headers:
            seen[name].append(value)
        call(gate, "/v1/observe", {"vendor": "v", "id": granted["id"], "status": status, "headers": seen})


def process(api, vendor, until, workers):
    threads = [threading.Thread(target=work, args=(api, vendor, until)) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def port_of(log, word):
    deadline = time.time() + 30
    while time.time() < deadline:
        found = re.search(word + r"\S*[:=](\d+)", open(log).read())
        if found:
            return int(found.group(1))
        time.sleep(0.05)
    sys.exit(f"nothing listens; see {log}")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("binary")
    options.add_argument("--limit", type=int, default=50)
    options.add_argument("--real", type=int, default=50)
    options.add_argument("--processes", type=int, default=8)
    options.add_argument("--workers", type=int, default=20)
    options.add_argument("--seconds", type=float, default=20)
    options.add_argument("--profile", default="generic")
    options.add_argument("--redis")
    asked = options.parse_args()
    folder = tempfile.mkdtemp(prefix="vendor-soak-")
    config = os.path.join(folder, "dripgate.yaml")
    store = f'{{ redis: {{ url: "{asked.redis}" }} }}' if asked.redis else "{ memory: {} }"
    with open(config, "w") as file:
        file.write(f"vendors: [ {{ id: v, limits: [ {{ limit: {asked.limit}, window: 1s }} ], profile: {asked.profile}, "
                   f"onStoreFailure: closed }} ]\nstore: {store}\n")
    deliveries = os.path.join(folder, "deliveries")
    logs = [os.path.join(folder, name) for name in ("vendor", "up")]
    commands = [[asked.binary, "sink", "--vendor", asked.profile, "--limit", f"{asked.real}/1s", "--listen", "127.0.0.1:0",
                 "--log", deliveries],
                [asked.binary, "up", "-c", config, "--port", "0"]]
    started = [subprocess.Popen(command, stdout=open(log, "w"), stderr=subprocess.STDOUT)
               for command, log in zip(commands, logs)]
    try:
        vendor, api = port_of(logs[0], "sink listens on 127"), port_of(logs[1], r"127\.0\.0\.1")
        until = time.time() + asked.seconds
        workers = [multiprocessing.Process(target=process, args=(api, vendor, until, asked.workers))
                   for _ in range(asked.processes)]
        begun = time.time()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        took = time.time() - begun
    finally:
        for running in reversed(started):
            running.terminate()
            running.wait()
    statuses = collections.Counter(json.loads(line)["status"] for line in open(deliveries))
    served = statuses[200]
    print(json.dumps({"served": served, "refused": sum(statuses.values()) - served, "seconds": round(took, 1),
                      "of_real_limit": round(served / (asked.real * asked.seconds), 3)}))


if __name__ == "__main__":
    main()
