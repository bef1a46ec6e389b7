"""A real Envoy at a steady rate with Dripgate as its rate limit service: `./dev soak envoy`. Envoy's own counters say how
many questions missed the 20 ms that the example gives them (deploy/envoy, other ports, a limit nobody reaches).

Not a timed test: on a machine that others use its figures are those of the machine. Load: h2load over HTTP/2. A filter of Envoy
behind the rate limit filter answers for the app; `--app nginx` has a real one, whose way costs Envoy half as much again: more
than two cores give at 5,000/s."""
import contextlib
import os
import pathlib
import re
import subprocess
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENVOY = ROOT / "build/envoy/envoy"
CONNECTIONS = 20         # each asks every 10 ms by a timer of its own, and they begin 1 ms apart: no bursts
STREAMS = 32             # at most on each at a time
MISSED_AT_MOST = 0.001   # of the questions
REACHED_AT_LEAST = 0.95  # of the rate
START_WITHIN = 30.0      # seconds

APP = """daemon off; master_process off; pid app.pid; error_log stderr;
events {{}}
http {{ access_log off; keepalive_requests 1000000; client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d;
  scgi_temp_path e; server {{ listen 127.0.0.1:{port}; location / {{ return 200 "the app"; }} }} }}
"""


# Answers as the app would, after the rate limit filter has let the request pass.
NO_APP = """                  - name: envoy.filters.http.fault
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault
                      abort: { http_status: 200, percentage: { numerator: 100 } }
"""
ROUTER = "                  - name: envoy.filters.http.router\n"


def replaced(text, changes):
    for what, by in changes:
        if what not in text:
            raise SystemExit(f"soak: the example no longer has {what!r}")
        text = text.replace(what, by)
    return text


def first():
    """Before anybody who compiles, as if they were not there: scheduled as real time (needs root)."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


class Line:
    """Dripgate, an app and Envoy; ended by their own id."""

    def __init__(self, binary, app_kind, folder, free_port):
        self.folder, self.children = pathlib.Path(folder), {}
        self.edge, self.admin, app, http, rls = (free_port() for _ in range(5))
        self.write("dripgate.yaml", replaced(
            (ROOT / "deploy/envoy/dripgate.yaml").read_text(),
            [("capacity: 20 ", "capacity: 1000000 "), ("refillPerMinute: 100 ", "refillPerMinute: 1000000 "),
             ("127.0.0.1:8080", f"127.0.0.1:{http}"), ("127.0.0.1:8081", f"127.0.0.1:{rls}")]))
        self.write("envoy.yaml", replaced(
            (ROOT / "deploy/envoy/envoy.yaml").read_text(),
            [("port_value: 10000", f"port_value: {self.edge}"), ("port_value: 9000", f"port_value: {app}"),
             ("port_value: 8081", f"port_value: {rls}")] + ([(ROUTER, NO_APP + ROUTER)] if app_kind == "envoy" else []))
            + f"admin: {{ address: {{ socket_address: {{ address: 127.0.0.1, port_value: {self.admin} }} }} }}\n")
        self.write("app.conf", APP.format(port=app))
        self.start("dripgate", [binary, "up", "-c", "dripgate.yaml"])
        if app_kind == "nginx":
            self.start("app", ["/usr/sbin/nginx", "-p", folder, "-e", "stderr", "-c", "app.conf"])
        self.start("envoy", [str(ENVOY), "-c", "envoy.yaml", "--use-dynamic-base-id"])

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def start(self, name, words):
        out = open(self.folder / f"{name}.log", "ab")
        self.children[name] = subprocess.Popen(words, cwd=self.folder, stdout=out, stderr=out, start_new_session=True,
                                               preexec_fn=first)

    def cpu_seconds(self):
        """Of each so far."""
        fields = {name: pathlib.Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1].split()
                  for name, child in self.children.items()}
        return {name: (int(f[11]) + int(f[12])) / os.sysconf("SC_CLK_TCK") for name, f in fields.items()}

    def stats(self, pattern):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/stats?filter={pattern}", timeout=10) as answer:
            return dict(line.split(": ", 1) for line in answer.read().decode().splitlines())

    def wait_until_limited(self):
        end = time.monotonic() + START_WITHIN
        while time.monotonic() < end:
            try:
                request = urllib.request.Request(f"http://127.0.0.1:{self.edge}/", headers={"x-plan": "free", "x-api-key": "k-1"})
                with urllib.request.urlopen(request, timeout=5) as answer:
                    if answer.headers.get("RateLimit"):
                        return
            except OSError:
                pass
            time.sleep(0.05)
        raise SystemExit("soak: Envoy does not ask; see the logs:\n"
                         + "\n".join(p.read_text()[-1500:] for p in self.folder.glob("*.log")))

    def load(self, rate, seconds):
        done = subprocess.run(
            ["h2load", "-c", str(CONNECTIONS), "-m", str(STREAMS), f"--rps={rate // CONNECTIONS}", "-n", str(rate * seconds),
             "-r", "1", "--rate-period=1ms", "-H", "x-plan: free", "-H", "x-api-key: k-1",
             f"http://127.0.0.1:{self.edge}/orders"],
            capture_output=True, text=True, start_new_session=True, preexec_fn=first)
        if done.returncode != 0:
            raise SystemExit("soak: h2load: " + done.stderr + done.stdout)
        return done.stdout

    def end(self):
        for child in self.children.values():
            child.terminate()
        for child in self.children.values():
            try:
                child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                child.kill()


def counts(line):
    found = line.stats("^cluster.app.ratelimit")
    return {name: int(found.get(f"cluster.app.ratelimit.{name}", 0))
            for name in ("ok", "over_limit", "error", "failure_mode_allowed")}


def run(options, folder, free_port):
    """The figures and whether they are as promised."""
    if not ENVOY.exists():
        raise SystemExit("soak: no Envoy at build/envoy/envoy (./dev soak installs it where PyPI is reached)")
    line = Line(options.binary, options.app, folder, free_port)
    try:
        line.wait_until_limited()
        before, cpu_before = counts(line), line.cpu_seconds()
        began = time.monotonic()
        said = line.load(options.rate, options.seconds)
        took = time.monotonic() - began
        after, cpu = counts(line), line.cpu_seconds()
        asked = {name: after[name] - before[name] for name in after}
        times = line.stats("cluster.dripgate.upstream_rq_time").get("cluster.dripgate.upstream_rq_time", "")
    finally:
        line.end()
    questions = asked["ok"] + asked["over_limit"] + asked["error"]
    missed = asked["error"] / max(1, questions)
    reached = questions / took
    quantiles = {name: cumulative for name, cumulative in re.findall(r"(P[0-9.]+)\([^,]*,([^)]*)\)", times)}
    result = {
        "requests/s that Envoy asked for": f"{reached:.0f} of {options.rate} due",
        "ok / over limit / error": f"{asked['ok']} / {asked['over_limit']} / {asked['error']}",
        "passed without an answer (failure_mode_allowed)": asked["failure_mode_allowed"],
        "missed the 20 ms": f"{100 * missed:.4f} %, at most {100 * MISSED_AT_MOST:.1f} %",
        "answers after, ms (Envoy's histogram)": ", ".join(
            f"{name} {float(quantiles[name]):.1f}" for name in ("P50", "P90", "P99", "P99.9") if name in quantiles),
        "whole requests (h2load)": " ".join(re.search(r"time for request:(.*)", said).group(1).split()[:3]) + " (min max mean)",
        "CPU per request, us": ", ".join(
            f"{name} {1e6 * (cpu[name] - cpu_before[name]) / max(1, questions):.0f}" for name in cpu),
        "load average": " ".join(f"{value:.1f}" for value in os.getloadavg()),
    }
    return result, missed <= MISSED_AT_MOST and reached >= REACHED_AT_LEAST * options.rate
