"""Programs that tests start on 127.0.0.1 and end by their own process."""

from __future__ import annotations

import os
import queue
import re
import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

START_S_MAX = 30.0
DRIPGATE_BIN = os.environ.get("DRIPGATE_BIN")
WITHOUT_DRIPGATE = "" if DRIPGATE_BIN else "DRIPGATE_BIN names no dripgate"
WITHOUT_REDIS = "" if shutil.which("redis-server") else "no redis-server"


class NotReadyError(Exception):
    """Carries what the program said."""


class Program:
    """A program in a scratch folder; `found` is what `ready` matched in its output."""

    def __init__(self, command: list[str], ready: str, files: dict[str, str] | None = None, env: dict[str, str] | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dripgate-client-")
        self.folder = Path(self._folder.name)
        for name, text in (files or {}).items():
            (self.folder / name).write_text(text)
        self._process = subprocess.Popen(
            command, cwd=self.folder, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._output: list[str] = []
        self._found: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(re.compile(ready),), daemon=True)
        self._reader.start()
        try:
            found = self._found.get(timeout=START_S_MAX)
        except queue.Empty:
            found = None
        if found is None:
            self.stop()
            raise NotReadyError(f"{command[0]} is not ready: {self.output()}")
        self.found = found

    def _read(self, ready: re.Pattern[str]) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._output.append(line)
            match = ready.search(line)
            if match:
                self._found.put(match[1])
        self._found.put(None)

    def output(self) -> str:
        return "".join(self._output[-200:])

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._folder.cleanup()


def start_dripgate(config: str, env: dict[str, str] | None = None) -> tuple[Program, str]:
    """The real server on a config at a free port, and its url."""
    command = [DRIPGATE_BIN or "dripgate", "up", "-c", "dripgate.yaml", "--port", "0"]
    program = Program(command, r" up listen=(\S+)", {"dripgate.yaml": config}, env)
    return program, f"http://{program.found}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_redis() -> tuple[Program, int]:
    """A Redis that keeps nothing, and its port."""
    port = free_port()
    options = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    return Program(["redis-server", "--port", str(port), *options], r"(Ready to accept connections)"), port
