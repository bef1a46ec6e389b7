#!/usr/bin/env python3
"""The installed library: cmake --install, headers as C++20 with g++ and clang, examples built outside of the tree, and run.

    run.py BUILD_FOLDER       (ctest: integration_embed)
Ends with 77 where this machine cannot run it, and says why."""
import collections
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
PATIENCE = 60.0  # seconds until what must come has come, on a busy machine
children = []  # end with this program, however it ends


def start(*command, **options):
    children.append(subprocess.Popen([str(word) for word in command], **options))
    return children[-1]


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}{done.stderr[-8000:]}")
    return done.stdout


def check(holds, what):
    if not holds:
        sys.exit(f"FAILED: {what}")


def await_that(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        check(time.monotonic() < end, f"not within {PATIENCE} s: {what}")
        time.sleep(0.02)


def headers_compile(prefix, scratch):
    headers = sorted((prefix / "include/dripgate").glob("*.h"))
    check({"limiter.h", "policy.h", "decision.h", "scheduler.h", "vendor.h"} <= {h.name for h in headers}, f"headers: {headers}")
    # In one file each, forwards and backwards: so each header comes before what it could lean on.
    for compiler, order in (("g++", headers), ("clang++-19", headers[::-1])):
        together = scratch / "headers.cc"
        together.write_text("".join(f"#include <dripgate/{header.name}>\n" for header in order))
        run(compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", f"-I{prefix}/include",
            together)


def build_example(name, prefix, scratch):
    source = scratch / "src" / name
    shutil.copytree(SOURCE / "examples" / name, source)
    folder = scratch / "build" / name
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    run("cmake", "-G", "Ninja", "-S", source, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_COMPILER=g++",
        "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O1 -Wall -Wextra", *launcher)
    run("cmake", "--build", folder)
    return folder


class Service:
    """examples/embed, running."""

    def __init__(self, program, config):
        self.process = start(program, config, "0", stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, method, path, **headers):
        self.connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = self.connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode()

    def stop(self):
        self.connection.close()
        self.process.send_signal(signal.SIGTERM)
        check(self.process.wait(PATIENCE) == 0, "the service ends in order")


def until_refused(service):
    """Asks at once until the first refusal. Twenty pass, and one more for each 0.6 s that this took on a busy machine."""
    began = time.monotonic()
    answers = [service.ask("GET", "/orders", X_API_Key="k-1")]
    while answers[-1][0] != 429:
        check(answers[-1][0] == 200 and len(answers) < 1000, f"passed or refused: {answers[-1]}")
        answers.append(service.ask("GET", "/orders", X_API_Key="k-1"))
    came_back = int((time.monotonic() - began) / 0.6)
    check(20 <= len(answers) - 1 <= 20 + came_back, f"{len(answers) - 1} passed, {came_back} units came back meanwhile")
    return answers


def embed_holds_the_contract(folder):
    service = Service(folder / "embed_service", SOURCE / "examples/embed/gate.yaml")
    *passed, (status, headers, body) = until_refused(service)
    check(passed[0][1]["RateLimit"] == '"api-free";r=19;t=1', passed[0])
    check(passed[0][1]["RateLimit-Policy"] == '"api-free";q=100;w=60', passed[0])
    check(passed[0][2] == "served /orders\n", passed[0])
    expected = {"RateLimit": '"api-free";r=0;t=1', "RateLimit-Policy": '"api-free";q=100;w=60', "Retry-After": "1",
                "Cache-Control": "no-store", "Content-Type": "application/problem+json"}
    check({name: headers.get(name) for name in expected} == expected, f"headers of the refusal: {headers}")
    problem = json.loads(body)
    expected = {"type": "/errors/rate-limited", "title": "Too Many Requests", "status": 429, "code": "RATE_LIMITED",
                "policy": "api-free", "retryAfterSeconds": 1, "violated-policies": ["api-free"]}
    check({name: problem.get(name) for name in expected} == expected, f"problem of the refusal: {body}")

    def transfer(cookie, **more):
        return service.ask("POST", "/transfers", Cookie=cookie, **more)

    answers = [transfer("session=s-manoj") for _ in range(4)]
    check([answer[0] for answer in answers] == [200, 200, 200, 429], f"three transfers a minute: {answers}")
    check(json.loads(answers[3][2])["policy"] == "transfers", answers[3])
    check(transfer("a=b; session=s-manoj", X_Forwarded_For="203.0.113.9")[0] == 429, "the session counts, not the address")
    check(transfer("session=s-asha")[0] == 200, "another user has a budget of their own")
    check([transfer("session=made-up")[0] for _ in range(5)] == [200] * 5, "who is nobody has no user's budget")
    service.stop()


def a_consumer_loses_nothing(program, scratch, environment=None):
    """Killed twice and fed the same events again."""
    limit, merchants, each = 5, ("m1", "m2"), 30
    events = [json.dumps({"id": f"{m}-{i}", "merchant": m}) for i in range(each) for m in merchants]
    scratch.mkdir()
    unusable = ['{"id": 7, "merchant": "m1"}', '{"id": "", "merchant": "m1"}', '"m1"', json.dumps({"id": "l", "merchant": "m1", "x": "x" * 200_000})]
    (scratch / "events.ndjson").write_text("\n".join(unusable + events) + "\n")
    sink = scratch / "sink.log"

    def consume():
        return start(program, scratch, limit, 1, stdin=(scratch / "events.ndjson").open(), env=environment)

    def deliveries():
        lines = sink.read_text().splitlines() if sink.exists() else []
        return [(int(at), merchant, event) for at, merchant, event in (line.split() for line in lines if line.count(" ") == 2)]

    kills = (12, 35)
    for count in kills:
        consumer = consume()
        await_that(lambda: len({event for _, _, event in deliveries()}) >= count or consumer.poll() is not None, f"{count} deliveries")
        check(consumer.poll() is None, "the consumer runs until it is killed")
        consumer.kill()
        consumer.wait()
    consumer = consume()
    wanted = {json.loads(event)["id"] for event in events}
    await_that(lambda: {event for _, _, event in deliveries()} == wanted or consumer.poll() not in (None, 0), "every event")
    check(consumer.poll() in (None, 0), "the consumer goes on")
    if program.name == "own_consumer":
        await_that(lambda: consumer.poll() is not None, "the end of the consumer: nothing is left")
        check(consumer.poll() == 0, "the consumer ends well")
    consumer.kill()
    consumer.wait()

    releases = set(deliveries())
    windows = collections.Counter((merchant, at // 1_000_000) for at, merchant, _ in releases)
    check(max(windows.values()) <= limit, f"releases per window: {windows}")
    check(all(sum(m == merchant for m, _ in windows) >= each // limit for merchant in merchants), f"windows: {windows}")
    again = len(releases) - len(wanted)
    check(again <= len(kills), f"{again} events were released again after {len(kills)} kills")
    print(f"{program.name}: {len(wanted)} events in {len(windows)} windows, at most {max(windows.values())} in one, {again} again")


def cloud_consumer_loses_nothing(folder, build, scratch):
    """Its timer is our Cloud Tasks, where every seventh answer is lost and every fifth call comes to nothing."""
    if not (build / "tasks_fake").exists() or not (folder / "cloud_consumer").exists():
        return print("did not run: cloud_consumer (a build without gRPC)")
    cloud = start(build / "tasks_fake", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    endpoint = cloud.stdout.readline().strip()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    a_consumer_loses_nothing(folder / "cloud_consumer", scratch, os.environ | {
        "PORT": str(port), "CLOUD_TASKS_QUEUE": "projects/acme/locations/asia-south1/queues/payouts",
        "CLOUD_TASKS_TARGET": f"http://127.0.0.1:{port}/tasks", "CLOUD_TASKS_ACCOUNT": "tasks@acme.iam.gserviceaccount.com",
        "CLOUD_TASKS_EMULATOR_HOST": endpoint})
    told = json.loads(cloud.communicate("", timeout=PATIENCE)[0])
    check(told["created"] >= 50 and told["existed"] > 0 and told["attempts"] >= 50, f"Cloud Tasks: {told}")
    print(f"cloud_consumer: {told}")


def vendor_worker_keeps_to_what_the_vendor_takes(folder):
    jobs, limit = 40, 10  # the worker believes in 20 per second
    words = run(folder / "vendor_worker", jobs, limit, timeout=PATIENCE).split()
    done, refused, most = (int(words[words.index(name) + 1]) for name in ("done", "refused", "most"))
    check((done, most <= limit) == (jobs, True), f"vendor_worker: {words}")
    check(refused < jobs, f"a refusal stops the others: {words}")
    print(f"vendor_worker: {done} jobs, {refused} calls refused")


def main():
    missing = [program for program in ("g++", "clang++-19", "cmake", "ninja") if shutil.which(program) is None]
    if missing:
        print(f"skipped: {', '.join(missing)} is not installed")
        return 77
    with tempfile.TemporaryDirectory(prefix="dripgate-embed-") as name:
        scratch = pathlib.Path(name)
        prefix = scratch / "prefix"
        run("cmake", "--install", sys.argv[1], "--prefix", prefix)
        check("dripgate" in run(prefix / "bin/dripgate", "--version"), "the installed binary runs")
        headers_compile(prefix, scratch)
        embed_holds_the_contract(build_example("embed", prefix, scratch))
        vendor_worker_keeps_to_what_the_vendor_takes(build_example("vendor_worker", prefix, scratch))
        consumers = build_example("own_consumer", prefix, scratch)
        a_consumer_loses_nothing(consumers / "own_consumer", scratch / "own")
        cloud_consumer_loses_nothing(consumers, pathlib.Path(sys.argv[1]).resolve(), scratch / "cloud")
    print("the installed library holds")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
    try:
        sys.exit(main())
    finally:
        for child in children:
            child.kill()
