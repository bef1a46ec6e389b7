"""The first lines of README.md, as they stand, with the built wheel and the real server."""

from __future__ import annotations

import os
import re
import subprocess
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from .support.programs import WITHOUT_DRIPGATE
from .support.vendor_site import README_CONFIG, start_with_vendors_if_known

README = Path(__file__).resolve().parent.parent / "README.md"
PYTHON = os.environ.get("DRIPGATE_WHEEL_PYTHON")  # of an environment where the built wheel is installed
WITHOUT = WITHOUT_DRIPGATE or ("" if PYTHON else "DRIPGATE_WHEEL_PYTHON names no environment with the wheel")


class Contacts(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"[]")

    def log_message(self, format: str, *args: Any) -> None:
        pass


@unittest.skipIf(WITHOUT, WITHOUT)
class Readme(unittest.TestCase):
    def test_the_first_lines_work(self) -> None:
        server, url, real = start_with_vendors_if_known(README_CONFIG, "{ limit: 100, window: 10s }")
        self.addCleanup(server.stop)
        vendor = HTTPServer(("127.0.0.1", 0), Contacts)
        thread = Thread(target=vendor.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        for end in (vendor.server_close, thread.join, vendor.shutdown):  # the last one first
            self.addCleanup(end)

        found = re.search(r"```python\n([^`]*)```", README.read_text())
        assert found is not None
        lines = found[1].splitlines()
        self.assertLessEqual(len(lines), 10)
        # A dripgate from before vendor limits cannot run the last two.
        code = "\n".join(lines if real else lines[:-2])
        code = code.replace("http://127.0.0.1:8080", url).replace("http://127.0.0.1:9000", f"http://127.0.0.1:{vendor.server_port}")
        run = subprocess.run([PYTHON or "", "-I", "-c", code], capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r'^200 "api-free";r=19;t=1\nnow \d{4}-\S+Z\n')
        if real:
            self.assertRegex(run.stdout, r"\n200\n$")
