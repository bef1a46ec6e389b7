"""Processes of the vendor tests: a Redis, dripgate as gate and as vendor, worker processes; ended by their own id."""
import contextlib
import http.client
import http.server
import json
import multiprocessing
import pathlib
import re
import shutil
import subprocess
import threading
import time

PATIENCE = 60.0  # seconds until what must come has come, on a busy machine
NAP_MAX = 2.0    # a worker waits no longer than this in one go, so that a run ends in time


class Site:
    """Two gates on one Redis (on one memory store where there is no redis-server), and whatever a test starts beside them."""

    def __init__(self, binary, folder, vendors):
        self.binary, self.folder, self.children = binary, pathlib.Path(folder), []
        try:
            self.begin(vendors)
        except BaseException:
            self.end()
            raise

    def begin(self, vendors):
        store, gates = "{ memory: {} }", 1
        if shutil.which("redis-server"):
            store, gates = f'{{ redis: {{ url: "redis://127.0.0.1:{self.redis()}", timeout: 2s }} }}', 2
        config = self.folder / "dripgate.yaml"
        config.write_text("vendors:\n" + "".join(f"  - {{ {vendor}, onStoreFailure: closed }}\n" for vendor in vendors) + f"store: {store}\n")
        self.store = store
        self.gates = [self.start("up", "-c", config, "--port", "0", says=r"127\.0\.0\.1:(\d+)") for _ in range(gates)]

    def redis(self):
        # Port 0 is no port for Redis: one that was free a moment ago, and the next one where somebody was faster.
        for _ in range(20):
            with contextlib.closing(http.client.socket.socket()) as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            with contextlib.suppress(RuntimeError):
                self.run(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.folder)],
                         says=r"(Ready to accept connections)")
                return port
        raise RuntimeError("no redis-server starts")

    def start(self, *arguments, says):
        return int(self.run([self.binary, *map(str, arguments)], says=says))

    def run(self, command, says):
        log = self.folder / f"log-{len(list(self.folder.iterdir()))}"
        with open(log, "wb") as out:
            child = subprocess.Popen(command, cwd=self.folder, stdout=out, stderr=out)
        self.children.append(child)
        end = time.monotonic() + PATIENCE
        while not (found := re.search(says, log.read_text(errors="replace"))):
            if child.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{command[0]} does not start:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)
        return found.group(1)

    def vendor(self, *options):
        return self.start("sink", "--vendor", "generic", "--listen", "127.0.0.1:0", "--log", "/dev/null", *options,
                          says=r"sink listens on 127\.0\.0\.1:(\d+)")

    def end(self):
        for child in reversed(self.children):
            child.terminate()
        for child in self.children:
            child.wait(PATIENCE)


class Line:
    """One kept connection that asks in JSON."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def ask(self, path, body):
        self.connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        headers = {}
        for name, value in answer.getheaders():
            headers.setdefault(name, []).append(value)
        return answer.status, text, headers

    def gate(self, path, **body):
        status, text, _ = self.ask(path, body)
        if status != 200:
            raise RuntimeError(f"{path}: {status} {text[:300]}")
        return json.loads(text)


def work(gate, vendor_port, vendor, until, calls, begin=None):
    """What a worker does: acquire, call, observe; a denial is waited out. A call: when it was asked for, granted and answered, and how.
    `begin`: it has its connections and waits until then, so that several begin at one moment."""
    gate, target = Line(gate), Line(vendor_port)
    if begin:
        gate.connection.connect()
        target.connection.connect()
        time.sleep(max(0, begin - time.time()))
    while time.time() < until:
        asked = time.time()
        granted = gate.gate("/v1/acquire", vendor=vendor)
        if not granted["allowed"]:
            time.sleep(min(NAP_MAX, granted["retryAfterMs"] / 1000))
            continue
        started = time.time()
        status, _, headers = target.ask("/", {})
        calls.append((asked, started, time.time(), status))
        gate.gate("/v1/observe", vendor=vendor, id=granted["id"], status=status, headers=headers)


def process(gate, vendor_port, vendor, until, workers, out, begin=None):
    calls = []
    threads = [threading.Thread(target=work, args=(gate, vendor_port, vendor, until, calls, begin)) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    out.send(calls)


class Workers:
    """Worker processes, spread over the gates; `calls` waits for their end and gives all calls."""

    def __init__(self, site, vendor, vendor_port, processes, workers, seconds, first=0, begin=None):
        self.until = (begin or time.time()) + seconds
        self.pipes, self.running = [], []
        for number in range(first, first + processes):
            ours, theirs = multiprocessing.Pipe(duplex=False)
            child = multiprocessing.Process(target=process, args=(site.gates[number % len(site.gates)], vendor_port, vendor, self.until,
                                                                  workers, theirs, begin))
            child.start()
            theirs.close()
            self.pipes.append(ours)
            self.running.append(child)

    def calls(self):
        found = [call for pipe in self.pipes for call in pipe.recv()]
        for child in self.running:
            child.join()
        return sorted(found)


class ScriptedVendor:
    """A vendor that answers as `script` says: status and headers by the number of the request, from 0; once `serve` was called."""

    def __init__(self, script):
        self.requests, lock = [], threading.Lock()
        vendor = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with lock:
                    vendor.requests.append(time.time())
                    status, headers = script(len(vendor.requests) - 1)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 256

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]

    def serve(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
