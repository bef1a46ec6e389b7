"""A server whose answers a test chooses: for what the real one cannot be made to do (silence, rubbish, cut connections)."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable


@dataclass
class Seen:
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.body)
        return loaded


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    fake: FakeDripgate

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        seen = Seen(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        with self.fake.lock:
            self.fake.seen.append(seen)
            count = len(self.fake.seen)
        self.fake.behaviour(self, seen, count)

    def answer(self, status: int, body: object, **headers: str) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def raw(self, data: bytes) -> None:
        """These bytes and then the end of the connection."""
        self.wfile.write(data)
        self.close_connection = True

    def silence(self) -> None:
        """Until the client goes away, or the test ends."""
        self.fake.over.wait()
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        pass


Behaviour = Callable[[Handler, Seen, int], None]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # of 5, connections beyond would wait for their SYN's second try
    connections = 0
    closed = threading.Semaphore(0)  # released for each connection that this side has closed

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.closed.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients that hang up are part of the tests


class FakeDripgate:
    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.seen: list[Seen] = []
        self.lock = threading.Lock()
        self.over = threading.Event()
        handler = type("BoundHandler", (Handler,), {"fake": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self.closed = self._server.closed = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def connections(self) -> int:
        return self._server.connections

    def stop(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
